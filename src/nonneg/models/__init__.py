"""Models: backbone h = e(x), projector p(h), features z = σ₊(p(h)); built from settings, saved and loaded safely.

settings         Which model is it? Typed, frozen, saved with the weights
model            How do pictures become h and z?
backbones        Which network is behind a name: small, medium, a torchvision ResNet, timm:NAME?
small            What are the small residual networks for 28 to 32 pixels on a CPU?
projector        What stands between h and the features?
saved            How does a model become a file, and the file a model?
solo_checkpoint  How is a checkpoint of solo-learn or of the NCL reference code read, with nothing in it run?

Private and shared: `_weights` (stored tensors into a model, or what doesn't fit), `_archive` (the tensors of a file
that torch.save wrote), `_pickled` (what a pickle says, with nothing of it done).
"""

from nonneg.models.backbones import build_backbone
from nonneg.models.model import Model
from nonneg.models.projector import Projector
from nonneg.models.saved import load, save
from nonneg.models.settings import ModelSettings
from nonneg.models.solo_checkpoint import read_solo_checkpoint

__all__ = ["Model", "ModelSettings", "Projector", "build_backbone", "load", "read_solo_checkpoint", "save"]
