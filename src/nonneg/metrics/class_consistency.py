"""Class consistency: does a dimension that is on stand for one class?"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nonneg import _arrays, _checks
from nonneg._arrays import Features, Labels
from nonneg.metrics._rows import active_pieces

__all__ = ["ClassProfile", "class_consistency", "class_profile"]


def class_consistency(z: Features, y: Labels) -> float:
    """Share of a dimension's active samples in its most frequent class, mean over alive dimensions (NCL, ICLR 2024).

    >>> import torch
    >>> z = torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> class_consistency(z, torch.tensor([0, 0, 1]))  # (2/2 + 1/2) / 2
    0.75
    """
    profile = class_profile(z, y)
    return float(profile.consistency[profile.samples > 0].mean())


def class_profile(z: Features, y: Labels) -> "ClassProfile":
    """The same dimension by dimension, with its class, the entropy of its classes and how many samples it has.

    >>> import torch
    >>> profile = class_profile(torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 1]))
    >>> profile.consistency, profile.samples
    (tensor([0.5000,    nan], dtype=torch.float64), tensor([2, 0]))
    """
    z = _arrays.features(z)
    y = _arrays.labels(y, z)
    classes = int(y.max()) + 1
    counts = z.new_zeros((z.shape[1], classes), dtype=torch.int64)
    for rows, active in active_pieces(z):
        one_hot = torch.nn.functional.one_hot(y[rows], classes).float()
        counts += (active.T.float() @ one_hot).long()  # exact: a piece has fewer than 2²⁴ rows
    samples = counts.sum(1)
    _checks.some_alive(int((samples > 0).sum()))
    shares = counts.cpu().double() / samples.cpu()[:, None]
    most, of_class = shares.max(1)
    return ClassProfile(
        consistency=most.to(z.device),
        of_class=torch.where(samples > 0, of_class.to(z.device), -1),
        entropy=torch.special.entr(shares).sum(1).to(z.device),
        samples=samples,
    )


@dataclass(frozen=True)
class ClassProfile:
    """What each of d dimensions stands for. A dead one has consistency and entropy NaN, class −1 and 0 samples."""

    consistency: Float[Tensor, " d"]
    of_class: Int[Tensor, " d"]
    entropy: Float[Tensor, " d"]  # nats, of the classes of the active samples
    samples: Int[Tensor, " d"]
