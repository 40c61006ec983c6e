"""Stand-ins for sketches and for stylised pictures: their numbers compare runs with each other, not with papers."""

import torch
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.nn import functional as F

from nonneg import _seeds
from nonneg.data.corruptions.pieces import pieces

__all__ = ["edges", "stylise"]

_SOBEL = ((1.0, 0.0, -1.0), (2.0, 0.0, -2.0), (1.0, 0.0, -1.0))
_LUMA = (0.299, 0.587, 0.114)


def edges(pixels: UInt8[Tensor, "n c h w"]) -> UInt8[Tensor, "n c h w"]:
    """1 − g/max g, g the length of Sobel's gradient of the grey picture: dark lines on white, without colour or shade.

    >>> half = torch.tensor([0, 0, 0, 255, 255, 255], dtype=torch.uint8).expand(1, 1, 3, 6)
    >>> edges(half)[0, 0, 1].tolist()
    [255, 255, 0, 0, 255, 255]
    """
    drawn = torch.empty_like(pixels)
    for part in pieces(pixels):
        slope = _slope(pixels[part].float() / 255)
        steepest = slope.amax((1, 2, 3), keepdim=True)
        drawn[part] = _rounded(1 - slope / steepest.clamp_min(1e-4)).expand_as(drawn[part])
    return drawn


def stylise(pixels: UInt8[Tensor, "n c h w"], seed: int) -> UInt8[Tensor, "n c h w"]:
    """F⁻¹(|F(y)|·exp(i·arg F(x))): the phases of x, where its shapes are, with the spectrum of another picture y.

    That phases carry the shapes: Oppenheim & Lim 1981. The spectrum holds y's texture, and the mean and the deviation
    of its colours. Which y goes with which x is drawn: each is another's once. A picture alone stays as it is.
    """
    order = torch.randperm(len(pixels), generator=_seeds.generator(seed, "stylise"))
    partner = torch.empty_like(order)
    partner[order] = order.roll(1)
    made = torch.empty_like(pixels)
    for part in pieces(pixels):
        shape, style = pixels[part], pixels[partner[part].to(pixels.device)]
        spectrum = torch.polar(_spectrum(style).abs(), _spectrum(shape).angle())
        made[part] = _rounded(torch.fft.irfft2(spectrum, s=pixels.shape[2:]))
    return made


def _slope(x: Float[Tensor, "n c h w"]) -> Float[Tensor, "n 1 h w"]:
    if x.shape[1] == 3:
        x = (x * x.new_tensor(_LUMA).view(3, 1, 1)).sum(1, keepdim=True)
    sobel = x.new_tensor(_SOBEL)
    across, down = F.conv2d(F.pad(x, (1, 1, 1, 1), "replicate"), torch.stack([sobel, sobel.T])[:, None]).unbind(1)
    return torch.hypot(across, down)[:, None]


def _spectrum(pixels: Tensor) -> Tensor:
    spectrum: Tensor = torch.fft.rfft2(pixels.float() / 255)
    return spectrum


def _rounded(x: Tensor) -> Tensor:
    return (x * 255).round().clamp(0, 255).to(torch.uint8)
