"""A corruption by its name."""

from collections.abc import Callable

import torch
from jaxtyping import UInt8
from torch import Tensor

from nonneg import _seeds
from nonneg._errors import UserError, nearest
from nonneg.data.corruptions import blur, digital, noise, weather
from nonneg.data.corruptions.pieces import pieces
from nonneg.data.corruptions.stand_ins import edges, stylise

__all__ = ["NAMES", "STAND_INS", "corrupt"]

# Of floats (n, c, h, w) from 0 to 1 and a severity of 1 to 5; what they draw, they draw from the generator on the CPU.
Corruption = Callable[[Tensor, int, torch.Generator], Tensor]

_CORRUPTIONS: dict[str, Corruption] = {
    "gaussian_noise": noise.gaussian_noise,
    "shot_noise": noise.shot_noise,
    "impulse_noise": noise.impulse_noise,
    "defocus_blur": blur.defocus_blur,
    "glass_blur": blur.glass_blur,
    "motion_blur": blur.motion_blur,
    "zoom_blur": blur.zoom_blur,
    "snow": weather.snow,
    "frost": weather.frost,
    "fog": weather.fog,
    "brightness": weather.brightness,
    "contrast": digital.contrast,
    "elastic_transform": digital.elastic_transform,
    "pixelate": digital.pixelate,
    "jpeg_compression": digital.jpeg_compression,
}

_STAND_INS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "edges": lambda pixels, seed: edges(pixels),
    "stylised": stylise,
}

NAMES: tuple[str, ...] = tuple(_CORRUPTIONS)
STAND_INS: tuple[str, ...] = tuple(_STAND_INS)


def corrupt(pixels: UInt8[Tensor, "n c h w"], name: str, severity: int, seed: int) -> UInt8[Tensor, "n c h w"]:
    """Pictures corrupted at a severity of 1 to 5, rounded; the same seed, the same pictures.

    `STAND_INS` have one strength: the severity is ignored for them.

    >>> white = torch.full((1, 1, 4, 4), 255, dtype=torch.uint8)
    >>> corrupt(white, "gaussian_noise", 3, seed=0).min() < 255
    tensor(True)
    >>> torch.equal(corrupt(white, "contrast", 3, seed=0), white)
    True
    """
    if name not in _CORRUPTIONS and name not in _STAND_INS:
        known = (*NAMES, *STAND_INS)
        raise UserError(
            f"Expected a corruption out of {', '.join(known)}, got {name!r}; did you mean {nearest(name, known)!r}?"
        )
    if pixels.dtype != torch.uint8 or pixels.ndim != 4 or pixels.shape[1] not in (1, 3):
        raise UserError(
            "Expected pictures of shape (n, 1 or 3, height, width) and type uint8, got "
            f"{tuple(pixels.shape)} {str(pixels.dtype).removeprefix('torch.')}; convert them."
        )
    if name in _STAND_INS:
        return _STAND_INS[name](pixels, seed)
    if not isinstance(severity, int) or not 1 <= severity <= 5:
        raise UserError(f"Expected a severity out of 1, 2, 3, 4, 5, got {severity!r}; 5 is the strongest.")
    generator = _seeds.generator(seed, name, severity)
    corrupted = torch.empty_like(pixels)
    for part in pieces(pixels):
        x = _CORRUPTIONS[name](pixels[part].float() / 255, severity, generator)
        corrupted[part] = (x * 255).round_().clamp_(0, 255).to(torch.uint8)
    return corrupted
