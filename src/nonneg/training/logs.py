"""The log of a run, a row an epoch: log.csv always, TensorBoard and Weights & Biases where a recipe asks."""

import csv
import importlib.util
import io
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from nonneg import _files
from nonneg._errors import needs_extra
from nonneg.training.recipe import Recipe

__all__ = ["Log", "check", "open_logs", "write_csv"]


def write_csv(path: Path, rows: Sequence[Mapping[str, float]]) -> None:
    """The whole log; a run that goes on leaves no row twice."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _short(float(value)) for name, value in row.items()} for row in rows)
    _files.write_text(path, text.getvalue())


class Log(Protocol):
    """Somewhere that rows also go."""

    def add(self, row: Mapping[str, float]) -> None: ...

    def close(self) -> None: ...


def check(recipe: Recipe) -> None:
    """Refuse a log whose package is not installed, before a run begins."""
    for name in recipe.log_to:
        if importlib.util.find_spec(name) is None:
            raise needs_extra(name, name)


def open_logs(recipe: Recipe, folder: Path, rows_so_far: int) -> list[Log]:
    """The logs that the recipe asks for."""
    kinds: dict[str, type[_TensorBoard] | type[_WandB]] = {"tensorboard": _TensorBoard, "wandb": _WandB}
    return [kinds[name](recipe, folder, rows_so_far) for name in recipe.log_to]


class _TensorBoard:
    def __init__(self, recipe: Recipe, folder: Path, rows_so_far: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        writer: Any = SummaryWriter(str(folder / "tensorboard"), purge_step=rows_so_far + 1)
        self.writer = writer

    def add(self, row: Mapping[str, float]) -> None:
        for name, value in row.items():
            if name != "epoch":
                self.writer.add_scalar(name, value, int(row["epoch"]))
        self.writer.flush()

    def close(self) -> None:
        self.writer.close()


class _WandB:
    def __init__(self, recipe: Recipe, folder: Path, rows_so_far: int) -> None:
        import wandb

        known = folder / ".wandb-id"  # so that a run that goes on does so there too, and a new one is another
        if not known.is_file():
            _files.write_text(known, uuid.uuid4().hex)
        self.run: Any = wandb.init(
            project="nonneg",
            name=folder.name,
            id=known.read_text(encoding="utf-8"),
            resume="allow",
            dir=str(folder),
            config=recipe.model_dump(mode="json"),
            settings=wandb.Settings(silent=True),
        )

    def add(self, row: Mapping[str, float]) -> None:
        self.run.log(dict(row), step=int(row["epoch"]))

    def close(self) -> None:
        self.run.finish()


def _short(value: float) -> str:
    return str(int(value)) if value.is_integer() else f"{value:.6g}"
