"""Weather: snow, frost, fog, and bright light."""

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from nonneg.data.corruptions.filters import along_sides, motion_blurred, zoom
from nonneg.data.corruptions.plasma import plasma
from nonneg.data.corruptions.strengths import Strengths

__all__ = ["brightness", "fog", "frost", "snow"]

# Mean and deviation of the noise, its enlargement, threshold, radius and deviation of its motion, what is left of the
# picture's colours.
SNOW = Strengths(
    (
        (0.1, 0.2, 1.0, 0.6, 8, 3.0, 0.95),
        (0.1, 0.2, 1.0, 0.5, 10, 4.0, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4.0, 0.9),
        (0.25, 0.3, 2.25, 0.6, 12, 6.0, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12.0, 0.8),
    ),
    (
        (0.1, 0.3, 3.0, 0.5, 10, 4.0, 0.8),
        (0.2, 0.3, 2.0, 0.5, 12, 4.0, 0.7),
        (0.55, 0.3, 4.0, 0.9, 12, 8.0, 0.7),
        (0.55, 0.3, 4.5, 0.85, 12, 8.0, 0.65),
        (0.55, 0.3, 2.5, 0.85, 12, 12.0, 0.55),
    ),
)
# Shares of the picture and of the frost.
FROST = Strengths(
    ((1.0, 0.2), (1.0, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)),
    ((1.0, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75)),
)
# Thickness, decay of the cloud's roughness.
FOG = Strengths(
    ((0.2, 3.0), (0.5, 3.0), (0.75, 2.5), (1.0, 2.0), (1.5, 1.75)),
    ((1.5, 2.0), (2.0, 2.0), (2.5, 1.7), (2.5, 1.5), (3.0, 1.4)),
)
LIGHT = Strengths((0.05, 0.1, 0.15, 0.2, 0.3), (0.1, 0.2, 0.3, 0.4, 0.5))

_LUMA = (0.299, 0.587, 0.114)
_ICE = (0.82, 0.91, 1.0)


def snow(x: Float[Tensor, "n c h w"], severity: int, generator: Generator) -> Float[Tensor, "n c h w"]:
    """a·x + (1 − a)·max(x, 1.5·grey(x) + 0.5) + flakes + flakes turned by 180°.

    Flakes are noise, enlarged, none below the threshold, that falls: blurred along an angle from −135° to −45°.
    """
    mean, deviation, factor, threshold, radius, sigma, left = SNOW.of(x, severity)
    n, c, h, w = x.shape
    flakes = mean + deviation * torch.randn(n, 1, h, w, generator=generator).to(x)
    flakes = along_sides(flakes, zoom(factor, h), zoom(factor, w))
    flakes = torch.where(flakes < threshold, 0.0, flakes).clamp_(0, 1)
    flakes = motion_blurred(flakes, radius, sigma, torch.rand(n, generator=generator) * 90 - 135)
    luma = x.new_tensor(_LUMA if c == 3 else (1.0,)).view(c, 1, 1)
    grey = (x * luma).sum(1, keepdim=True)
    return left * x + (1 - left) * torch.maximum(x, 1.5 * grey + 0.5) + flakes + flakes.flip(2, 3)


def frost(x: Float[Tensor, "n c h w"], severity: int, generator: Generator) -> Float[Tensor, "n c h w"]:
    """a·x + b·ice with the published a and b; the ice is drawn, where the published one is cut out of photographs.

    Ice is the ridges of two clouds, r = 1 − |2p − 1|, large feathers times fine needles, in the blue of ice.
    """
    of_picture, of_ice = FROST.of(x, severity)
    n, c, h, w = x.shape
    feathers, needles = (1 - (2 * plasma(n, (h, w), decay, generator) - 1).abs() for decay in (1.6, 1.2))
    tint = x.new_tensor(_ICE if c == 3 else (sum(_ICE) / 3,)).view(c, 1, 1)
    return of_picture * x + of_ice * (feathers * needles).sqrt().to(x) * tint


def fog(x: Float[Tensor, "n c h w"], severity: int, generator: Generator) -> Float[Tensor, "n c h w"]:
    """(x + t·cloud)·m/(m + t), m the picture's largest value."""
    thickness, decay = FOG.of(x, severity)
    most = x.amax((1, 2, 3), keepdim=True)
    cloud = plasma(len(x), (x.shape[2], x.shape[3]), decay, generator).to(x)
    return (x + thickness * cloud) * most / (most + thickness)


def brightness(x: Float[Tensor, "n c h w"], severity: int, generator: Generator) -> Float[Tensor, "n c h w"]:
    """HSV with V + b: x·min(V + b, 1)/V, V the pixel's largest channel; black becomes grey. Nothing is drawn."""
    value = x.amax(1, keepdim=True)
    brighter = (value + LIGHT.of(x, severity)).clamp_max(1)
    return torch.where(value > 0, x * (brighter / value.clamp_min(1e-6)), brighter)
