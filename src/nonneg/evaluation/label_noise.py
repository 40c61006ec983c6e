"""Label noise: how much of the classes can a linear map read off when many of the training labels are wrong?"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nonneg import _seeds
from nonneg._errors import UserError
from nonneg.evaluation.features import Progress
from nonneg.evaluation.linear_probe import fit_probe
from nonneg.evaluation.results import Result, mean_of
from nonneg.evaluation.subject import Subject

__all__ = ["label_noise", "measure", "noisy_labels"]

SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)


def label_noise(
    x_train: Float[Tensor, "n d"],
    y_train: Int[Tensor, " n"],
    x_test: Float[Tensor, "m d"],
    y_test: Int[Tensor, " m"],
    share: float,
    seed: int = 0,
) -> Bool[Tensor, " m"]:
    """Whether each test sample's class is found by a probe on training labels of which `share` are wrong.

    >>> x, y = torch.eye(3).repeat(20, 1), torch.arange(3).repeat(20)
    >>> float(label_noise(x, y, x, y, share=0.3).double().mean())
    1.0
    """
    # The probe's strength is chosen on noisy labels too: nobody who has noisy ones has clean ones to choose it by.
    return fit_probe(x_train, noisy_labels(y_train, share, seed), seed=seed).correct(x_test, y_test)


def measure(subject: Subject, progress: Progress) -> dict[str, Result]:
    """Accuracy of h and z on clean test labels with 10 to 90% wrong training labels: the same ones for every run."""
    y, y_test = subject.labels()
    found: dict[str, Result] = {}
    for name in ("h", "z"):
        x, x_test = getattr(subject.train, name), getattr(subject.test, name)
        for share in SHARES:
            correct = label_noise(x, y, x_test, y_test, share, subject.seed)
            found[f"{name}/{share:.0%}"] = mean_of(correct, subject.seed)
            progress(len(found), 2 * len(SHARES))
    return found


def noisy_labels(y: Int[Tensor, " n"], share: float, seed: int = 0) -> Int[Tensor, " n"]:
    """Symmetric noise: round(share·n) labels become another class, each of the others as likely.

    What a smaller share makes wrong is as wrong in a larger one.

    >>> y = torch.arange(10) % 2
    >>> int((noisy_labels(y, share=0.3) != y).sum())
    3
    """
    if not 0 <= share <= 1:
        raise UserError(f"Expected a share of wrong labels between 0 and 1, got {share}; 10% is 0.1.")
    classes, place = torch.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise UserError("Expected labels of at least two classes, got one; a wrong label needs another class.")
    generator = _seeds.generator(seed, "label noise")
    wrong = torch.randperm(len(y), generator=generator)[: round(share * len(y))].to(y.device)
    steps = torch.randint(1, len(classes), (len(y),), generator=generator).to(y.device)
    noisy = y.clone()
    noisy[wrong] = classes[(place[wrong] + steps[wrong]) % len(classes)]
    return noisy
