"""`nonneg embed`."""

from pathlib import Path

import typer

from nonneg import data, models
from nonneg._errors import UserError
from nonneg.cli.bar import counting
from nonneg.cli.options import in_options
from nonneg.evaluation import write_features

__all__ = ["embed"]

_WORKERS = 4  # that decode large pictures


def embed(run: Path, name: str, out: Path, which: str, root: Path | None, download: bool, skip_bad_files: bool) -> None:
    """The features of a data set as an array file."""
    if which not in ("z", "h"):
        raise UserError(f"Expected --which to be z (features) or h (backbone), got {which!r}.")
    model = models.load(run)
    on_bad_file = "skip" if skip_bad_files else "fatal"

    def report_bad(path: Path) -> None:
        typer.echo(f"Skipped {path}, which can't be decoded.", err=True)

    with in_options():
        pictures = data.load(name, root, download, on_bad_file, report_bad)
    channels = model.settings.channels
    if pictures.train.channels != channels:
        raise UserError(
            f"Expected pictures of {channels} channels, as the model's, got {pictures.train.channels} in {name}; "
            "convert them."
        )
    with in_options(), counting(f"{name} through {run}") as progress:
        write_features(out, model, pictures, which, _WORKERS, on_bad_file, progress, report_bad)
    typer.echo(f"Wrote {out}")
