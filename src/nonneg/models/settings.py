"""Which model: everything that is needed to build it again."""

from typing import Annotated, Any

from pydantic import Field, NonNegativeInt, PositiveInt, field_validator

from nonneg import activations
from nonneg._errors import nearest
from nonneg._settings import Settings

__all__ = ["RESNETS", "TIMM", "ModelSettings"]

# Written down, not asked of torchvision, which takes a second to import; a test compares.
RESNETS = (
    *("resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "wide_resnet50_2", "wide_resnet101_2"),
    *("resnext50_32x4d", "resnext101_32x8d", "resnext101_64x4d"),
)
TIMM = "timm:"


class ModelSettings(Settings):
    """A backbone, its stem, a projector, σ₊, and the pictures that go in.

    >>> ModelSettings(backbone="resnet18", projector=(2048, 128)).activation
    'rep_relu'
    """

    # "small" or "medium" (ours, for a CPU), a torchvision ResNet, "timm:NAME", or "custom": a module given from Python.
    backbone: str = "small"
    # ResNets: a 3×3 stem of stride 1 and no max-pool, or torchvision's own 7×7 of stride 2.
    small_images: bool = True
    # Padding of that 3×3 stem. 1 keeps the size; the reference code pads by 2.
    stem_padding: Annotated[int, Field(ge=0, le=3)] = 1
    # Widths of the linear layers after h; none: z = σ₊(h).
    projector: tuple[PositiveInt, ...] = (2048, 256)
    # Columns of σ₊(p(h)) that features are, in this order; all of them if not said.
    kept: tuple[NonNegativeInt, ...] | None = None
    activation: str = "rep_relu"
    channels: PositiveInt = 3
    image_size: Annotated[int, Field(ge=8)] = 32
    # Per channel, of pictures in [0, 1]; neither: no normalisation.
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = Field(default=None, validate_default=True)

    @field_validator("backbone")
    @classmethod
    def _known_backbone(cls, name: str) -> str:
        known = ("small", "medium", *RESNETS, "custom")
        # What timm knows is asked when one is built: it takes seconds to import.
        if name in known or name.removeprefix(TIMM) not in (name, ""):
            return name
        raise ValueError(
            f"small, medium, a ResNet of torchvision, {TIMM}NAME or custom "
            f"(did you mean {nearest(name, (*known, f'{TIMM}NAME'))!r}?)"
        )

    # info is pydantic's ValidationInfo, a protocol, for which nothing can be checked when signatures are.
    @field_validator("kept")
    @classmethod
    def _columns_of_the_projector(cls, kept: tuple[int, ...] | None, info: Any) -> tuple[int, ...] | None:
        if kept is None:
            return None
        if not kept or len(set(kept)) < len(kept):
            raise ValueError("at least one column and none twice")
        widths = info.data.get("projector", ())
        # Without a projector they are columns of h, whose width the backbone knows.
        if widths and max(kept) >= widths[-1]:
            raise ValueError(f"columns below {widths[-1]}, the projector's dimensions")
        return kept

    @field_validator("activation")
    @classmethod
    def _known_activation(cls, name: str) -> str:
        known = activations.names()
        if name not in known:
            raise ValueError(f"one of {', '.join(known)} (did you mean {nearest(name, known)!r}?)")
        return name

    @field_validator("mean", "std")
    @classmethod
    def _one_a_channel(cls, values: tuple[float, ...] | None, info: Any) -> tuple[float, ...] | None:
        channels = info.data.get("channels")
        if values is not None and channels is not None and len(values) != channels:
            raise ValueError(f"{channels} numbers, one a channel")
        return values

    @field_validator("std")
    @classmethod
    def _fits_the_mean(cls, std: tuple[float, ...] | None, info: Any) -> tuple[float, ...] | None:
        if std is not None and min(std) <= 0:
            raise ValueError("above 0 in every channel")
        if "mean" in info.data and (std is None) != (info.data["mean"] is None):
            raise ValueError("given if and only if mean is")
        return std
