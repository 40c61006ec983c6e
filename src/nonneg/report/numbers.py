"""What was measured, as a page writes it: the headline figures and the table, every number as text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from nonneg.evaluation.comparison import Cell, Comparison, Row
from nonneg.evaluation.tables import cell_text, difference_text
from nonneg.evaluation.wording import label, shown

__all__ = ["Figure", "Line", "Number", "Table", "figures", "tables"]

_HEADLINE = (
    ("linear_probe", "h"),
    ("properties", "consistency"),
    ("properties", "sparsity"),
    ("properties", "alive"),
    ("properties", "correlation"),
)
_LONG = 16  # a part of more numbers than this has a table of its own, folded


@dataclass(frozen=True)
class Number:
    """As people read it, with what stands behind it, and as it is."""

    text: str
    around: str
    value: float | None
    best: bool


@dataclass(frozen=True)
class Figure:
    label: str
    numbers: list[Number | None]  # a run each


@dataclass(frozen=True)
class Line:
    label: str
    numbers: list[Number | None]
    difference: str
    n: int
    first: bool  # of its part


@dataclass(frozen=True)
class Table:
    part: str | None  # None of the one that isn't folded
    lines: list[Line]


def figures(comparison: Comparison) -> list[Figure]:
    """Probe, consistency, sparsity, alive dimensions and correlation, those that were measured."""
    rows = {(row.part, row.name): row for row in comparison.rows}
    found = [rows[key] for key in _HEADLINE if key in rows]
    return [Figure(label(row.part, row.name), [_number(row, cell) for cell in row.cells]) for row in found]


def tables(comparison: Comparison) -> list[Table]:
    """All rows: parts of a few together, long ones apart."""
    parts = [(part, list(rows)) for part, rows in groupby(comparison.rows, key=lambda row: row.part)]
    short = [line for _, rows in parts if len(rows) <= _LONG for line in _lines(rows)]
    long = [Table(part.replace("_", " "), _lines(rows)) for part, rows in parts if len(rows) > _LONG]
    return [*([Table(None, short)] if short else []), *long]


def _lines(rows: Sequence[Row]) -> list[Line]:
    return [
        Line(
            label(row.part, row.name),
            [_number(row, cell) for cell in row.cells],
            difference_text(row),
            max((cell.n for cell in row.cells if cell is not None), default=0),
            position == 0,
        )
        for position, row in enumerate(rows)
    ]


def _number(row: Row, cell: Cell | None) -> Number | None:
    if cell is None:
        return None
    text = shown(row.part, row.name, cell.value)
    around = cell_text(row, cell).removeprefix(text).strip()
    return Number(text, around, None if math.isnan(cell.value) else cell.value, cell.best)
