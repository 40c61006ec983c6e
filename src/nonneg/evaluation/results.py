"""Measured numbers with what one must know of them, and the file that keeps them: metrics.json."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from nonneg import _files, _seeds
from nonneg._errors import UserError

__all__ = ["Part", "Result", "mean_of", "read", "write"]

_DRAWS = 1000
_AT_ONCE = 2**24  # numbers drawn together


@dataclass(frozen=True)
class Result:
    """A number, of how many samples, within which 95% interval, by which seed, in how many seconds."""

    value: float
    n: int
    low: float | None = None
    high: float | None = None
    seed: int | None = None
    seconds: float | None = None

    def took(self, seconds: float) -> "Result":
        return replace(self, seconds=round(seconds, 3))


# The numbers of one protocol, by name.
Part = Mapping[str, Result]


def mean_of(samples: Float[Tensor, " n"], seed: int = 0) -> Result:
    """The mean over samples with its bootstrap interval: the middle 95% of the means of n samples drawn from them.

    >>> mean_of(torch.tensor([1.0, 1.0, 0.0, 1.0])).value
    0.75
    """
    samples = samples.detach().cpu().double()
    n = len(samples)
    generator = _seeds.generator(seed, "bootstrap")
    means = torch.cat(
        [
            samples[torch.randint(n, (count, n), generator=generator)].mean(1)
            for count in _counts(_DRAWS, max(1, _AT_ONCE // n))
        ]
    )
    low, high = means.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return Result(float(samples.mean()), n, low, high, seed)


def read(path: Path) -> dict[str, dict[str, Result]]:
    """What was measured before, by protocol."""
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {part: {name: _result(kept) for name, kept in numbers.items()} for part, numbers in found.items()}
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise UserError(
            f"Expected measurements in JSON in {path}, got something else; remove it to measure again."
        ) from error


def write(path: Path, parts: Mapping[str, Part]) -> None:
    """All of them; a number that is none (NaN) is null, as JSON has it."""
    plain = {part: {name: _plain(result) for name, result in numbers.items()} for part, numbers in parts.items()}
    _files.write_text(path, json.dumps(plain, indent=2) + "\n")


def _counts(total: int, most: int) -> list[int]:
    return [min(most, total - start) for start in range(0, total, most)]


def _plain(result: Result) -> dict[str, Any]:
    said = {key: value for key, value in asdict(result).items() if value is not None}
    return said if math.isfinite(result.value) else said | {"value": None}


def _result(kept: Mapping[str, Any]) -> Result:
    value = kept["value"] if kept["value"] is not None else math.nan
    return Result(**{**kept, "value": float(value)})
