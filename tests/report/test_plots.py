"""Plots put values where their axes say, leave gaps where there is none, and escape what they are told."""

import math
import re

import numpy as np
import pytest

from nonneg.report.plots import Series, class_colour, histogram, line_chart, scatter
from tests.report.pages import Page

EVIL = "</title><script>alert(1)</script>"


def marks(svg):
    return [(float(a["cx"]), float(a["cy"])) for a in Page(svg).all("circle")]


def paths(svg, name):
    """The points of each path of this class."""
    found = [a["d"] for _, a in Page(svg).with_class(name)]
    return [[tuple(map(float, p)) for p in re.findall(r"[ML]?(-?[\d.]+) (-?[\d.]+)", d)] for d in found]


def ticks(svg, axis):
    """(place, word) of each tick."""
    found = re.findall(rf'<text x="([\d.]+)" y="([\d.]+)" class="{axis}">(.*?)</text>', svg)
    return [(float(x) if axis == "x" else float(y) - 3.5, word) for x, y, word in found]


def test_points_are_where_the_ticks_are():
    svg = line_chart("t", [Series("a", 0, [(0, 0.0), (10, 50.0), (20, 100.0)])], "epoch")
    x = dict((word, at) for at, word in ticks(svg, "x"))
    y = dict((word, at) for at, word in ticks(svg, "y"))
    assert {"0", "10", "20"} <= x.keys()
    assert {"0", "100"} <= y.keys()
    middle = (y["0"] + y["100"]) / 2
    expected = [(x["0"], y["0"]), (x["10"], middle), (x["20"], y["100"])]
    assert np.allclose(marks(svg), expected, atol=0.11)
    assert paths(svg, "line") == [marks(svg)]


def test_doubling_is_one_step_on_a_logarithmic_axis():
    svg = line_chart("t", [Series("a", 0, [(4, 1.0), (8, 2.0), (16, 3.0), (64, 4.0)])], "m", log_x=True)
    places = [at for at, _ in marks(svg)]
    steps = np.diff(places)
    assert np.allclose(steps, steps[0] * np.array([1, 1, 2]), atol=0.2)
    assert [word for _, word in ticks(svg, "x")] == ["4", "8", "16", "64"]
    assert np.allclose([at for at, _ in ticks(svg, "x")], places, atol=0.11)


def test_a_value_that_is_none_leaves_a_gap():
    points = [(1, 1.0), (2, math.nan), (3, 2.0), (4, math.inf), (5, 1.5)]
    svg = line_chart("t", [Series("a", 0, points)], "epoch")
    assert len(marks(svg)) == 3
    assert re.search(r'class="line" d="M[^L]*M[^L]*M[^L]*"', svg)


@pytest.mark.parametrize("points", [[], [(1, math.nan)], [(0, 1.0)]])
def test_there_is_no_plot_of_nothing(points):
    assert line_chart("t", [Series("a", 0, points)], "x", log_x=True) == ""


@pytest.mark.parametrize("points", [[(1, 2.0)], [(1, 0.0), (2, 0.0)], [(1, -3.0), (2, -3.0)], [(1, 1e12), (2, 1e-12)]])
def test_a_flat_line_and_a_single_point_are_inside(points):
    svg = line_chart("t", [Series("a", 0, points)], "x")
    assert len(marks(svg)) == len(points)
    assert all(46 <= x <= 346 and 10 <= y <= 180 for x, y in marks(svg))


def test_a_long_line_is_thinned_to_its_ends():
    points = [(k, float(k % 7)) for k in range(5000)]
    svg = line_chart("t", [Series("a", 0, points)], "epoch")
    (line,) = paths(svg, "line")
    assert len(line) == 400
    assert [at for at, _ in line][:: len(line) - 1] == [46.0, 346.0]
    assert marks(svg) == []


def test_a_series_has_its_runs_colour_and_may_be_dashed():
    series = [Series("a", 1, [(1, 1.0), (2, 2.0)]), Series("b", 9, [(1, 1.0), (2, 3.0)], dashed=True)]
    page = Page(line_chart("t", series, "x"))
    assert [a["class"] for a in page.all("g")] == ["run-1", "run-1"]  # of eight
    assert [a["class"] for a in page.all("path")] == ["line", "line dashed"]


def test_a_bar_is_as_high_as_its_share():
    """Of four values one in the first quarter, three in the last; 1 itself belongs to the last."""
    svg = histogram("t", [("a", 0, np.array([0.1, 0.8, 0.9, 1.0]))], "share", bins=4)
    y = dict((word, at) for at, word in ticks(svg, "y"))
    zero, step = y["0%"], (y["0%"] - y["60%"]) / 0.6
    (area,) = paths(svg, "area")
    left, right = area[0][0], area[-1][0]
    assert (left, right) == (46.0, 346.0)
    heights = [(zero - height) / step for _, height in area]
    assert np.allclose(heights, [0, 0.25, 0.25, 0, 0, 0, 0, 0.75, 0.75, 0], atol=0.005)
    assert np.allclose([x for x, _ in area[1:-1:2]], left + (right - left) * np.arange(4) / 4, atol=0.11)


def test_a_histogram_of_nothing_is_none():
    assert histogram("t", [], "x") == ""
    assert histogram("t", [("a", 0, np.zeros(0))], "x") == ""


def dots(svg):
    """Colour → places."""
    return {
        a["style"].removeprefix("stroke:"): [tuple(map(float, p)) for p in re.findall(r"M([\d.]+) ([\d.]+)h0", a["d"])]
        for _, a in Page(svg).with_class("dots")
    }


def test_points_keep_their_shape_and_have_their_classs_colour():
    points = np.array([[0, 0], [4, 0], [4, 2], [0, 2]], float)
    found = dots(scatter("t", points, np.array([0, 1, 1, 0]), ["a", "b"]))
    assert found == {
        class_colour(0): [(12.0, 96.0), (12.0, 264.0)],
        class_colour(1): [(348.0, 96.0), (348.0, 264.0)],
    }


def test_unlabelled_points_have_one_colour_and_no_names():
    svg = scatter("t", np.eye(2), None, ())
    assert list(dots(svg)) == ["var(--run-1)"]
    assert Page(svg).all("text") == []


def test_names_stand_in_the_middle_of_their_points_and_not_on_one_another():
    points = np.array([[0, 0], [0, 0], [9, 9], [9, 9], [9, 9.1], [5, 0]], float)
    labels = np.array([0, 0, 1, 1, 2, 3])
    svg = scatter("t", points, labels, ["one", "two", "three", "four"])
    words = {word: (float(x), float(y)) for x, y, word in re.findall(r'<text x="(\d+)" y="(\d+)">(\w+)<', svg)}
    assert words["one"] == (14, 12)
    assert words["four"] == (198, 12), "far enough to the side"
    assert words["three"][1] - words["two"][1] == pytest.approx(12, abs=1)


def test_many_classes_are_told_by_pointing_only():
    names = [f"c{k}" for k in range(13)]
    page = Page(scatter("t", np.random.default_rng(0).normal(size=(13, 2)), np.arange(13), names))
    assert page.all("text") == []
    assert all(name in page.text for name in names)


def test_a_long_name_stays_inside():
    svg = scatter("t", np.eye(2), np.array([0, 1]), ["x" * 100, "y"])
    (x, word), *_ = re.findall(r'<text x="(\d+)" y="\d+">(x+…)<', svg)
    assert len(word) == 20
    assert float(x) > 60


def test_names_are_escaped():
    for svg in (
        line_chart(EVIL, [Series(EVIL, 0, [(1, 1.0)])], EVIL),
        histogram(EVIL, [(EVIL, 0, np.ones(2))], EVIL),
        scatter(EVIL, np.eye(2), np.array([0, 1]), [EVIL, "b"]),
    ):
        assert Page(svg).all("script") == []
        assert EVIL in Page(svg).text


def test_the_first_hundred_classes_have_colours_of_their_own():
    assert len({class_colour(k) for k in range(100)}) == 100
