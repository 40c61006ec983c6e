"""InfoNCE, the contrastive loss of SimCLR."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nonneg import _checks
from nonneg._rows import bounded, dot_rows, full_precision, unit_rows
from nonneg.losses import _distributed
from nonneg.losses._logsumexp import NATS, self_logsumexp
from nonneg.losses._reduction import check_reduction, reduce

__all__ = ["InfoNCE"]


class InfoNCE(nn.Module):
    """−log exp(s_ip/τ) / Σ_{j≠i} exp(s_ij/τ) over the 2n rows of two views, p the other view (SimCLR, ICML 2020).

    s is the cosine similarity, or the inner product where `normalize` is False. Negatives come from all processes. The
    (2n, 2n) matrix is never held: `tile` rows and columns of it at a time, chosen from the device if None.
    `reduction="none"` gives a loss a row, the rows of z1 before those of z2.

    >>> z1, z2 = torch.eye(3), torch.eye(3)
    >>> InfoNCE(temperature=0.2)(z1, z2)  # log(1 + 4·e⁻⁵)
    tensor(0.0266)
    """

    def __init__(
        self, temperature: float = 0.2, normalize: bool = True, tile: int | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        _checks.temperature(temperature)
        _checks.tile(tile)
        check_reduction(reduction)
        self.temperature = temperature
        self.normalize = normalize
        self.tile = tile
        self.reduction = reduction

    def forward(self, z1: Float[Tensor, "n d"], z2: Float[Tensor, "n d"]) -> Tensor:
        _checks.same_shape(z1, z2)
        samples = _distributed.total(len(z1), z1.device)
        _checks.at_least_two(samples)
        scale = math.sqrt(1 / (self.temperature * NATS))  # x·x' is then the similarity in bits
        z = torch.cat([full_precision(z1), full_precision(z2)])
        x = unit_rows(z, scale) if self.normalize else bounded(z) * scale
        positive = dot_rows(*x.chunk(2))
        rows = NATS * (self_logsumexp(x, self.tile) - positive.repeat(2))
        return reduce(rows, self.reduction, 2 * samples)

    def extra_repr(self) -> str:
        return f"temperature={self.temperature}, normalize={self.normalize}, reduction={self.reduction!r}"
