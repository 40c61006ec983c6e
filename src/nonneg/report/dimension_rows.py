"""The most expected dimensions as rows of the pictures that activate them most (NCL, ICLR 2024, figure 1)."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor
from torch.nn import functional as F

from nonneg import _files, metrics, selection
from nonneg.activations import is_non_negative
from nonneg.data import Images, Split
from nonneg.data.folder import read_picture
from nonneg.evaluation import features_of_run
from nonneg.training.recipes import read_file
from nonneg.training.run_folder import RunFolder

__all__ = ["Rows", "dimension_rows", "draw_rows"]

_INCH = 0.62  # a picture's side


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
    dimensions = selection.select(train.z, min(rows, train.z.shape[1]), not is_non_negative(recipe.model.activation))
    z = F.normalize(test.z, dim=1)[:, dimensions]
    samples = test.numbers[z.argsort(dim=0, descending=True, stable=True)[:columns].T]
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
    tiles = [_square(_picture(pictures, i)) for i in samples]
    gap = np.full((len(tiles[0]), max(1, len(tiles[0]) // 14), 3), 255, np.uint8)
    return np.concatenate([part for tile in tiles for part in (tile, gap)][:-1], 1)


def _picture(pictures: Split, index: int) -> Float32[Tensor, "3 h w"]:
    if isinstance(pictures, Images):
        return pictures.pixels[index].float().expand(3, -1, -1)
    return torch.from_numpy(np.array(read_picture(pictures.paths[index]))).permute(2, 0, 1).float()


def _square(picture: Float32[Tensor, "3 h w"], side: int = 64) -> np.ndarray:
    """The middle square, at one size for all."""
    height, width = picture.shape[1:]
    edge = min(height, width)
    top, left = (height - edge) // 2, (width - edge) // 2
    middle = picture[None, :, top : top + edge, left : left + edge]
    small = F.interpolate(middle, (side, side), mode="bilinear" if edge > side else "nearest", antialias=edge > side)
    return small[0].permute(1, 2, 0).round().clamp(0, 255).byte().numpy()
