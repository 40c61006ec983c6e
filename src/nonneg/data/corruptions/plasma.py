"""Clouds: the diamond–square fractal, in batches."""

import torch
from jaxtyping import Float
from torch import Generator, Tensor

__all__ = ["plasma"]


def plasma(n: int, side: tuple[int, int], decay: float, generator: Generator) -> Float[Tensor, "n 1 h w"]:
    """Heights from 0 to 1 of n periodic maps, cut to `side` (height, width).

    A grid is refined until it is large enough: a new point is the mean of its four neighbours, those on the diagonals
    first, plus noise that is even within ±a; a is divided by decay² from one refinement to the next.
    """
    height, reach = torch.zeros(n, 1, 1), 1.0
    while height.shape[1] < max(2, *side):
        height = _refined(height, reach * (2 * torch.rand(3, *height.shape, generator=generator) - 1))
        reach /= decay**2
    low, high = height.amin((1, 2), keepdim=True), height.amax((1, 2), keepdim=True)
    return ((height - low) / (high - low))[:, None, : side[0], : side[1]]


def _refined(corner: Float[Tensor, "n s s"], noise: Float[Tensor, "3 n s s"]) -> Float[Tensor, "n 2*s 2*s"]:
    below, right = corner.roll(-1, 1), corner.roll(-1, 2)
    centre = (corner + below + right + below.roll(-1, 2)) / 4 + noise[0]
    top = (corner + right + centre + centre.roll(1, 1)) / 4 + noise[1]
    left = (corner + below + centre + centre.roll(1, 2)) / 4 + noise[2]
    upper, lower = torch.stack([corner, top], 3).flatten(2), torch.stack([left, centre], 3).flatten(2)
    return torch.stack([upper, lower], 2).flatten(1, 2)
