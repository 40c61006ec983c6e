"""The distributions are those of the samples and the alive dimensions."""

import numpy as np

from nonneg.report.distributions import consistency_plot, sparsity_plot
from tests.report.pages import reported_run, shown_runs, with_features
from tests.report.test_plots import paths, ticks


def bars(svg):
    """Where a bar begins → its share, of those that are not empty."""
    y = {word: at for at, word in ticks(svg, "y")}
    (top, *_) = [word for word in y if word != "0%"]
    step = (y["0%"] - y[top]) / float(top.removesuffix("%"))
    (area,) = paths(svg, "area")
    found = {round((x - 46) / 12): round((y["0%"] - height) / step) for x, height in area[1:-1:2]}
    return {bin: share for bin, share in found.items() if share}


def test_sparsity_is_spread_over_samples(tmp_path):
    folder = reported_run(tmp_path / "run", parts=None)
    z = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1]])
    with_features(folder, z, z, labels=[0, 1, 2])
    assert bars(sparsity_plot(shown_runs(folder))) == {18: 75, 0: 25}  # of 25 bins


def test_consistency_is_spread_over_alive_dimensions(tmp_path):
    """Of three alive dimensions two are of one class only, one of two; a fourth is dead."""
    folder = reported_run(tmp_path / "run", parts=None)
    z = np.array([[1, 0, 1, 0], [0, 1, 1, 0]] * 2)
    with_features(folder, z, z, labels=[0, 1])
    assert bars(consistency_plot(shown_runs(folder))) == {24: 67, 12: 33}


def test_without_labels_there_is_no_consistency(tmp_path):
    folder = reported_run(tmp_path / "run", parts=None, labelled=False)
    assert consistency_plot(shown_runs(folder)) == ""
    assert sparsity_plot(shown_runs(folder)) != ""
