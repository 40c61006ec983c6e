"""Trouble that a run should not keep to itself: a loss that is no number, and features that die."""

from collections.abc import Mapping, Sequence

from nonneg._errors import UserError

__all__ = ["diverged", "feature_warning"]

_FEW = 0.1  # share of the dimensions
_RECENT = 5  # epochs


def diverged(what: str, where: str, rate: float, checkpoint: str) -> UserError:
    """What to say of a loss or of weights that are NaN or infinite."""
    return UserError(
        f"Expected {what} at {where} with a learning rate of {rate:.3g}; "
        f"try a lower optimiser.lr, more schedule.warm_up_epochs or hardware.precision=float32. {checkpoint}"
    )


def feature_warning(rows: Sequence[Mapping[str, float]], dimensions: int, is_non_negative: bool) -> str | None:
    """A line on dimensions that die, for the epoch in which it becomes so; None if all is well.

    >>> feature_warning([{"epoch": 1, "alive": 0}], 256, True)
    'Epoch 1: every dimension is dead (collapse); try model.activation=rep_relu or a lower optimiser.lr.'
    """
    alive = [row["alive"] for row in rows]
    epoch, now = int(rows[-1]["epoch"]), alive[-1]
    remedy = "try model.activation=rep_relu or a lower optimiser.lr"
    if now == 0:
        return f"Epoch {epoch}: every dimension is dead (collapse); {remedy}." if alive[-2:-1] != [0] else None
    if now < _FEW * dimensions and not any(count < _FEW * dimensions for count in alive[:-1]):
        return f"Epoch {epoch}: {now:.0f} of {dimensions} dimensions are alive; {remedy}."
    best = max(alive[-1 - _RECENT :])
    was_told = len(alive) > 1 and alive[-2] < max(alive[-2 - _RECENT : -1]) / 2
    if is_non_negative and now < best / 2 and not was_told:
        return f"Epoch {epoch}: alive dimensions fell from {best:.0f} to {now:.0f} in {_RECENT} epochs; {remedy}."
    return None
