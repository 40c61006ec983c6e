"""Sparsity: how much of a sample's features is off."""

import torch
from jaxtyping import Float64
from torch import Tensor

from nonneg import _arrays
from nonneg._arrays import Features
from nonneg.metrics._rows import active_pieces

__all__ = ["sparsity", "sparsity_each"]


def sparsity(z: Features) -> float:
    """Mean share of inactive entries per sample; active is |z| > 1e-5 after the row is scaled to length 1.

    >>> import torch
    >>> sparsity(torch.tensor([[0.0, 3.0], [1.0, 1.0], [0.0, 0.0], [5.0, 1e-6]]))
    0.5
    """
    z = _arrays.features(z)
    active = sum(int(piece.sum()) for _, piece in active_pieces(z))
    return 1 - active / z.numel()


def sparsity_each(z: Features) -> Float64[Tensor, " n"]:
    """The same sample by sample.

    >>> import torch
    >>> sparsity_each(torch.tensor([[0.0, 3.0], [1.0, 1.0]]))
    tensor([0.5000, 0.0000], dtype=torch.float64)
    """
    z = _arrays.features(z)
    return torch.cat([1 - active.double().mean(1) for _, active in active_pieces(z)])
