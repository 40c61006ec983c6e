"""Shortening an embedding to its most used dimensions."""

from jaxtyping import Float, Int
from torch import Tensor

from nonneg import _arrays, _checks
from nonneg._arrays import Features
from nonneg._rows import unit_rows

__all__ = ["expected_activation", "select"]


def expected_activation(z: Features, allow_negative: bool = False) -> Float[Tensor, " d"]:
    """EA: the mean of each column over the samples, rows scaled to length 1 (NCL, ICLR 2024).

    Features that were forgotten to be made non-negative are refused; `allow_negative` ranks signed ones on purpose (the
    paper's "without ReLU").

    >>> import torch
    >>> expected_activation(torch.tensor([[0.0, 2.0], [3.0, 4.0]]))
    tensor([0.3000, 0.9000])
    """
    z = _arrays.features(z)
    if not allow_negative:
        _checks.non_negative(z)
    return unit_rows(z).mean(0)


def select(z_train: Features, m: int, allow_negative: bool = False) -> Int[Tensor, " m"]:
    """The m dimensions of largest expected activation over the training set, most expected first.

    >>> import torch
    >>> z_train = torch.tensor([[0.0, 2.0, 1.0], [3.0, 4.0, 1.0]])
    >>> z_train[:, select(z_train, 2)]
    tensor([[2., 1.],
            [4., 1.]])
    """
    expected = expected_activation(z_train, allow_negative)
    _checks.dimensions(m, len(expected), "m")
    return expected.argsort(descending=True, stable=True)[:m]
