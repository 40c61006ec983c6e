"""Alive dimensions: those that some sample switches on."""

from nonneg import _arrays
from nonneg._arrays import Features
from nonneg.metrics._rows import alive_columns

__all__ = ["alive"]


def alive(z: Features) -> float:
    """How many dimensions at least one sample activates.

    >>> import torch
    >>> alive(torch.tensor([[0.0, 3.0, 0.0], [1.0, 1.0, 0.0]]))
    2.0
    """
    return float(alive_columns(_arrays.features(z)).sum())
