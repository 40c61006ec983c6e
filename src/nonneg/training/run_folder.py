"""A run's folder: what is where in it, and that only one process at a time writes to it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nonneg import _files
from nonneg._errors import UserError
from nonneg.training import recipes
from nonneg.training.recipe import Recipe

__all__ = ["RunFolder"]


@dataclass(frozen=True)
class RunFolder:
    """recipe.yaml, model.safetensors (when it is done), checkpoints/, log.csv, metrics.json, features/, report/."""

    path: Path

    @property
    def recipe(self) -> Path:
        return self.path / "recipe.yaml"

    @property
    def model(self) -> Path:
        return self.path / "model.safetensors"

    @property
    def log(self) -> Path:
        return self.path / "log.csv"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.json"

    @property
    def report(self) -> Path:
        return self.path / "report"

    def features(self, part: str) -> Path:
        return self.path / "features" / f"{part}.npz"

    @property
    def last_checkpoint(self) -> Path:
        return self.path / "checkpoints" / "last.ckpt"

    def checkpoint(self, epoch: int) -> Path:
        return self.path / "checkpoints" / f"epoch-{epoch:04d}.ckpt"

    def is_done(self) -> bool:
        return self.model.is_file()

    def check_new(self) -> None:
        """Refuse a folder with something in it, but for what a run leaves that ended while it began."""
        if self.path.exists() and (not self.path.is_dir() or any(not _is_beginning(e) for e in self.path.iterdir())):
            way_out = "choose another with --out, or remove it"
            if self.recipe.is_file():
                way_out = (
                    f"go on with it by 'nonneg train --resume {self.path}', choose another with --out, or remove it"
                )
            raise UserError(f"Expected a new folder for the run, got {self.path}, which is there already; {way_out}.")

    def begin(self, recipe: Recipe) -> None:
        """Make the folder for a new run."""
        self.check_new()
        recipes.write(recipe, self.recipe)

    def check_resumed(self, recipe: Recipe) -> None:
        """A run goes on by the recipe that it began with."""
        difference = recipes.first_difference(recipes.read_file(self.recipe), recipe)
        if difference is not None:
            key, old, new = difference
            raise UserError(
                f"Expected the recipe that {self.path} began with, where {key} is {old!r}, got {new!r}; "
                "leave it out, or begin a new run."
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Held by the process that trains; the system lets go of it however that process ends."""
        with _files.told_plainly(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / ".lock", os.O_CREAT | os.O_RDWR)
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # not flock, which a killed process's workers would hold
        except (BlockingIOError, PermissionError) as error:
            os.close(lock)
            raise UserError(
                f"Expected that nobody else trains in {self.path}, got another process that does; wait for it to end."
            ) from error
        try:
            for left in self.path.rglob(".*.part"):  # of a process that was killed while it wrote
                left.unlink()
            yield
        finally:
            os.close(lock)


def _is_beginning(entry: Path) -> bool:
    return entry.name == ".lock" or (entry.name.startswith(".recipe.yaml.") and entry.suffix == ".part")
