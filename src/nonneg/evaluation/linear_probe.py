"""Linear probe: how much of the classes can a linear map read off frozen features?"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from nonneg import _checks, _seeds
from nonneg._arrays import features, labels
from nonneg.evaluation.features import Progress
from nonneg.evaluation.results import Result, mean_of
from nonneg.evaluation.subject import Subject

__all__ = ["LinearProbe", "fit_probe", "linear_probe", "measure"]

# Strengths that are tried: from hardly any to one that leaves the class means.
STRENGTHS = tuple(10.0**-k for k in range(6, 0, -1))
_HELD_OUT = 0.1
_ITERATIONS = 200
_MOST_TURNED = 2048  # columns


@dataclass(frozen=True)
class LinearProbe:
    """W(x − mean)/deviation + b, and the strength of the penalty it was fitted with."""

    weight: Float[Tensor, "c d"]
    bias: Float[Tensor, " c"]
    mean: Float[Tensor, " d"]
    deviation: Float[Tensor, " d"]
    strength: float

    def scores(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        return ((x - self.mean) / self.deviation) @ self.weight.T + self.bias

    def correct(self, x: Float[Tensor, "n d"], y: Int[Tensor, " n"], top: int = 1) -> Bool[Tensor, " n"]:
        """Whether a sample's class is among the `top` highest scores."""
        best = self.scores(x).topk(min(top, len(self.bias))).indices
        return (best == y[:, None]).any(1)

    def accuracy(self, x: Float[Tensor, "n d"], y: Int[Tensor, " n"], top: int = 1) -> float:
        """The share of correct ones."""
        return float(self.correct(x, y, top).double().mean())


def linear_probe(
    x_train: Float[Tensor, "n d"],
    y_train: Int[Tensor, " n"],
    x_test: Float[Tensor, "m d"],
    y_test: Int[Tensor, " m"],
    strengths: Sequence[float] = STRENGTHS,
    seed: int = 0,
) -> float:
    """Test accuracy of multinomial logistic regression with the strength that did best on a held-out tenth.

    >>> x, y = torch.eye(3).repeat(20, 1), torch.arange(3).repeat(20)
    >>> linear_probe(x, y, x, y)
    1.0
    """
    x_train, x_test = features(x_train, "training features"), features(x_test, "test features")
    y_train, y_test = labels(y_train, x_train, "training labels"), labels(y_test, x_test, "test labels")
    _checks.width(x_test, x_train.shape[1])
    return fit_probe(x_train, y_train, strengths, seed).accuracy(x_test, y_test)


def measure(subject: Subject, progress: Progress) -> dict[str, Result]:
    """Accuracy of h and z: top-1 and, of more than five classes, top-5."""
    y, y_test = subject.labels()
    found = {}
    for done, name in enumerate(("h", "z")):
        x, x_test = getattr(subject.train, name), getattr(subject.test, name)
        probe = fit_probe(x, y, seed=subject.seed)
        found[name] = mean_of(probe.correct(x_test, y_test), subject.seed)
        if len(probe.bias) > 5:
            found[f"{name}/top5"] = mean_of(probe.correct(x_test, y_test, 5), subject.seed)
        progress(done + 1, 2)
    return found


def fit_probe(
    x: Float[Tensor, "n d"], y: Int[Tensor, " n"], strengths: Sequence[float] = STRENGTHS, seed: int = 0
) -> LinearProbe:
    """Mean cross entropy + strength/2·‖W‖² on standardised columns, to its minimum by L-BFGS.

    The strengths are gone through from the strongest, each from the solution of the one before it, and not to the last
    digit: what is chosen by them is one of few. The fit by the one that is chosen is.
    """
    order = torch.randperm(len(x), generator=_seeds.generator(seed, "held out"))
    held, rest = order.tensor_split([max(1, round(_HELD_OUT * len(x)))])
    held, rest = held.to(x.device), rest.to(x.device)
    classes = int(y.max()) + 1
    best, solutions = (-1.0, strengths[0]), None
    if len(strengths) > 1 and len(rest):
        part = _Standard.of(x[rest])
        for strength in sorted(strengths, reverse=True):
            probe = solutions = _solve(part, y[rest], classes, strength, solutions, tolerance=1e-4)
            best = max(best, (probe.accuracy(x[held], y[held]), strength))
    return _solve(_Standard.of(x), y, classes, best[1], solutions, tolerance=1e-5)


@dataclass(frozen=True)
class _Standard:
    """Columns of mean 0 and deviation 1, and their second moments."""

    x: Float[Tensor, "n d"]
    mean: Float[Tensor, " d"]
    deviation: Float[Tensor, " d"]
    moments: Float[Tensor, "d d"] | None

    @classmethod
    def of(cls, x: Float[Tensor, "n d"]) -> "_Standard":
        mean, deviation = x.mean(0), x.std(0, correction=0)
        rounding = 8 * torch.finfo(x.dtype).eps * x.abs().amax(0)
        deviation = torch.where(deviation > rounding, deviation, 1.0)  # a constant column has no part in it
        standard = (x - mean) / deviation
        return cls(standard, mean, deviation, standard.T @ standard / len(x) if x.shape[1] <= _MOST_TURNED else None)


def _solve(
    data: _Standard,
    y: Int[Tensor, " n"],
    classes: int,
    strength: float,
    start: LinearProbe | None,
    tolerance: float,
) -> LinearProbe:
    """In coordinates V = WL in which the loss is rounder: L-BFGS takes fewer steps there."""
    x, (factor, inverse) = data.x, _factor(data, strength)
    before = x.new_zeros(classes, x.shape[1]) if start is None else start.weight.clone()
    turned = (before if factor is None else before @ factor).requires_grad_()
    bias = (x.new_zeros(classes) if start is None else start.bias.clone()).requires_grad_()
    optimiser = torch.optim.LBFGS(
        [turned, bias],
        max_iter=_ITERATIONS,
        history_size=20,
        tolerance_grad=tolerance,
        tolerance_change=tolerance / 100,
        line_search_fn="strong_wolfe",
    )

    def weight() -> Tensor:
        return turned if inverse is None else turned @ inverse

    def loss() -> Tensor:
        optimiser.zero_grad()
        w = weight()
        value = F.cross_entropy(F.linear(x, w, bias), y) + strength / 2 * w.square().sum()
        torch.autograd.backward(value)
        return value

    optimiser.step(loss)  # type: ignore[no-untyped-call]  # torch gives it no types
    return LinearProbe(weight().detach(), bias.detach(), data.mean, data.deviation, strength)


def _factor(data: _Standard, strength: float) -> tuple[Float[Tensor, "d d"], Float[Tensor, "d d"]] | tuple[None, None]:
    """L and L⁻¹ of LLᵀ = XᵀX/2n + strength·I, which bounds the loss's curvature (Böhning, 1992).

    None where there are so many columns that they would cost more than they save.
    """
    if data.moments is None:
        return None, None
    identity = torch.eye(len(data.moments), dtype=data.x.dtype, device=data.x.device)
    # And a little more: what rounding may have made of a curvature of zero.
    factor = torch.linalg.cholesky(data.moments / 2 + (strength + 1e-5) * identity)
    return factor, torch.linalg.solve_triangular(factor, identity, upper=False)
