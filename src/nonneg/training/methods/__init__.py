"""How a model learns, a method a file: from a batch of views (and labels) to a loss.

simclr         two views attract each other: CL and, with a non-negative σ₊, NCL; InfoNCE or the spectral loss
supcon         views of one class attract each other
cross_entropy  a linear classifier (ce)
nce            class weights in place of samples, on non-negative features (nce)

A new method is a file with its settings and its class, and its name in `MethodSettings`.
"""

from typing import Annotated

from pydantic import Field

from nonneg.training.methods.cross_entropy import CrossEntropy, CrossEntropySettings
from nonneg.training.methods.method import Method, Shape
from nonneg.training.methods.nce import NCE, NCESettings
from nonneg.training.methods.simclr import SimCLR, SimCLRSettings
from nonneg.training.methods.supcon import SupCon, SupConSettings

MethodSettings = Annotated[
    SimCLRSettings | SupConSettings | CrossEntropySettings | NCESettings, Field(discriminator="name")
]

__all__ = ["NCE", "CrossEntropy", "Method", "MethodSettings", "Shape", "SimCLR", "SupCon"]
