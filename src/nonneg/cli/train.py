"""`nonneg train`."""

from collections.abc import Sequence
from pathlib import Path

import typer

from nonneg import training
from nonneg._errors import UserError
from nonneg.cli.processes import is_first
from nonneg.training import Recipe, RunFolder, recipes
from nonneg.training.progress_bar import ProgressBar

__all__ = ["resume", "train"]

RUNS = Path("runs")


def train(words: Sequence[str], out: Path | None) -> None:
    """A run, or one for each of several seeds."""
    if not words or "=" in words[0]:
        raise UserError(
            f"Expected a recipe first, got {words[0] if words else 'nothing'}; 'nonneg recipes' lists them. "
            "For example: nonneg train fashion-small-ncl"
        )
    which, *changes = words
    planned = _planned(which, changes, out)
    for folder in planned:
        RunFolder(folder).check_new()  # before hours of training, not after
    for folder, recipe in planned.items():
        training.train(recipe, folder, watcher=ProgressBar())
        _done(folder)


def resume(folder: Path, words: Sequence[str], out: Path | None) -> None:
    """Go on; `words` may change what the result doesn't depend on."""
    if out is not None:
        raise UserError(f"Expected no --out with --resume, got {out}; a run stays in its folder.")
    other = next((word for word in words if "=" not in word), None)
    if other is not None:
        raise UserError(
            f"Expected nothing but key=value changes with --resume, got {other}; the run's folder holds its recipe."
        )
    training.resume(folder, words, watcher=ProgressBar())
    _done(folder)


def _planned(which: str, changes: Sequence[str], out: Path | None) -> dict[Path, Recipe]:
    """Folder and recipe of each run; `seed=0,1,2` is three."""
    several = [change for change in changes if change.startswith("seed=") and "," in change]
    others = [change for change in changes if change not in several]
    if not several:
        recipe = recipes.read(which, others)
        return {RUNS / recipe.name if out is None else out: recipe}
    planned: dict[Path, Recipe] = {}
    for seed in several[-1].removeprefix("seed=").strip("[]").split(","):
        recipe = recipes.read(which, [*others, f"seed={seed.strip()}"])
        folder = RUNS / recipe.name if out is None else out
        if folder.name in ("", ".."):
            raise UserError(f"Expected a folder's name for the runs of several seeds, got --out {folder}; give one.")
        folder = folder.with_name(f"{folder.name}-seed{recipe.seed}")
        if folder in planned:
            raise UserError(f"Expected different seeds, got {recipe.seed} twice; leave one out.")
        planned[folder] = recipe
    return planned


def _done(folder: Path) -> None:
    if is_first():
        typer.echo(f"Done: {folder}")
