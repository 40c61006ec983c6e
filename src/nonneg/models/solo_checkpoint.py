"""A checkpoint of the NCL reference code, or of solo-learn on which that is built, as a model; nothing in it is run."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from nonneg._errors import UserError
from nonneg._settings import validated
from nonneg.models import _weights
from nonneg.models._archive import read_tensors
from nonneg.models.backbones import build_backbone
from nonneg.models.model import Model
from nonneg.models.projector import Projector
from nonneg.models.settings import RESNETS, ModelSettings

__all__ = ["read_solo_checkpoint"]

# What their evaluation normalises by. For CIFAR-100 too; only their pre-training has means of its own for it.
_CIFAR = (0.4914, 0.4822, 0.4465), (0.247, 0.243, 0.261)
_IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def read_solo_checkpoint(
    path: str | Path,
    *,
    activation: str,
    mean: tuple[float, ...] | None = None,
    std: tuple[float, ...] | None = None,
    image_size: int | None = None,
    stem_padding: int = 2,
    backbone: nn.Module | None = None,
) -> Model:
    """The model of a .ckpt: its ResNet and stem seen from the shapes of its tensors, its projector; in eval mode.

    `activation` has to be given, as the file doesn't hold it: what `method_kwargs.non_neg` was in training (its null is
    our "identity", its leakyrelu our "leaky_relu"). `mean`, `std` and `image_size` are CIFAR's for a stem of 3×3 and
    ImageNet's for others unless they are given. A backbone that is no ResNet is given too, as the module it goes into.

    >>> model = read_solo_checkpoint("ncl-cifar10-ep=199.ckpt", activation="rep_relu")  # doctest: +SKIP
    """
    file = Path(path)
    tensors = read_tensors(file, "state_dict", ("backbone.", "encoder.", "projector."))
    # solo-learn's first releases call it the encoder.
    stored = _under("backbone.", tensors) or _under("encoder.", tensors)
    projector = _under("projector.", tensors)
    if not stored:
        raise UserError(f"Expected a checkpoint with a backbone, got {file}, which has none; is it of solo-learn?")
    small_images = "conv1.weight" in stored and stored["conv1.weight"].shape[2:] == (3, 3)
    name, width = ("custom", None) if backbone is not None else _resnet_like(stored, small_images, file)
    if mean is None and std is None:
        mean, std = _CIFAR if small_images else _IMAGENET
    settings = {
        "backbone": name,
        "small_images": small_images,
        "stem_padding": stem_padding,
        "projector": _widths(projector, width, file),
        "activation": activation,
        "mean": mean,
        "std": std,
        "image_size": image_size or (32 if small_images else 224),
    }
    model = Model(validated(ModelSettings, settings), backbone)
    _weights.fill(model.backbone, stored, f"the backbone in {file}")
    _weights.fill(model.projector, projector, f"the projector in {file}")
    return model.eval()


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _resnet_like(stored: Mapping[str, Tensor], small_images: bool, file: Path) -> tuple[str, int]:
    """The ResNet from which the fewest tensors differ, and its width; `fill` then names the ones that do."""
    if "conv1.weight" not in stored or "layer4.0.conv1.weight" not in stored:
        first = ", ".join(list(stored)[:3])
        raise UserError(
            f"Expected a ResNet of torchvision in {file}, got another backbone ({first} …); "
            "build it, with timm for instance, and give the module as backbone=."
        )
    stored_shapes = _shapes(stored)
    differences = {}
    for name in RESNETS:
        with torch.device("meta"):
            network, width = build_backbone(ModelSettings(backbone=name, small_images=small_images))
        differences[name, width] = len(_shapes(network.state_dict()) ^ stored_shapes)
        if differences[name, width] == 0:
            break
    return min(differences, key=differences.__getitem__)


def _shapes(tensors: Mapping[str, Tensor]) -> set[tuple[str, torch.Size]]:
    return {(name, tensor.shape) for name, tensor in tensors.items()}


def _widths(projector: Mapping[str, Tensor], width: int | None, file: Path) -> tuple[int, ...]:
    """Of Linear, ReLU, Linear …, where layers of even numbers have a weight and a bias and the others have nothing."""
    layers = range(0, len(projector), 2)
    expected = {f"{layer}.{what}" for layer in layers for what in ("weight", "bias")}
    if not projector or set(projector) != expected or any(tensor.ndim == 0 for tensor in projector.values()):
        first = ", ".join(f"projector.{name}" for name in list(projector)[:3])
        got = f"one of {len(projector)} tensors ({first} …)" if projector else "none"
        raise UserError(
            f"Expected a projector of linear layers with ReLU between, as SimCLR has, in {file}, "
            f"got {got}; that of another method can't be read."
        )
    weights = [projector[f"{layer}.weight"] for layer in layers]
    widths = tuple(len(weight) for weight in weights)
    # Before any memory is asked for: made-up widths could ask for a lot.
    with torch.device("meta"):
        _weights.check(Projector(width or weights[0].shape[-1], widths), projector, f"the projector in {file}")
    return widths
