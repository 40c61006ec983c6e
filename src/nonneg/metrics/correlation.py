"""Correlation: how alike are two dimensions?"""

import torch
from jaxtyping import Float
from torch import Tensor

from nonneg import _arrays, _checks
from nonneg._arrays import Features
from nonneg._rows import unit_rows
from nonneg.metrics._rows import alive_columns, pieces

__all__ = ["correlation", "correlation_matrix"]


def correlation(z: Features) -> float:
    """Mean |cosine| between different alive columns; 0 if only one is alive.

    >>> import torch
    >>> correlation(torch.tensor([[1.0, 1.0], [0.0, 1.0]]))  # cos 45°
    0.7071067690849304
    """
    columns = _alive_unit_columns(z)
    count = len(columns)
    if count == 1:
        return 0.0
    total = sum(float((columns[rows] @ columns.T).abs_().sum(dtype=torch.float64)) for rows in pieces(count, count))
    diagonal = float(torch.linalg.vecdot(columns, columns).sum(dtype=torch.float64))
    return max(0.0, (total - diagonal) / (count * (count - 1)))


def correlation_matrix(z: Features) -> Float[Tensor, "k k"]:
    """Cosine between all pairs of the k alive columns, in their order.

    >>> import torch
    >>> correlation_matrix(torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 2.0]]))
    tensor([[1.0000, 0.7071], [0.7071, 1.0000]])
    """
    columns = _alive_unit_columns(z)
    return columns @ columns.T


def _alive_unit_columns(z: Features) -> Float[Tensor, "k n"]:
    z = _arrays.features(z)
    columns = z[:, alive_columns(z)].T.contiguous()
    _checks.some_alive(len(columns))
    return unit_rows(columns)
