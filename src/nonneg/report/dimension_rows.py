"""The most expected dimensions as rows of the pictures that activate them most (NCL, ICLR 2024, figure 1)."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int, Int64
from torch import Tensor
from torch.nn import functional as F

from nonneg import _files, metrics, selection
from nonneg.activations import is_non_negative
from nonneg.data import Split
from nonneg.evaluation.features import features_of_run
from nonneg.report.pictures import square
from nonneg.training.recipes import read_file
from nonneg.training.run_folder import RunFolder

__all__ = ["Rows", "dimension_rows", "draw_rows", "most_expected", "top_samples"]

_INCH = 0.62  # a picture's side
_SIDE = 64  # in pixels


@dataclass(frozen=True)
class Rows:
    """One run's dimensions, most expected first, each with the samples that activate it most."""

    title: str
    dimensions: list[int]
    samples: Int64[Tensor, "rows columns"]
    captions: list[str]
    pictures: Split


def dimension_rows(folder: str | Path, title: str, rows: int = 12, columns: int = 10) -> Rows:
    """A run's `rows` dimensions of largest expected activation over the training set, shown on the test pictures.

    A caption is the dimension's most frequent class among the test pictures that it is on for, and that class's share.
    """
    recipe = read_file(RunFolder(Path(folder)).recipe)
    data = recipe.data.load()
    train, test = features_of_run(folder)
    dimensions = most_expected(train.z, rows, recipe.model.activation)
    samples = test.numbers[top_samples(test.z, dimensions, columns)]
    captions = ["" for _ in dimensions]
    if test.labels is not None:
        profile = metrics.class_profile(test.z, test.labels)
        captions = [
            f"{_short(data.classes[profile.of_class[k]])}\n{profile.consistency[k]:.0%} of {profile.samples[k]}"
            if profile.samples[k]
            else "never on"
            for k in dimensions
        ]
    return Rows(title, dimensions.tolist(), samples, captions, data.evaluated())


def most_expected(z_train: Float[Tensor, "n d"], count: int, activation: str) -> Int[Tensor, " k"]:
    """The dimensions of largest expected activation, at most so many; signed ones by their mean."""
    return selection.select(z_train, min(count, z_train.shape[1]), not is_non_negative(activation))


def top_samples(z: Float[Tensor, "n d"], dimensions: Int[Tensor, " k"], count: int) -> Int64[Tensor, "k m"]:
    """For each dimension the rows of z that activate it most, the first of equals first."""
    return F.normalize(z, dim=1)[:, dimensions].argsort(dim=0, descending=True, stable=True)[:count].T


def draw_rows(path: Path, runs: Sequence[Rows]) -> None:
    """A PNG: each run's rows, the runs beside one another."""
    from matplotlib.figure import Figure

    rows = max(len(run.dimensions) for run in runs)
    columns = max(run.samples.shape[1] for run in runs)
    block = columns + 3.2  # of pictures' sides: room for the caption
    width, height = _INCH * block * len(runs), _INCH * (rows + 1)
    figure = Figure(figsize=(width, height), dpi=120, facecolor="white")
    for number, run in enumerate(runs):
        left = number * block
        figure.text(
            (left + 2.9) * _INCH / width, 1 - 0.5 * _INCH / height, run.title, va="center", size=13, parse_math=False
        )
        for row, (dimension, caption) in enumerate(zip(run.dimensions, run.captions, strict=True)):
            bottom = rows - 1 - row
            place = ((left + 2.75) * _INCH / width, (bottom + 0.5) * _INCH / height)
            figure.text(*place, f"{dimension}: {caption}", ha="right", va="center", size=7, parse_math=False)
            axes = figure.add_axes(
                (
                    (left + 2.9) * _INCH / width,
                    (bottom + 0.04) * _INCH / height,
                    run.samples.shape[1] * _INCH / width,
                    0.92 * _INCH / height,
                )
            )
            axes.imshow(_strip(run.pictures, run.samples[row].tolist()), aspect="auto")
            axes.set_axis_off()
    with _files.replacing(path) as part, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)  # of class names; drawn as boxes
        figure.savefig(part, format="png")


def _short(name: str, most: int = 24) -> str:
    """A class's name on one line, in the room that it has."""
    line = " ".join(name.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _strip(pictures: Split, samples: Sequence[int]) -> np.ndarray:
    """Pictures beside one another, with a white line between."""
    tiles = [square(pictures, i, _SIDE) for i in samples]
    gap = np.full((len(tiles[0]), max(1, len(tiles[0]) // 14), 3), 255, np.uint8)
    return np.concatenate([part for tile in tiles for part in (tile, gap)][:-1], 1)
