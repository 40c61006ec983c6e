"""InfoNCE with positives by label: supervised contrastive learning."""

import math

import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn

from nonneg import _checks
from nonneg._rows import bounded, dot_rows, full_precision, unit_rows
from nonneg.losses import _distributed
from nonneg.losses._logsumexp import NATS, self_logsumexp
from nonneg.losses._reduction import check_reduction, reduce

__all__ = ["SupervisedInfoNCE"]


class SupervisedInfoNCE(nn.Module):
    """−1/|P_i| Σ_{p∈P_i} log exp(s_ip/τ) / Σ_{j≠i} exp(s_ij/τ), P_i the other rows of i's class (SupCon, NeurIPS 2020).

    Two views go in as `loss(torch.cat([z1, z2]), torch.cat([y, y]))`. A row that is alone in its class has no positive:
    it is a negative for the others, its own loss is 0 and the mean is over the rest. Positives and negatives come from
    all processes; the (n, n) matrix is never held.

    >>> z = torch.eye(3).repeat(2, 1)
    >>> SupervisedInfoNCE(temperature=0.2)(z, torch.tensor([0, 1, 2, 0, 1, 2]))  # InfoNCE of two views
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

    def forward(self, z: Float[Tensor, "n d"], y: Integer[Tensor, " n"]) -> Tensor:
        _checks.float_matrix(z, "z")
        _checks.labels(y, len(z))
        _checks.at_least_two(_distributed.total(len(z), z.device), "rows")
        scale = math.sqrt(1 / (self.temperature * NATS))
        z = full_precision(z)
        x = unit_rows(z, scale) if self.normalize else bounded(z) * scale
        positive, others = _mean_over_class(x, y)
        paired = others > 0
        count = _distributed.total(int(paired.sum()), z.device)
        _checks.some_positive(count)
        rows = NATS * (self_logsumexp(x, self.tile) - positive)
        return reduce(torch.where(paired, rows, 0.0), self.reduction, count)

    def extra_repr(self) -> str:
        return f"temperature={self.temperature}, normalize={self.normalize}, reduction={self.reduction!r}"


def _mean_over_class(
    x: Float[Tensor, "n d"], y: Integer[Tensor, " n"]
) -> tuple[Float[Tensor, " n"], Int[Tensor, " n"]]:
    """For each row the mean of x_i·x_p over the other rows p of its class, and how many those are."""
    everyone, start = _distributed.gather_rows(y)
    classes, numbered = torch.unique(everyone, return_inverse=True)
    own = numbered[start : start + len(y)]
    sums = _distributed.sum_over_processes(x.new_zeros((len(classes), x.shape[1])).index_add(0, own, x))
    others = numbered.bincount(minlength=len(classes))[own] - 1
    return dot_rows(x, sums[own] - x) / others.clamp_min(1), others
