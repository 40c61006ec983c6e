"""Retrieval: are a sample's nearest others of its class?"""

import torch
from jaxtyping import Float
from torch import Tensor

from nonneg import _arrays, _checks
from nonneg._arrays import Features, Labels
from nonneg._rows import unit_rows
from nonneg.metrics._rows import pieces

__all__ = ["retrieval", "retrieval_each"]


def retrieval(z: Features, y: Labels, k: int = 10) -> dict[str, float]:
    """Leave one out by cosine: precision@k and mAP@k, AP@k = Σ_{r≤k} precision@r·hit_r / min(k, others of the class).

    The reference code of NCL prints precision@10 under the name of mAP. A sample that is alone in its class can't be
    hit; it counts as 0 in both.

    >>> import torch
    >>> z = torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    >>> retrieval(z, torch.tensor([0, 0, 1, 1]), k=2)
    {'precision': 0.5, 'map': 1.0}
    """
    return {name: float(each.mean()) for name, each in retrieval_each(z, y, k).items()}


def retrieval_each(z: Features, y: Labels, k: int = 10) -> dict[str, Float[Tensor, " n"]]:
    """The same sample by sample, on the CPU.

    >>> import torch
    >>> z = torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> retrieval_each(z, torch.tensor([0, 0, 1]), k=1)["precision"]
    tensor([1., 1., 0.], dtype=torch.float64)
    """
    z = _arrays.features(z)
    y = _arrays.labels(y, z)
    _checks.neighbours(k, len(z) - 1)
    unit = unit_rows(z)
    others = (y.bincount()[y] - 1).cpu()
    ranks = torch.arange(1, k + 1)
    precision, average_precision = [], []
    for rows in pieces(*[len(z)] * 2):
        similarity = unit[rows] @ unit.T
        similarity.diagonal(rows.start).fill_(-torch.inf)
        hits = (y[similarity.topk(k).indices] == y[rows, None]).cpu()
        precision_at = hits.cumsum(1).double() / ranks
        precision.append(precision_at[:, -1])
        average_precision.append((precision_at * hits).sum(1) / others[rows].clamp(1, k))
    return {"precision": torch.cat(precision), "map": torch.cat(average_precision)}
