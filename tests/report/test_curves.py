"""Curves go through the numbers that were logged and measured."""

import math

import pytest

from nonneg.evaluation.comparison import Cell, Comparison, Row
from nonneg.report.curves import read_log, selection_curves, sepin_curve, training_curves
from tests.report.pages import Page, columns_of, reported_run, shown_runs


@pytest.fixture
def runs(tmp_path):
    """Two runs of 12 dimensions, the second of which logged no consistency."""
    log = [{"epoch": 1, "loss": 3.5}, {"epoch": 2, "loss": 2.5}]
    return [reported_run(tmp_path / "a", parts=None), reported_run(tmp_path / "b", parts=None, log=log)]


def measured(runs, part, *numbers):
    """Rows of (name, value of the first run, value of the second)."""
    rows = tuple(
        Row(part, name, tuple(v and Cell(v, None, None, None, 24, False) for v in values), None)
        for name, *values in numbers
    )
    return Comparison(columns_of(*runs), rows)


def said(plot):
    """What each mark says of itself."""
    return [
        text for text in Page(plot.replace("<title>", "|").replace("</title>", "|")).text.split("|") if " at " in text
    ]


def test_training_curves_are_the_columns_of_the_log(runs):
    made = {curve.title: curve for curve in training_curves(shown_runs(*runs))}
    assert list(made) == ["loss", "sparsity", "alive dimensions", "class consistency"]
    assert said(made["loss"].plot) == ["a: 5.1 at 1", "a: 4.4 at 2", "b: 3.5 at 1", "b: 2.5 at 2"]
    assert made["loss"].ends == [("a", 0, "4.4"), ("b", 1, "2.5")]
    assert made["class consistency"].ends == [("a", 0, "51%")]
    assert said(made["sparsity"].plot) == ["a: 91% at 1", "a: 92% at 2"]


def test_a_log_that_is_not_there_or_has_holes(tmp_path):
    assert read_log(tmp_path / "log.csv") == {}
    (tmp_path / "log.csv").write_text("epoch,loss,note\n1,2.5,x\n2,,\n3\n")
    found = read_log(tmp_path / "log.csv")
    assert found["epoch"] == [1, 2, 3]
    assert found["loss"][0] == 2.5
    assert all(map(math.isnan, [*found["loss"][1:], *found["note"]]))


def test_the_sepin_curve_is_times_a_hundred_and_ends_at_all_dimensions(runs):
    comparison = measured(runs, "sepin", ("1", 0.05, 0.02), ("10", 0.03, None), ("all", 0.01, None))
    (curve,) = sepin_curve(comparison, shown_runs(*runs))
    assert said(curve.plot) == ["a: 5 at 1", "a: 3 at 10", "a: 1 at 12"]  # b has one point, which is no curve
    assert curve.ends == [("a", 0, "1.00")]
    assert sepin_curve(measured(runs, "sepin", ("1", 0.05, 0.02)), shown_runs(*runs)) == []


def test_selection_curves_are_of_expected_activation_and_of_chance(runs):
    """The second run has no non-negative z; the value of all dimensions ends each curve of their kind."""
    comparison = measured(
        runs,
        "dimension_selection",
        ("ea_relu/4/probe", 0.5, None),
        ("ea_relu/8/probe", 0.6, None),
        ("ea_signed/4/probe", 0.1, 0.4),
        ("random/4/probe", 0.2, 0.3),
        ("variance/4/probe", 0.9, 0.9),
        ("all/12/probe", 0.7, 0.8),
        ("all_signed/12/probe", 0.65, None),
        ("ea_relu/4/map", 0.25, None),
        ("odd", 0.1, 0.1),
    )
    probe, retrieval = selection_curves(comparison, shown_runs(*runs))
    assert (probe.title, retrieval.title) == ("linear probe", "retrieval mAP@10")
    assert said(probe.plot) == [
        *("a: 50% at 4", "a: 60% at 8", "a: 70% at 12"),
        *("a: 20% at 4", "a: 70% at 12"),
        *("b: 40% at 4", "b: 80% at 12"),
        *("b: 30% at 4", "b: 80% at 12"),
    ]
    assert [a["class"] for a in Page(probe.plot).all("path")] == ["line", "line dashed"] * 2
    assert probe.ends == [("a", 0, "70%"), ("b", 1, "80%")]
