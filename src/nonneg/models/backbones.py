"""From a backbone's name to the module x -> h and the width of h."""

from typing import Any

import torch
from torch import nn

from nonneg._errors import UserError, nearest
from nonneg.models import small
from nonneg.models.settings import RESNETS, TIMM, ModelSettings

__all__ = ["build_backbone", "width_of"]


def build_backbone(settings: ModelSettings) -> tuple[nn.Module, int]:
    """The backbone that the settings name, newly initialised, and the width of its h.

    >>> build_backbone(ModelSettings(backbone="small"))[1]
    128
    """
    if settings.backbone == "small":
        return small.small(settings.channels), small.SMALL_WIDTH
    if settings.backbone == "medium":
        return small.medium(settings.channels), small.MEDIUM_WIDTH
    if settings.backbone in RESNETS:
        return _resnet(settings)
    if settings.backbone.startswith(TIMM):
        return _timm(settings)
    raise UserError(
        f"Expected a module with the backbone {settings.backbone!r}, got none; "
        "give yours as backbone=, or choose a backbone by name."
    )


def width_of(backbone: nn.Module, settings: ModelSettings) -> int:
    """The width of h, seen on two black pictures; the module's modes and statistics stay as they are."""
    modes = {module: module.training for module in backbone.modules()}
    like = next(iter(backbone.parameters()), torch.zeros(()))
    side = settings.image_size
    black = torch.zeros(2, settings.channels, side, side, device=like.device, dtype=like.dtype)
    try:
        with torch.no_grad():
            h = backbone.eval()(black)
    finally:
        for module, training in modes.items():
            module.training = training
    if not isinstance(h, torch.Tensor) or h.ndim != 2 or len(h) != 2:
        came = tuple(h.shape) if isinstance(h, torch.Tensor) else type(h).__name__
        raise UserError(
            f"Expected a backbone that turns pictures {tuple(black.shape)} into h of shape (2, width), got {came}; "
            "end it with pooling and flattening."
        )
    return h.shape[1]


def _resnet(settings: ModelSettings) -> tuple[nn.Module, int]:
    from torchvision import models

    network = models.get_model(settings.backbone, weights=None)
    width: int = network.fc.in_features
    network.fc = nn.Identity()
    first = network.conv1
    if settings.small_images:
        network.conv1 = nn.Conv2d(
            settings.channels, first.out_channels, 3, stride=1, padding=settings.stem_padding, bias=False
        )
        network.maxpool = nn.Identity()
    elif settings.channels != first.in_channels:
        network.conv1 = nn.Conv2d(settings.channels, first.out_channels, 7, stride=2, padding=3, bias=False)
    if network.conv1 is not first:
        # As torchvision initialises the one it takes the place of.
        nn.init.kaiming_normal_(network.conv1.weight, mode="fan_out", nonlinearity="relu")
    return network, width


def _timm(settings: ModelSettings) -> tuple[nn.Module, int]:
    import timm

    name = settings.backbone.removeprefix(TIMM)
    if not timm.is_model(name):
        raise UserError(
            f"Expected the name of a model of timm {timm.__version__}, got {name!r}; "
            f"did you mean {nearest(name, timm.list_models())!r}?"
        )
    try:
        network = _timm_network(name, settings)
        return network, width_of(network, settings)
    except (AssertionError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(
            f"Expected settings that timm's {name} can be built with, got image_size {settings.image_size} and "
            f"{settings.channels} channels, to which it says: {reason}; choose others or another backbone."
        ) from error


def _timm_network(name: str, settings: ModelSettings) -> nn.Module:
    import timm

    network: nn.Module
    how: dict[str, Any] = {"pretrained": False, "num_classes": 0, "in_chans": settings.channels}
    try:
        network = timm.create_model(name, **how, img_size=settings.image_size)
    except TypeError as error:
        # Transformers are built for one size; networks of convolutions take any, and don't know the argument.
        if "img_size" not in str(error):
            raise
        network = timm.create_model(name, **how)
    return network
