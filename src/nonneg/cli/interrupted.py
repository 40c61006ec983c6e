"""Which exceptions are no faults: a run that was asked to stop."""

__all__ = ["status_of"]


def status_of(error: Exception) -> int | None:
    """The exit status of an interrupted run, as a shell has it; None for a fault."""
    from nonneg.training import Interrupted

    return error.exit_status if isinstance(error, Interrupted) else None
