"""Linear maps of pictures: along the sides as small matrices, with edges as the published programs have them."""

import math
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["Edge", "along_sides", "box", "gaussian", "inside", "motion_blurred", "zoom"]

# What lies beyond the edge of a b c: "repeat" is c c c, "reflect" c b a, "mirror" b a.
Edge = Literal["repeat", "reflect", "mirror"]


def inside(place: Int[Tensor, "..."], size: int, edge: Edge) -> Int[Tensor, "..."]:
    """Which pixel stands for one that may be outside.

    >>> [inside(torch.arange(-2, 5), 3, edge).tolist() for edge in ("repeat", "reflect", "mirror")]
    [[0, 0, 0, 1, 2, 2, 2], [1, 0, 0, 1, 2, 2, 1], [2, 1, 0, 1, 2, 1, 0]]
    """
    if edge == "repeat":
        return place.clamp(0, size - 1)
    period = 2 * size if edge == "reflect" else max(1, 2 * size - 2)
    place = place % period
    return torch.minimum(place, period - (edge == "reflect") - place)


def along_sides(
    x: Float[Tensor, "n c h w"], rows: Float[Tensor, "p h"], columns: Float[Tensor, "q w"]
) -> Float[Tensor, "n c p q"]:
    """rows·x·columnsᵀ for every picture and channel."""
    return rows.to(x) @ x @ columns.to(x).T


def gaussian(sigma: float, radius: int, size: int, edge: Edge) -> Float[Tensor, "s s"]:
    """Weights exp(−k²/2σ²) to a distance of `radius` pixels, summing to 1; σ = 0 is the identity."""
    apart = torch.arange(-radius, radius + 1)
    weight = torch.exp(-apart.double().square() / (2 * max(sigma, 1e-12) ** 2))
    place = inside(torch.arange(size)[:, None] + apart, size, edge)
    matrix = torch.zeros(size, size, dtype=torch.float64)
    return matrix.scatter_add_(1, place, (weight / weight.sum()).expand(size, -1))


def zoom(factor: float, size: int) -> Float[Tensor, "s s"]:
    """The middle ⌈size/factor⌉ pixels, enlarged with the centres of the outermost in place, and its middle `size`."""
    part = math.ceil(size / factor)
    wide = max(size, round(part * factor))
    place = torch.arange(wide, dtype=torch.float64) * ((part - 1) / max(1, wide - 1)) + (size - part) // 2
    left = (wide - size) // 2
    apart = place[left : left + size, None] - torch.arange(size)
    return (1 - apart.abs()).clamp_min_(0)


def box(old: int, new: int) -> Float[Tensor, "new old"]:
    """Every new pixel is the mean of the old ones whose centres it covers, or the one that covers its own."""
    scale = old / new
    wide = max(scale, 1.0)
    centre = (torch.arange(new, dtype=torch.float64)[:, None] + 0.5) * scale
    pixel = torch.arange(old)
    # What lies just on the border falls on the side where Pillow's rounding puts it.
    near = (pixel >= (centre - wide / 2 + 0.5).floor()) & (pixel < (centre + wide / 2 + 0.5).floor())
    apart = (pixel - centre + 0.5) * (1 / wide)
    weight = (near & (apart > -0.5) & (apart <= 0.5)).double()
    return weight / weight.sum(1, keepdim=True)


def motion_blurred(
    x: Float[Tensor, "n c h w"], radius: int, sigma: float, degrees: Float[Tensor, " n"]
) -> Float[Tensor, "n c h w"]:
    """Σ_k g(k)·x(p + k·(cos θ, sin θ)), k from 0 to 2·radius, g half a Gaussian that sums to 1, as ImageMagick's.

    Steps are rounded to whole pixels, ⌈k·cos θ − ½⌉; edges are repeated. Every picture has its own angle θ.
    """
    n, _, h, w = x.shape
    step = torch.arange(2 * radius + 1, dtype=torch.float64)
    weight = torch.exp(-step.square() / (2 * sigma**2))
    turn = torch.deg2rad(degrees.double().cpu())[:, None]
    across, down = ((step * direction - 0.5).ceil().long() for direction in (turn.cos(), turn.sin()))
    rows = inside(torch.arange(h) + down[:, :, None], h, "repeat").to(x.device)  # (n, steps, h)
    columns = inside(torch.arange(w) + across[:, :, None], w, "repeat").to(x.device)
    picture = torch.arange(n, device=x.device)[:, None, None]
    channels_last = x.permute(0, 2, 3, 1).contiguous()
    blurred = torch.zeros_like(channels_last)
    for k, share in enumerate((weight / weight.sum()).tolist()):
        blurred += share * channels_last[picture, rows[:, k, :, None], columns[:, k, None, :]]
    return blurred.permute(0, 3, 1, 2)
