"""A comparison as text: Markdown, CSV, JSON, LaTeX."""

import csv
import io
import json
import math
from collections.abc import Callable
from dataclasses import asdict

from nonneg import _checks
from nonneg.evaluation.comparison import Cell, Comparison, Row
from nonneg.evaluation.wording import label, shown

__all__ = ["FORMATS", "cell_text", "difference_text", "write_table"]


def write_table(comparison: Comparison, form: str) -> str:
    """In one of `FORMATS`. The first two have every digit; the others are as people read them, the best in bold."""
    _checks.choice(form, tuple(FORMATS), "format")
    return FORMATS[form](comparison)


def cell_text(row: Row, cell: Cell | None) -> str:
    """`57.9% (53.1–62.4)` of one run, `57.9% ± 1.2` of several."""
    if cell is None:
        return "–"
    text = shown(row.part, row.name, cell.value)
    if cell.deviation is not None:
        return f"{text} ± {_bare(row, cell.deviation)}"
    if cell.low is None or cell.high is None:
        return text
    return f"{text} ({_bare(row, cell.low)}–{_bare(row, cell.high)})"


def difference_text(row: Row) -> str:
    """Last column less first, in points where they are shares."""
    if row.difference is None:
        return "–"
    value, low, high = row.difference
    text = _signed(row, value)
    return text if low is None or high is None else f"{text} ({_signed(row, low)} to {_signed(row, high)})"


def _bare(row: Row, value: float) -> str:
    return shown(row.part, row.name, value).removesuffix("%")


def _signed(row: Row, value: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{'−' if value < 0 else '+'}{_bare(row, abs(value))}"


def _markdown(comparison: Comparison) -> str:
    several = len(comparison.columns) > 1
    header = ["", *(_escaped(_title(c.title, len(c.folders))) for c in comparison.columns)]
    lines = [[*header, *(["difference"] if several else [])]]
    lines.append(["---", *["---:"] * (len(lines[0]) - 1)])
    for row in comparison.rows:
        cells = [f"**{cell_text(row, c)}**" if c and c.best else cell_text(row, c) for c in row.cells]
        lines.append([label(row.part, row.name), *cells, *([difference_text(row)] if several else [])])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _latex(comparison: Comparison) -> str:
    def plain(text: str) -> str:
        for letter in "&%#_":
            text = text.replace(letter, f"\\{letter}")
        return text.replace("±", "$\\pm$").replace("×", "$\\times$").replace("–", "--").replace("−", "$-$")

    titles = " & ".join(plain(_title(c.title, len(c.folders))) for c in comparison.columns)
    lines = [f"\\begin{{tabular}}{{l{'r' * len(comparison.columns)}}}", "\\toprule", f" & {titles} \\\\", "\\midrule"]
    for row in comparison.rows:
        texts = [(plain(cell_text(row, cell)), cell is not None and cell.best) for cell in row.cells]
        cells = " & ".join(f"\\textbf{{{text}}}" if best else text for text, best in texts)
        lines.append(f"{plain(label(row.part, row.name))} & {cells} \\\\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def _csv(comparison: Comparison) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["part", "name", "column", "runs", "value", "low", "high", "deviation", "n", "best"])
    for row in comparison.rows:
        for column, cell in zip(comparison.columns, row.cells, strict=True):
            if cell is not None:
                values = [cell.value, cell.low, cell.high, cell.deviation, cell.n, cell.best]
                rows.writerow([row.part, row.name, column.title, len(column.folders), *values])
    return text.getvalue()


def _json(comparison: Comparison) -> str:
    plain = {
        "columns": [{"title": c.title, "folders": [str(f) for f in c.folders]} for c in comparison.columns],
        "rows": [
            {
                "part": row.part,
                "name": row.name,
                "cells": [None if cell is None else _finite(asdict(cell)) for cell in row.cells],
                "difference": row.difference and [None if v is None or math.isnan(v) else v for v in row.difference],
            }
            for row in comparison.rows
        ],
    }
    return json.dumps(plain, indent=2) + "\n"


def _finite(values: dict[str, object]) -> dict[str, object]:
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in values.items()}


def _title(title: str, runs: int) -> str:
    return title if runs == 1 else f"{title} ({runs} seeds)"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


FORMATS: dict[str, Callable[[Comparison], str]] = {"csv": _csv, "json": _json, "md": _markdown, "latex": _latex}
