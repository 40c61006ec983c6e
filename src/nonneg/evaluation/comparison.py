"""Runs side by side: a column a run, or all runs that differ only by seed; a row a measurement."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nonneg._errors import UserError
from nonneg.evaluation import results
from nonneg.evaluation.results import Result
from nonneg.evaluation.wording import better
from nonneg.training.recipe import Recipe
from nonneg.training.recipes import first_difference, read_file
from nonneg.training.run_folder import RunFolder

__all__ = ["Cell", "Column", "Comparison", "Row", "compare"]


@dataclass(frozen=True)
class Column:
    """Runs of one recipe, by seed."""

    title: str
    folders: tuple[Path, ...]
    recipe: Recipe


@dataclass(frozen=True)
class Cell:
    """One run's number with its interval, or the mean of several with their standard deviation."""

    value: float
    low: float | None
    high: float | None
    deviation: float | None  # of the runs; None of one run
    n: int
    best: bool  # no other column's interval reaches into it


@dataclass(frozen=True)
class Row:
    """A measurement: `part` and `name` are its place in metrics.json."""

    part: str
    name: str
    cells: tuple[Cell | None, ...]  # a column each; None where it was not measured
    difference: tuple[float, float | None, float | None] | None  # last column less first, and its interval


@dataclass(frozen=True)
class Comparison:
    """What was measured of any of the columns, in the order of measuring."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


def compare(folders: Sequence[str | Path]) -> Comparison:
    """Runs by what stands in their metrics.json; those that differ only by seed are one column."""
    columns = _columns([Path(folder) for folder in folders])
    measured = [[_measured(folder) for folder in column.folders] for column in columns]
    keys = dict.fromkeys(key for column in measured for found in column for key in found)
    if not keys:
        raise UserError(
            f"Expected runs that were measured, got none in {columns[0].folders[0]}; run 'nonneg eval' on each first."
        )
    rows = []
    for part, name in _in_groups(keys):
        cells = tuple(_cell([found[part, name] for found in column if (part, name) in found]) for column in measured)
        cells = _mark_best(cells, better(part, name))
        rows.append(Row(part, name, cells, _difference(cells[0], cells[-1]) if len(cells) > 1 else None))
    return Comparison(columns, tuple(rows))


def _columns(folders: Sequence[Path]) -> tuple[Column, ...]:
    groups: list[tuple[Recipe, list[Path]]] = []
    for folder in dict.fromkeys(folders):
        if not RunFolder(folder).is_done():
            raise UserError(f"Expected a finished run in {folder}, got none; train it, or go on with it by --resume.")
        recipe = read_file(RunFolder(folder).recipe)
        alike = next((group for known, group in groups if _differ_by_seed_only(known, recipe)), None)
        if alike is None:
            groups.append((recipe, [folder]))
        else:
            alike.append(folder)
    names = [recipe.name for recipe, _ in groups]
    return tuple(
        Column(recipe.name if names.count(recipe.name) == 1 else str(group[0]), tuple(group), recipe)
        for recipe, group in groups
    )


def _differ_by_seed_only(first: Recipe, second: Recipe) -> bool:
    return first_difference(first.model_copy(update={"seed": 0}), second.model_copy(update={"seed": 0})) is None


def _measured(folder: Path) -> dict[tuple[str, str], Result]:
    found = results.read(RunFolder(folder).metrics)
    return {(part, name): result for part, numbers in found.items() for name, result in numbers.items()}


def _in_groups(keys: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """A part's rows together, parts in the order in which they first come."""
    parts: dict[str, list[tuple[str, str]]] = {}
    for part, name in keys:
        parts.setdefault(part, []).append((part, name))
    return [key for group in parts.values() for key in group]


def _cell(found: Sequence[Result]) -> Cell | None:
    """One run's result as it is; of several, the mean, its 95% interval by Student's t, and their deviation."""
    if not found:
        return None
    first = found[0]
    if len(found) == 1:
        return Cell(first.value, first.low, first.high, None, first.n, False)
    from scipy.stats import t

    values = [result.value for result in found]
    if any(map(math.isnan, values)):
        return Cell(math.nan, None, None, None, first.n, False)
    mean, deviation = statistics.fmean(values), statistics.stdev(values)
    half = float(t.ppf(0.975, len(values) - 1)) * deviation / math.sqrt(len(values))
    return Cell(mean, mean - half, mean + half, deviation, first.n, False)


def _mark_best(cells: tuple[Cell | None, ...], direction: int) -> tuple[Cell | None, ...]:
    """The cell whose interval lies beyond all others', if there is one."""
    there = [(i, cell) for i, cell in enumerate(cells) if cell is not None and not math.isnan(cell.value)]
    if direction == 0 or len(there) < 2:
        return cells
    at, top = max(there, key=lambda pair: direction * pair[1].value)
    clear = all(_beyond(top, cell, direction) for i, cell in there if i != at)
    return tuple(replace(cell, best=True) if clear and i == at and cell else cell for i, cell in enumerate(cells))


def _beyond(first: Cell, second: Cell, direction: int) -> bool:
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return False  # without an interval nothing can be said
    return first.low > second.high if direction > 0 else first.high < second.low


def _difference(first: Cell | None, last: Cell | None) -> tuple[float, float | None, float | None] | None:
    """last − first with an interval from both's: the square root of the sum of their squared sides (MOVER).

    Zou & Donner, Statistics in Medicine 2008. It takes the two as independent; on the same test samples it is wider
    than it need be.
    """
    if first is None or last is None:
        return None
    value = last.value - first.value
    if first.low is None or first.high is None or last.low is None or last.high is None:
        return value, None, None
    below = math.hypot(last.value - last.low, first.high - first.value)
    above = math.hypot(last.high - last.value, first.value - first.low)
    return value, value - below, value + above
