"""Sparsity: how much of a sample's features is off."""

from nonneg import _arrays
from nonneg._arrays import Features
from nonneg.metrics._rows import active_pieces

__all__ = ["sparsity"]


def sparsity(z: Features) -> float:
    """Mean share of inactive entries per sample; active is |z| > 1e-5 after the row is scaled to length 1.

    >>> import torch
    >>> sparsity(torch.tensor([[0.0, 3.0], [1.0, 1.0], [0.0, 0.0], [5.0, 1e-6]]))
    0.5
    """
    z = _arrays.features(z)
    active = sum(int(piece.sum()) for _, piece in active_pieces(z))
    return 1 - active / z.numel()
