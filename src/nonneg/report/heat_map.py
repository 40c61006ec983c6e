"""How alike a run's dimensions are, as a picture of a pixel a pair."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from nonneg import metrics
from nonneg.metrics._rows import alive_columns
from nonneg.report.dimension_rows import most_expected
from nonneg.report.pictures import data_uri
from nonneg.report.shown import Shown

__all__ = ["HeatMap", "heat_map", "opacity"]

_MOST = 512  # dimensions
_LEVELS = 48
_MORE, _LESS = (38, 110, 190), (200, 70, 40)  # seen on black and on white


@dataclass(frozen=True)
class HeatMap:
    title: str
    uri: str
    shown: int
    alive: int
    signed: bool  # some pair is less alike than not at all


def heat_map(run: Shown) -> HeatMap | None:
    """Cosines between alive dimensions, in groups by the class that they stand for; None if none is alive."""
    z = run.test.z
    alive = alive_columns(z)
    count = int(alive.sum())
    if not count:
        return None
    ranked = most_expected(run.train.z, z.shape[1], run.recipe.model.activation)
    chosen = ranked[alive[ranked]][:_MOST]
    if run.labelled and run.test.labels is not None:
        chosen = _by_class(chosen, metrics.class_profile(z, run.test.labels).of_class)
    cosines = metrics.correlation_matrix(z[:, chosen]).numpy()
    return HeatMap(run.title, data_uri(_pixels(cosines)), len(chosen), count, bool((cosines < -0.005).any()))


def opacity(cosine: float) -> float:
    """Of a pair's pixel; small ones are lifted, so that the eye finds them.

    >>> opacity(0.0), round(opacity(0.1), 2), opacity(1.0)
    (0.0, 0.25, 1.0)
    """
    return float(min(1.0, abs(cosine)) ** 0.6)


def _by_class(chosen: Int[Tensor, " k"], of_class: Int[Tensor, " d"]) -> Int[Tensor, " k"]:
    return chosen[torch.argsort(of_class[chosen], stable=True)]


def _pixels(cosines: np.ndarray) -> np.ndarray:
    """Colour by sign on what is seen through: the page is light or dark."""
    pixels = np.empty((*cosines.shape, 4), np.uint8)
    pixels[..., :3] = np.where((cosines >= 0)[..., None], _MORE, _LESS)
    depth = np.abs(cosines).clip(0, 1) ** 0.6
    pixels[..., 3] = (depth * _LEVELS).round() * 255 / _LEVELS
    pixels[pixels[..., 3] == 0] = 0
    return pixels
