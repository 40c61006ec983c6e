"""`nonneg export`."""

from pathlib import Path

import typer

from nonneg import models
from nonneg.models.export import export as run_export

__all__ = ["export"]


def export(run: Path, format: str, out: Path) -> None:
    """The model as a file for other programs, and how well it agrees."""
    difference = run_export(models.load(run), out, format)
    typer.echo(f"Wrote {out}; the largest difference to the model is {difference:.1g}")
