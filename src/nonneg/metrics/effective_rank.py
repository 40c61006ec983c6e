"""Effective rank: how many directions do the features use?"""

import torch

from nonneg import _arrays, _checks
from nonneg._arrays import Features

__all__ = ["effective_rank"]


def effective_rank(z: Features) -> float:
    """exp of the entropy of the singular values divided by their sum (Roy and Vetterli, EUSIPCO 2007).

    >>> import torch
    >>> round(effective_rank(torch.eye(3)), 6)
    3.0
    """
    z = _arrays.features(z)
    used = z[:, (z != 0).any(0)]  # a zero column has no part in any singular value
    _checks.some_alive(used.shape[1])
    scaled = used / used.abs().max()
    # Float64: a singular value that should be zero would come out as 1e-7 of the largest in float32, and count.
    double = scaled.cpu().double() if scaled.device.type == "mps" else scaled.double()
    values = torch.linalg.svdvals(double)
    return float(torch.special.entr(values / values.sum()).sum().exp())
