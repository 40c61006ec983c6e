"""From a loss a row to a scalar, over all processes."""

from jaxtyping import Float
from torch import Tensor

from nonneg import _checks
from nonneg.losses import _distributed

REDUCTIONS = ("mean", "sum", "none")


def check_reduction(reduction: str) -> None:
    """One of the reductions."""
    _checks.choice(reduction, REDUCTIONS, "reduction")


def reduce(rows: Float[Tensor, " n"], reduction: str, count: int | None = None) -> Tensor:
    """The mean over `count` rows (of all processes; by default, all rows), their sum, or our own rows as they are."""
    if reduction == "none":
        return rows
    summed = _distributed.sum_over_processes(rows.sum())
    if reduction == "sum":
        return summed
    return summed / (_distributed.total(len(rows), rows.device) if count is None else count)
