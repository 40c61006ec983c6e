"""Few labels: how much of the classes can a linear map read off when only a few training samples have labels?"""

import torch
from jaxtyping import Float, Float64, Int, Int64
from torch import Tensor

from nonneg import _seeds
from nonneg._errors import UserError
from nonneg.evaluation.features import Progress
from nonneg.evaluation.linear_probe import fit_probe
from nonneg.evaluation.results import Result, mean_of
from nonneg.evaluation.subject import Subject

__all__ = ["few_shot", "labelled", "measure"]

SHARES = (0.01, 0.05, 0.1)
DRAWS = 5


def few_shot(
    x_train: Float[Tensor, "n d"],
    y_train: Int[Tensor, " n"],
    x_test: Float[Tensor, "m d"],
    y_test: Int[Tensor, " m"],
    share: float,
    draws: int = DRAWS,
    seed: int = 0,
) -> Float64[Tensor, " m"]:
    """For each test sample, the share of draws in which a probe on `share` of the training labels is correct.

    >>> x, y = torch.eye(3).repeat(20, 1), torch.arange(3).repeat(20)
    >>> float(few_shot(x, y, x, y, share=0.1).mean())
    1.0
    """
    correct = []
    for draw in range(draws):
        chosen = labelled(y_train, share, draw, seed)
        correct.append(fit_probe(x_train[chosen], y_train[chosen], seed=seed).correct(x_test, y_test).double())
    return torch.stack(correct).mean(0)


def measure(subject: Subject, progress: Progress) -> dict[str, Result]:
    """Accuracy of h and z by 1, 5 and 10% of the training labels, the mean of 5 draws: the same ones for every run."""
    y, y_test = subject.labels()
    found: dict[str, Result] = {}
    for name in ("h", "z"):
        x, x_test = getattr(subject.train, name), getattr(subject.test, name)
        for share in SHARES:
            correct = few_shot(x, y, x_test, y_test, share, seed=subject.seed)
            found[f"{name}/{share:.0%}"] = mean_of(correct, subject.seed)
            progress(len(found), 2 * len(SHARES))
    return found


def labelled(y: Int[Tensor, " n"], share: float, draw: int = 0, seed: int = 0) -> Int64[Tensor, " k"]:
    """Which samples keep their labels: `share` of each class, at least one. A larger share holds a smaller one's.

    >>> y = torch.tensor([0, 0, 0, 0, 1, 1, 2])
    >>> y[labelled(y, share=0.5)]
    tensor([0, 0, 1, 2])
    """
    if not 0 < share <= 1:
        raise UserError(f"Expected a share of labels above 0 and at most 1, got {share}; 1% is 0.01.")
    order = torch.randperm(len(y), generator=_seeds.generator(seed, "few labels", draw)).to(y.device)
    by_class = torch.split(order[y[order].argsort(stable=True)], y.bincount().tolist())
    return torch.cat([members[: max(1, round(share * len(members)))] for members in by_class]).sort().values
