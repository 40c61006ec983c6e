"""Blurs: out of focus, through frosted glass, moving, coming nearer."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor
from torch.nn import functional as F

from nonneg.data.corruptions.filters import along_sides, gaussian, inside, motion_blurred, zoom
from nonneg.data.corruptions.strengths import Strengths

__all__ = ["defocus_blur", "glass_blur", "motion_blur", "zoom_blur"]

# Radius of the disc, deviation of the Gaussian that softens its edge.
DISC = Strengths(
    ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1.0, 0.2), (1.5, 0.1)),
    ((3.0, 0.1), (4.0, 0.5), (6.0, 0.5), (8.0, 0.5), (10.0, 0.5)),
)
# Deviation of the Gaussian before and after, farthest step, rounds.
GLASS = Strengths(
    ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)),
    ((0.7, 1, 2), (0.9, 2, 1), (1.0, 2, 3), (1.1, 3, 2), (1.5, 4, 2)),
)
# Radius and deviation of the half Gaussian.
MOTION = Strengths(
    ((6, 1.0), (6, 1.5), (6, 2.0), (8, 2.0), (9, 2.5)), ((10, 3.0), (15, 5.0), (15, 8.0), (15, 12.0), (20, 15.0))
)
# End and step of the factors that begin at 1.
ZOOM = Strengths(
    ((1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01)),
    ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03)),
)


def defocus_blur(x: Float[Tensor, "n c h w"], severity: int, generator: Generator) -> Float[Tensor, "n c h w"]:
    """Correlation with a disc whose edge is softened; edges of the picture are mirrored. Nothing is drawn."""
    n, c, h, w = x.shape
    kernel = disc(*DISC.of(x, severity)).to(x)
    reach = len(kernel) // 2
    rows, columns = (inside(torch.arange(-reach, s + reach), s, "mirror").to(x.device) for s in (h, w))
    padded = x[:, :, rows][:, :, :, columns].reshape(n * c, 1, h + 2 * reach, w + 2 * reach)
    return F.conv2d(padded, kernel[None, None]).view(n, c, h, w)


def glass_blur(x: Float[Tensor, "n c h w"], severity: int, generator: Generator) -> Float[Tensor, "n c h w"]:
    """A Gaussian; every pixel takes the value of one at most δ away; a Gaussian again.

    The published program means to swap the two pixels, but numpy's views of colours make it a copy: so here.
    """
    sigma, farthest, rounds = GLASS.of(x, severity)
    n, c, h, w = x.shape
    smooth = [gaussian(sigma, int(4 * sigma + 0.5), size, "repeat") for size in (h, w)]
    x = along_sides(x, *smooth)
    for _ in range(rounds):
        steps = torch.randint(-farthest, farthest, (2, n, h, w), generator=generator)
        source = glass(steps, farthest).to(x.device)
        x = x.flatten(2).gather(2, source[:, None].expand(n, c, h * w)).view(n, c, h, w)
    return along_sides(x, *smooth)


def motion_blur(x: Float[Tensor, "n c h w"], severity: int, generator: Generator) -> Float[Tensor, "n c h w"]:
    """Half a Gaussian along a line whose angle is drawn between −45° and 45°."""
    return motion_blurred(x, *MOTION.of(x, severity), torch.rand(len(x), generator=generator) * 90 - 45)


def zoom_blur(x: Float[Tensor, "n c h w"], severity: int, generator: Generator) -> Float[Tensor, "n c h w"]:
    """The mean of the picture and of enlargements of its middle by 1, 1.01, … Nothing is drawn."""
    end, step = ZOOM.of(x, severity)
    factors = np.arange(1, end, step).tolist()  # 1 to `end` inclusive, as rounding has it, and so the published program
    total = x.clone()
    for factor in factors:
        total += along_sides(x, *(zoom(factor, size) for size in x.shape[2:]))
    return total / (len(factors) + 1)


def disc(radius: float, sigma: float) -> Float[Tensor, "k k"]:
    """Pixels at most `radius` from the middle, alike, then a Gaussian over 3 pixels (5 for a radius above 8)."""
    soft = 1 if radius <= 8 else 2
    half = max(8, int(radius))  # the field the disc is drawn on: the Gaussian mirrors what touches its border
    apart = torch.arange(-half, half + 1).square()
    disc = (apart[:, None] + apart <= radius**2).double()
    smooth = gaussian(sigma, soft, 2 * half + 1, "mirror")
    kernel = smooth @ (disc / disc.sum()) @ smooth.T
    cut = half - min(half, int(radius) + soft)  # nothing but zeros beyond
    return kernel[cut : len(kernel) - cut, cut : len(kernel) - cut]


def glass(steps: Int[Tensor, "2 n h w"], farthest: int) -> Int[Tensor, "n h*w"]:
    """Which pixel's value each has, when from the last to the first each takes that of the one its step leads to.

    One that took its value before hands that on: the chains of them are followed by leaps that double in length. As in
    the published program, pixels at the border keep their value.
    """
    _, n, h, w = steps.shape
    rows, columns = torch.arange(h)[:, None], torch.arange(w)
    moved = ((rows > farthest) & (rows <= h - farthest) & (columns > farthest) & (columns <= w - farthest)).flatten()
    own = torch.arange(h * w).expand(n, -1)
    target = ((rows + steps[0]) * w + columns + steps[1]).flatten(1)
    target = torch.where(moved, target, own)
    chained = (target > own) & moved[target]
    last = torch.where(chained, target, own)
    while not torch.equal(further := last.gather(1, last), last):
        last = further
    return target.gather(1, last)
