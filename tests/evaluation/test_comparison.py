"""Runs side by side: what is one column, what is best, and what a difference's interval is."""

import math
import re

import pytest

from nonneg._errors import UserError
from nonneg.evaluation import compare, results
from nonneg.evaluation.results import Result
from nonneg.training import RunFolder, recipes
from tests.finished_runs import array_file, finished_run


@pytest.fixture
def run(tmp_path):
    """Makes a finished run with these numbers: (part, name) to a value, or value, low, high."""
    data = array_file(tmp_path / "data.npz")

    def make(folder, numbers, seed=0, **how):
        finished_run(tmp_path / folder, data, **how)
        made = RunFolder(tmp_path / folder)
        recipes.write(recipes.read_file(made.recipe).model_copy(update={"seed": seed}), made.recipe)
        parts = {}
        for (part, name), value in numbers.items():
            value, low, high = value if isinstance(value, tuple) else (value, None, None)
            parts.setdefault(part, {})[name] = Result(value, 24, low, high)
        if parts:
            results.write(made.metrics, parts)
        return made.path

    return make


PROBE = ("linear_probe", "h")


def test_runs_that_differ_only_by_seed_are_one_column_with_mean_and_deviation(run):
    ncl = [run(f"ncl{seed}", {PROBE: value}, seed) for seed, value in enumerate((0.6, 0.7, 0.8))]
    cl = run("cl", {PROBE: (0.5, 0.45, 0.55)}, activation="identity")
    comparison = compare([*ncl, cl])
    assert [column.folders for column in comparison.columns] == [tuple(ncl), (cl,)]
    (row,) = comparison.rows
    several, one = row.cells
    assert several.value == pytest.approx(0.7)
    assert several.deviation == pytest.approx(0.1)  # of a sample: n - 1
    half = 4.302652729911275 * 0.1 / math.sqrt(3)  # Student's t of 2 degrees of freedom at 97.5%
    assert (several.low, several.high) == (pytest.approx(0.7 - half), pytest.approx(0.7 + half))
    assert (one.value, one.low, one.high, one.deviation) == (0.5, 0.45, 0.55, None)


def test_a_number_that_one_seed_lacks_is_none(run):
    folders = [run(f"ncl{seed}", {("sepin", "1"): value}, seed) for seed, value in enumerate((0.1, float("nan")))]
    (cell,) = compare(folders).rows[0].cells
    assert math.isnan(cell.value)
    assert cell.deviation is None


def test_columns_of_the_same_name_are_told_apart_by_their_folders(run):
    first, second = run("a", {PROBE: 0.5}), run("b", {PROBE: 0.5}, dimensions=5)
    assert [column.title for column in compare([first, second]).columns] == [str(first), str(second)]


def test_the_same_folder_twice_is_once(run):
    folder = run("a", {PROBE: 0.5})
    assert compare([folder, folder]).columns[0].folders == (folder,)


@pytest.mark.parametrize(
    ("key", "first", "second", "best"),
    [
        (PROBE, (0.5, 0.45, 0.55), (0.7, 0.65, 0.75), (False, True)),
        (PROBE, (0.5, 0.45, 0.66), (0.7, 0.65, 0.75), (False, False)),  # they overlap
        (PROBE, 0.5, 0.7, (False, False)),  # nothing is known of their uncertainty
        (("properties", "correlation"), (0.1, 0.05, 0.15), (0.3, 0.2, 0.4), (True, False)),  # less is better
        (("properties", "alive"), (10, 9, 11), (30, 29, 31), (False, False)),  # neither is
    ],
)
def test_the_best_is_marked_only_where_the_intervals_allow(run, key, first, second, best):
    comparison = compare([run("a", {key: first}), run("b", {key: second}, dimensions=5)])
    assert tuple(cell.best for cell in comparison.rows[0].cells) == best


def test_a_differences_interval_is_by_the_squares_of_both(run):
    cl = run("cl", {PROBE: (0.5, 0.46, 0.53)}, activation="identity")
    ncl = run("ncl", {PROBE: (0.7, 0.66, 0.74)})
    value, low, high = compare([cl, ncl]).rows[0].difference
    assert value == pytest.approx(0.2)
    assert low == pytest.approx(0.2 - math.hypot(0.04, 0.03))
    assert high == pytest.approx(0.2 + math.hypot(0.04, 0.04))


def test_what_one_run_lacks_is_empty_and_parts_stay_together(run):
    cl = run("cl", {PROBE: 0.5, ("knn", "h"): 0.4}, activation="identity")
    ncl = run("ncl", {PROBE: 0.7, ("linear_probe", "z"): 0.6})
    comparison = compare([cl, ncl])
    assert [(row.part, row.name) for row in comparison.rows] == [PROBE, ("linear_probe", "z"), ("knn", "h")]
    assert comparison.rows[1].cells[0] is None
    assert comparison.rows[1].difference is None
    assert comparison.rows[2].cells[1] is None


def test_one_run_alone_has_no_difference(run):
    assert compare([run("a", {PROBE: 0.5})]).rows[0].difference is None


def test_runs_that_were_not_measured_are_refused(run, tmp_path):
    folder = run("a", {})
    with pytest.raises(
        UserError, match=r"^Expected runs that were measured, got none in .*; run 'nonneg eval' on each"
    ):
        compare([folder])
    with pytest.raises(UserError, match=re.escape(f"Expected a finished run in {tmp_path / 'none'}, got none;")):
        compare([tmp_path / "none"])
