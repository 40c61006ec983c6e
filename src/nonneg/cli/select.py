"""`nonneg select`."""

from pathlib import Path

import typer

from nonneg.cli.bar import counting
from nonneg.evaluation.shortened_run import shorten

__all__ = ["select"]


def select(run: Path, dims: int, out: Path) -> None:
    """A shorter run."""
    with counting(f"features of {run}") as progress:
        shorten(run, dims, out, progress)
    typer.echo(f"Wrote {out}")
