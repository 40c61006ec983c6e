"""The maps put like samples together, the same way every time."""

import re

import numpy as np

from nonneg.report.feature_map import feature_maps
from tests.report.pages import Page, reported_run, shown_runs, with_features


def blobs(n=90):
    """Three far groups, by number."""
    rng = np.random.default_rng(0)
    return np.eye(3)[np.arange(n) % 3] + 0.05 * np.abs(rng.normal(size=(n, 3)))


def mapped(tmp_path, z, name="run", labels=(0, 1, 2), labelled=True):
    folder = reported_run(tmp_path / name, parts=None, labelled=labelled)
    with_features(folder, z, z, labels if labelled else None)
    return feature_maps(shown_runs(folder))


def places(plot):
    return [
        np.array([[float(v) for v in p] for p in re.findall(r"M([\d.]+) ([\d.]+)h0", a["d"])])
        for _, a in Page(plot).with_class("dots")
    ]


def test_groups_of_features_are_groups_on_the_map(tmp_path):
    of_h, of_z = mapped(tmp_path, blobs())
    assert (of_h.of, of_z.of, of_z.samples) == ("h", "z", 90)
    groups = places(of_z.plot)
    assert [len(group) for group in groups] == [30, 30, 30]
    centres = np.array([group.mean(0) for group in groups])
    spread = max(np.linalg.norm(group - group.mean(0), axis=1).max() for group in groups)
    apart = min(np.linalg.norm(centres[i] - centres[j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    assert apart > 2 * spread


def test_the_map_is_the_same_every_time_and_blind_to_length(tmp_path):
    first = mapped(tmp_path, blobs())
    scaled = mapped(tmp_path, blobs() * np.random.default_rng(1).choice([0.5, 2, 4], (90, 1)), name="other")
    assert [m.plot.replace("run:", "") for m in first] == [m.plot.replace("other:", "") for m in scaled]


def test_features_that_are_all_the_same_or_few_have_no_map(tmp_path):
    assert mapped(tmp_path, np.ones((30, 4)), "same") == []
    assert mapped(tmp_path, np.zeros((30, 4)), "dead") == []
    assert mapped(tmp_path, np.abs(np.random.default_rng(0).normal(size=(30, 1))), "single") == []
    assert mapped(tmp_path, blobs(9), "few") == []


def test_unlabelled_samples_are_of_one_colour(tmp_path):
    assert [len(places(m.plot)) for m in mapped(tmp_path, blobs(), labelled=False)] == [1, 1]


def test_no_more_than_a_thousand_samples_are_shown(tmp_path):
    made = mapped(tmp_path, blobs(1500))
    assert [m.samples for m in made] == [1000, 1000]
    assert sum(map(len, places(made[1].plot))) == 1000
