"""What handling does: flat contrast, stretching, few pixels, JPEG."""

from io import BytesIO

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from torch import Generator, Tensor
from torch.nn import functional as F

from nonneg.data.corruptions.filters import along_sides, box, gaussian
from nonneg.data.corruptions.strengths import Strengths

__all__ = ["contrast", "elastic_transform", "jpeg_compression", "pixelate"]

CONTRAST = Strengths((0.75, 0.5, 0.4, 0.3, 0.15), (0.4, 0.3, 0.2, 0.1, 0.05))
# Height and smoothness of the displacements, how far three points of the picture move; in shares of its shorter side.
ELASTIC = Strengths(
    ((0.0, 0.0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03)),
    ((2.0, 0.7, 0.1), (2.0, 0.08, 0.2), (0.05, 0.01, 0.02), (0.07, 0.01, 0.02), (0.12, 0.01, 0.02)),
)
# The published program for pictures of 224 pixels reckons with 244.
_SLIP = Strengths((1.0,) * 5, (244 / 224,) * 5)
PIXELS = Strengths((0.95, 0.9, 0.85, 0.75, 0.65), (0.6, 0.5, 0.4, 0.3, 0.25))
QUALITY = Strengths((80, 65, 58, 50, 40), (25, 18, 15, 10, 7))


def contrast(x: Float[Tensor, "n c h w"], severity: int, generator: Generator) -> Float[Tensor, "n c h w"]:
    """(x − mean)·a + mean, the mean a channel's. Nothing is drawn."""
    mean = x.mean((2, 3), keepdim=True)
    return (x - mean) * CONTRAST.of(x, severity) + mean


def elastic_transform(x: Float[Tensor, "n c h w"], severity: int, generator: Generator) -> Float[Tensor, "n c h w"]:
    """An affine map that moves three points a little, then displacements by noise that is smoothed and enlarged."""
    n, _, h, w = x.shape
    height, sigma, far = (c * min(h, w) * _SLIP.of(x, severity) for c in ELASTIC.of(x, severity))
    x = _sampled(x, _affine(n, h, w, far, generator).to(x), "mirror")
    noise = (2 * torch.rand(n, 2, h, w, generator=generator) - 1).to(x)
    smooth = (gaussian(sigma, int(3 * sigma + 0.5), size, "reflect") for size in (h, w))
    return _sampled(x, _grid(h, w).to(x) + height * along_sides(noise, *smooth).movedim(1, 3), "reflect")


def pixelate(x: Float[Tensor, "n c h w"], severity: int, generator: Generator) -> Float[Tensor, "n c h w"]:
    """Made smaller, a new pixel the mean of the old ones in it, and large again. Nothing is drawn."""
    share = PIXELS.of(x, severity)
    for size in ([max(1, int(s * share)) for s in x.shape[2:]], x.shape[2:]):
        x = along_sides(x, *(box(old, new) for old, new in zip(x.shape[2:], size, strict=True)))
    return x


def jpeg_compression(x: Float[Tensor, "n c h w"], severity: int, generator: Generator) -> Float[Tensor, "n c h w"]:
    """Through Pillow's JPEG, one after another, at a quality of 80 to 40 (small) or 25 to 7. Nothing is drawn."""
    quality = QUALITY.of(x, severity)
    pixels = (x * 255).round().to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy()
    read = []
    for picture in pixels:
        file = BytesIO()
        Image.fromarray(picture.squeeze(2) if picture.shape[2] == 1 else picture).save(file, "JPEG", quality=quality)
        with Image.open(file) as again:
            read.append(np.asarray(again).reshape(picture.shape))
    return torch.from_numpy(np.stack(read)).permute(0, 3, 1, 2).to(x) / 255


def _grid(h: int, w: int) -> Float[Tensor, "h w 2"]:
    """Every pixel's own place, (across, down)."""
    down, across = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
    return torch.stack([across, down], 2).double()


def _affine(n: int, h: int, w: int, far: float, generator: Generator) -> Float[Tensor, "n h w 2"]:
    """Where each pixel comes from when three points, at a third of the side from the middle, move by up to `far`."""
    middle = torch.tensor([w // 2, h // 2], dtype=torch.float64)
    points = middle + max(1, min(h, w) // 3) * torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]).double()
    moved = points + far * (2 * torch.rand(n, 3, 2, generator=generator, dtype=torch.float64) - 1)
    back = torch.linalg.solve(_with_one(moved), points.expand(n, -1, -1))  # (n, 3, 2)
    places: Tensor = _with_one(_grid(h, w)).view(h * w, 3) @ back
    return places.view(n, h, w, 2)


def _with_one(places: Tensor) -> Tensor:
    return torch.cat([places, torch.ones_like(places[..., :1])], -1)


def _sampled(x: Tensor, places: Float[Tensor, "n h w 2"], edge: str) -> Tensor:
    """Bilinear at places in pixels; beyond the edge mirrored at the outermost pixels' centres, or at their borders."""
    side = places.new_tensor([x.shape[3], x.shape[2]])
    centres = edge == "mirror"
    scaled = 2 * places / (side - 1).clamp_min(1) - 1 if centres else (2 * places + 1) / side - 1
    return F.grid_sample(x, scaled, padding_mode="reflection", align_corners=centres)
