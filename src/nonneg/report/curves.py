"""Curves: of training, epoch by epoch, and of measurements over how many dimensions they are of."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from nonneg.evaluation.comparison import Comparison
from nonneg.report.plots import Series, line_chart, per_cent, plain
from nonneg.report.shown import Shown

__all__ = ["Curve", "read_log", "selection_curves", "sepin_curve", "training_curves"]

_TRAINING = {"loss": plain, "sparsity": per_cent, "alive": plain, "consistency": per_cent}
_TITLES = {"alive": "alive dimensions", "consistency": "class consistency"}
_WORTH = {
    "probe": "linear probe",
    "precision": "retrieval precision@10",
    "map": "retrieval mAP@10",
    "transfer": "transfer",
}


@dataclass(frozen=True)
class Curve:
    """A plot, and its last values as text: (run, number, value)."""

    title: str
    plot: Markup
    ends: list[tuple[str, int, str]]


def training_curves(runs: Sequence[Shown]) -> list[Curve]:
    """Loss, sparsity, alive dimensions and consistency, as far as the logs have them."""
    logs = [read_log(run.folder.log) for run in runs]
    found = []
    for name, form in _TRAINING.items():
        series = [
            Series(run.title, run.number, list(zip(log["epoch"], log[name], strict=True)))
            for run, log in zip(runs, logs, strict=True)
            if {"epoch", name} <= log.keys() and any(map(math.isfinite, log[name]))
        ]
        if series:
            title = _TITLES.get(name, name)
            ends = [(s.title, s.number, form(_last(s))) for s in series]
            found.append(Curve(title, line_chart(title, series, "epoch", form), ends))
    return found


def sepin_curve(comparison: Comparison, runs: Sequence[Shown]) -> list[Curve]:
    """SEPIN@k ×100 over k, the last point being all dimensions; none without two points."""
    series = []
    for run in runs:
        points = {}
        for row in comparison.rows:
            cell = row.cells[run.number]
            if row.part == "sepin" and cell is not None and (row.name.isdigit() or row.name == "all"):
                k = run.test.z.shape[1] if row.name == "all" else int(row.name)
                points[float(k)] = 100 * cell.value
        if len(points) > 1:
            series.append(Series(run.title, run.number, sorted(points.items())))
    if not series:
        return []
    ends = [(s.title, s.number, f"{_last(s):.2f}") for s in series]
    title = "SEPIN@k ×100"
    return [Curve(title, line_chart(title, series, "k most informative dimensions", log_x=True), ends)]


def selection_curves(comparison: Comparison, runs: Sequence[Shown]) -> list[Curve]:
    """What the m dimensions ranked first are worth (`ea_relu/64/probe`), a plot a measurement; all of them at the end.

    By expected activation as a line (without ReLU where there is none with), by chance as a dashed one.
    """
    found = []
    for measure, title in _WORTH.items():
        series = []
        for run in runs:
            by_way = _over_m(comparison, run.number, measure)
            expected = "ea_relu" if "ea_relu" in by_way else "ea_signed"
            for way, whole in ((expected, "all_signed" if expected == "ea_signed" else "all"), ("random", "all")):
                if way in by_way:
                    points = sorted((by_way.get(whole, by_way.get("all", {})) | by_way[way]).items())
                    series.append(Series(run.title, run.number, points, dashed=way == "random"))
        if series:
            ends = [(s.title, s.number, per_cent(_last(s))) for s in series if not s.dashed]
            found.append(Curve(title, line_chart(title, series, "dimensions kept", per_cent, log_x=True), ends))
    return found


def _over_m(comparison: Comparison, column: int, measure: str) -> dict[str, dict[float, float]]:
    """Way of choosing → m → value."""
    found: dict[str, dict[float, float]] = {}
    for row in comparison.rows:
        way, m, what = [*row.name.split("/"), "", ""][:3]
        cell = row.cells[column]
        if row.part == "dimension_selection" and what == measure and m.isdigit() and cell is not None:
            found.setdefault(way, {})[float(m)] = cell.value
    return found


def read_log(path: Path) -> dict[str, list[float]]:
    """The columns of log.csv; what is not there is NaN."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        columns: dict[str, list[float]] = {name: [] for name in reader.fieldnames or ()}
        for row in reader:
            for name in columns:
                columns[name].append(_number(row[name]))
    return columns


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return math.nan


def _last(series: Series) -> float:
    return next((y for _, y in reversed(series.points) if math.isfinite(y)), math.nan)
