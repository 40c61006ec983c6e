"""Noise: every value of a picture is changed by itself."""

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from nonneg.data.corruptions.strengths import Strengths

__all__ = ["gaussian_noise", "impulse_noise", "shot_noise"]

DEVIATION = Strengths((0.04, 0.06, 0.08, 0.09, 0.10), (0.08, 0.12, 0.18, 0.26, 0.38))
PHOTONS = Strengths((500.0, 250.0, 100.0, 75.0, 50.0), (60.0, 25.0, 12.0, 5.0, 3.0))
SHARE = Strengths((0.01, 0.02, 0.03, 0.05, 0.07), (0.03, 0.06, 0.09, 0.17, 0.27))


def gaussian_noise(x: Float[Tensor, "n c h w"], severity: int, generator: Generator) -> Float[Tensor, "n c h w"]:
    """x + ε, ε ~ N(0, σ²): too little light."""
    return x + DEVIATION.of(x, severity) * torch.randn(x.shape, generator=generator).to(x)


def shot_noise(x: Float[Tensor, "n c h w"], severity: int, generator: Generator) -> Float[Tensor, "n c h w"]:
    """Poisson(λ·x)/λ: the variance of a value is x/λ."""
    photons = PHOTONS.of(x, severity)
    return torch.poisson(x.cpu() * photons, generator=generator).to(x) / photons


def impulse_noise(x: Float[Tensor, "n c h w"], severity: int, generator: Generator) -> Float[Tensor, "n c h w"]:
    """A share p of the values is 0 or 1, as often the one as the other: salt and pepper in every channel."""
    drawn = torch.rand(x.shape, generator=generator).to(x.device) / SHARE.of(x, severity)
    return torch.where(drawn < 1, (drawn < 0.5).to(x), x)
