"""A run as a page shows it: its recipe, its pictures, and features of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from nonneg.data import DataSet
from nonneg.evaluation.comparison import Column
from nonneg.evaluation.features import Features, features_of_run
from nonneg.training.recipe import Recipe
from nonneg.training.run_folder import RunFolder

__all__ = ["Shown", "shown"]


@dataclass(frozen=True)
class Shown:
    """A column; where it is several runs, pictures and curves are the first one's."""

    number: int
    title: str
    folder: RunFolder
    seeds: int  # runs in the column
    recipe: Recipe
    data: DataSet
    train: Features
    test: Features

    @property
    def labelled(self) -> bool:
        return self.test.labels is not None and bool(self.data.classes)


def shown(columns: Sequence[Column]) -> list[Shown]:
    """All columns; data that several are of are loaded once."""
    titles = _titles(columns)
    loaded: dict[str, DataSet] = {}
    found = []
    for number, column in enumerate(columns):
        settings = column.recipe.data
        key = settings.model_dump_json()
        if key not in loaded:
            loaded[key] = settings.load()
        train, test = features_of_run(column.folders[0])
        runs = len(column.folders)
        title = titles[number] if runs == 1 else f"{titles[number]} ({runs} seeds)"
        folder = RunFolder(column.folders[0])
        found.append(Shown(number, title, folder, runs, column.recipe, loaded[key], train, test))
    return found


def _titles(columns: Sequence[Column]) -> list[str]:
    """A title that is a folder's path is long; its last part, if that tells the runs apart."""
    short = [c.folders[0].name if c.title == str(c.folders[0]) else c.title for c in columns]
    return short if len(set(short)) == len(short) else [c.title for c in columns]
