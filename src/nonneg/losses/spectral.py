"""The spectral contrastive loss."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nonneg import _checks
from nonneg._rows import bounded, dot_rows, full_precision, product
from nonneg.losses import _distributed
from nonneg.losses._reduction import check_reduction, reduce

__all__ = ["Spectral"]


class Spectral(nn.Module):
    """−2·E[f(x)·f(x⁺)] + E[(f(x)·f(x⁻))²] (HaoChen et al., NeurIPS 2021).

    Up to a constant it is ‖Ā − FFᵀ‖², the factorisation of the augmentation graph; with non-negative features, its
    symmetric NMF. x⁺ is the other view, x⁻ every view of every other sample, of all processes: the pairs of `InfoNCE`.
    The squares are summed as fᵀ(FᵀF)f, so that no (n, n) matrix is held. `reduction="none"` gives a loss a row, those
    of z1 before those of z2.

    >>> z = torch.eye(2)
    >>> Spectral()(z, z)
    tensor(-2.)
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        check_reduction(reduction)
        self.reduction = reduction

    def forward(self, z1: Float[Tensor, "n d"], z2: Float[Tensor, "n d"]) -> Tensor:
        _checks.same_shape(z1, z2)
        samples = _distributed.total(len(z1), z1.device)
        _checks.at_least_two(samples)
        f = bounded(torch.cat([full_precision(z1), full_precision(z2)]))
        f1, f2 = f.chunk(2)
        positive = dot_rows(f1, f2).repeat(2)
        own = dot_rows(f, f).square() + positive.square()  # a row with itself and its other view
        negative = _squared_similarities(f) - own
        rows = -2 * positive + negative / (2 * samples - 2)
        return reduce(rows, self.reduction, 2 * samples)

    def extra_repr(self) -> str:
        return f"reduction={self.reduction!r}"


def _squared_similarities(f: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    """Σ_j (f_i·f_j)² for every row i of ours, j over the rows of all processes."""
    if _distributed.processes() == 1 and len(f) < f.shape[1]:
        return product(f, f.T).square().sum(1)
    gram = _distributed.sum_over_processes(product(f.T, f))
    return dot_rows(product(f, gram), f)
