"""The most expected dimensions of a run with the test pictures that activate them most, for a page."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from nonneg.metrics._rows import active_pieces
from nonneg.report.dimension_rows import most_expected, top_samples
from nonneg.report.pictures import Sheet, sheet
from nonneg.report.plots import class_colour
from nonneg.report.shown import Shown

__all__ = ["Gallery", "gallery"]

_NAMED = 10  # classes of a dimension that have a piece of its bar to themselves


@dataclass(frozen=True)
class Piece:
    """Of the bar that says which classes a dimension is on for."""

    name: str
    share: float
    colour: str


@dataclass(frozen=True)
class Picture:
    place: str  # on the sheet
    says: str


@dataclass(frozen=True)
class Dimension:
    number: int
    on: int  # test samples that it is on for
    classes: list[Piece]  # most frequent first; empty without labels
    pictures: list[Picture]


@dataclass(frozen=True)
class Gallery:
    title: str
    number: int
    sheet: Sheet
    dimensions: list[Dimension]


def gallery(run: Shown, rows: int = 20, columns: int = 10) -> Gallery:
    """`rows` dimensions of largest expected activation over the training set, shown on `columns` test pictures each."""
    z, labels = run.test.z, run.test.labels
    chosen = most_expected(run.train.z, rows, run.recipe.model.activation)
    top = top_samples(z, chosen, columns)
    numbers = run.test.numbers[top]
    pictures = sheet(run.data.evaluated(), numbers.flatten().tolist())
    unit = F.normalize(z, dim=1)
    kinds = labels if run.labelled and labels is not None else torch.zeros(len(z), dtype=torch.int64)
    counts = _on_by_class(run, chosen, kinds)
    dimensions = []
    for row, dimension in enumerate(chosen.tolist()):
        own = [
            Picture(
                pictures.places[int(run.test.numbers[sample])],
                _says(run, sample, float(unit[sample, dimension])),
            )
            for sample in top[row].tolist()
        ]
        pieces = _pieces(counts[row], run.data.classes) if run.labelled else []
        dimensions.append(Dimension(dimension, int(counts[row].sum()), pieces, own))
    return Gallery(run.title, run.number, pictures, dimensions)


def _says(run: Shown, sample: int, value: float) -> str:
    words = f"activation {value:.2f}, picture {int(run.test.numbers[sample])}"
    if run.labelled and run.test.labels is not None:
        return f"{run.data.classes[int(run.test.labels[sample])]}: {words}"
    return words


def _on_by_class(run: Shown, chosen: Int[Tensor, " k"], labels: Int[Tensor, " n"]) -> Int[Tensor, "k c"]:
    """For how many test samples of each class each dimension is on."""
    counts = torch.zeros(len(chosen), int(labels.max()) + 1, dtype=torch.int64)
    for rows, active in active_pieces(run.test.z):
        counts += active[:, chosen].long().T @ F.one_hot(labels[rows], counts.shape[1])
    return counts


def _pieces(counts: Int[Tensor, " c"], names: Sequence[str]) -> list[Piece]:
    total = int(counts.sum())
    order = [k for k in counts.argsort(descending=True, stable=True).tolist() if counts[k]]
    pieces = [Piece(names[k], int(counts[k]) / total, class_colour(k)) for k in order[:_NAMED]]
    rest = sum(int(counts[k]) for k in order[_NAMED:])
    others = len(order) - _NAMED
    return [*pieces, Piece(f"{others} other classes", rest / total, "var(--line)")] if rest else pieces
