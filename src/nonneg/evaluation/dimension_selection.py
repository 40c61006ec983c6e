"""Dimension selection: which columns of z to keep, and what a few of them are still worth (NCL, ICLR 2024, table 3)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nonneg import _arrays, _checks, _seeds, metrics
from nonneg._errors import UserError
from nonneg._rows import unit_rows
from nonneg.evaluation.features import Features, Progress
from nonneg.evaluation.linear_probe import fit_probe
from nonneg.evaluation.results import Result, mean_of
from nonneg.evaluation.subject import Subject
from nonneg.selection import select

__all__ = ["Columns", "counts", "measure", "rankings", "sweep", "worth"]

_FEWEST = 4
_DRAWS = 10
_NEIGHBOURS = 10


@dataclass(frozen=True)
class Columns:
    """What columns are chosen of: labelled features of a training and a test part."""

    x: Float[Tensor, "n d"]
    y: Int[Tensor, " n"]
    x_test: Float[Tensor, "m d"]
    y_test: Int[Tensor, " m"]

    def __post_init__(self) -> None:
        x, x_test = _arrays.features(self.x, "training features"), _arrays.features(self.x_test, "test features")
        _arrays.labels(self.y, x, "training labels")
        _arrays.labels(self.y_test, x_test, "test labels")
        _checks.width(x_test, x.shape[1])


def rankings(
    train_z: Float[Tensor, "n d"], train_p: Float[Tensor, "n d"], seed: int = 0
) -> dict[str, list[Int[Tensor, " d"]]]:
    """All dimensions, most worth keeping first: by EA of z, EA of p(h), Var[z_k] (rows of length 1), and ten by chance.

    There is no `ea_relu` of a z with negative values, and no `ea_signed` of a p without.

    >>> z = torch.tensor([[0.0, 2.0, 1.0], [3.0, 4.0, 1.0]])
    >>> {way: orders[0].tolist() for way, orders in rankings(z, z - 1.5).items() if way != "random"}
    {'ea_relu': [1, 2, 0], 'ea_signed': [1, 0, 2], 'variance': [0, 2, 1]}
    """
    _checks.same_shape(train_z, train_p, ("train_z", "train_p"))
    d = train_z.shape[1]
    found = {}
    if not (train_z < 0).any():
        found["ea_relu"] = [select(train_z, d)]
    if (train_p < 0).any():
        found["ea_signed"] = [select(train_p, d, allow_negative=True)]
    variance = unit_rows(train_z).var(0, correction=0)
    found["variance"] = [variance.argsort(descending=True, stable=True)]
    draws = (_seeds.generator(seed, "dimensions by chance", draw) for draw in range(_DRAWS))
    found["random"] = [torch.randperm(d, generator=draw) for draw in draws]
    return found


def counts(d: int) -> list[int]:
    """How many of d dimensions are kept: powers of two from 4 to d/2.

    >>> counts(100)
    [4, 8, 16, 32]
    """
    return [2**k for k in range(d.bit_length()) if _FEWEST <= 2**k <= d // 2]


def worth(columns: Columns, choices: Sequence[Int[Tensor, " m"]], strength: float, seed: int = 0) -> dict[str, Result]:
    """Probe accuracy, precision@10, mAP@10 of the chosen columns alone; of several choices, a sample's mean over them.

    >>> z, y = torch.eye(3).repeat(20, 1), torch.arange(3).repeat(20)
    >>> found = worth(Columns(z, y, z, y), [torch.tensor([2, 0, 1])], strength=1e-3)
    >>> {name: result.value for name, result in found.items()}
    {'probe': 1.0, 'precision': 1.0, 'map': 1.0}
    """
    return {"probe": _probe(columns, choices, strength, seed)} | _retrieval(columns, choices, seed)


def sweep(
    z: Columns,
    p: Columns,
    seed: int = 0,
    progress: Progress = lambda done, of: None,
    transfer: tuple[Columns, Columns] | None = None,
) -> dict[str, Result]:
    """The worth of the first m columns by each way: "ea_relu/64/probe", "random/8/map" …; of all: "all/256/probe" ….

    Ways choose among z's columns; those of a name with "signed", among p's. The probe's strength is chosen once, on
    all of z (all of p), and is the same for every choice. With z and p of another data set as `transfer`,
    "ea_relu/64/transfer" is the probe there, on the columns that were ranked here.
    """
    d = z.x.shape[1]
    ranked = rankings(z.x, p.x, seed)
    steps = [(way, m, [order[:m] for order in orders]) for way, orders in ranked.items() for m in counts(d)]
    steps += [("all", d, [torch.arange(d)])]
    if "ea_signed" in ranked and not torch.allclose(p.x, z.x, atol=1e-5):
        steps += [("all_signed", d, [torch.arange(d)])]
    here = _with_strengths(z, p, ranked, seed)
    there = {} if transfer is None else _with_strengths(*transfer, ranked, seed)
    found: dict[str, Result] = {}
    for done, (way, m, choices) in enumerate(steps, 1):
        signed = way.endswith("signed")
        columns, strength = here[signed]
        numbers = worth(columns, choices, strength, seed)
        if there:
            columns, strength = there[signed]
            numbers["transfer"] = _probe(columns, choices, strength, seed)
        found |= {f"{way}/{m}/{name}": number for name, number in numbers.items()}
        progress(done, len(steps))
    return found


def measure(
    subject: Subject, progress: Progress, transfer: tuple[Features, Features] | None = None
) -> dict[str, Result]:
    """`sweep` of the subject's z and p(h); `transfer` has another data set's features, by the same model."""
    pairs = [_columns(subject, subject.train, subject.test)]
    if transfer is not None:
        pairs.append(_columns(subject, *transfer))
    return sweep(*pairs[0], subject.seed, progress, *pairs[1:])


def _columns(subject: Subject, train: Features, test: Features) -> tuple[Columns, Columns]:
    if train.labels is None or test.labels is None:
        raise UserError(f"Expected labelled data to select dimensions for, got {subject.name} without labels.")
    return (
        Columns(train.z, train.labels, test.z, test.labels),
        Columns(subject.signed(train), train.labels, subject.signed(test), test.labels),
    )


def _with_strengths(z: Columns, p: Columns, ways: Iterable[str], seed: int) -> dict[bool, tuple[Columns, float]]:
    """By whether they are p's: columns, and the strength that does best on all of them."""
    sides = {False: z, True: p} if "ea_signed" in ways else {False: z}
    return {signed: (side, fit_probe(side.x, side.y, seed=seed).strength) for signed, side in sides.items()}


def _probe(columns: Columns, choices: Sequence[Int[Tensor, " m"]], strength: float, seed: int) -> Result:
    correct = [
        fit_probe(columns.x[:, chosen], columns.y, (strength,), seed).correct(columns.x_test[:, chosen], columns.y_test)
        for chosen in choices
    ]
    return mean_of(torch.stack(correct).double().mean(0), seed)


def _retrieval(columns: Columns, choices: Sequence[Int[Tensor, " m"]], seed: int) -> dict[str, Result]:
    n = len(columns.x_test)
    if n < 2:
        return {}
    # Rows without a chosen column that is on are all alike: which of them are nearest must not follow their classes.
    order = torch.randperm(n, generator=_seeds.generator(seed, "ties"))
    x, y = columns.x_test[order], columns.y_test[order]
    each = [metrics.retrieval_each(x[:, chosen], y, min(_NEIGHBOURS, n - 1)) for chosen in choices]
    return {name: mean_of(torch.stack([one[name] for one in each]).mean(0), seed) for name in each[0]}
