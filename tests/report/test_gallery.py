"""A gallery's rows are the most expected dimensions, with their pictures and the classes that they are on for."""

import numpy as np
import pytest

from nonneg.report.gallery import gallery
from tests.report.pages import reported_run, shown_runs, with_features

# Rows of length 1: expected activation of the training part is (0, 0.6, 0.7, 0.1).
Z_TRAIN = np.array([[0, 0.6, 0.8, 0], [0, 0.6, 0.8, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0.8, 0.2, 0.5657]])
# Of length 1: 1, 0.6, 0, 0.8, 0, 0.28 in dimension 1; 0, 0.8, 1, 0.6, 0, 0.96 in dimension 2.
Z_TEST = np.array([[0, 1, 0, 0], [0, 3, 4, 0], [0, 0, 5, 0], [0, 0.8, 0.6, 0], [0, 0, 0, 1], [0, 0.28, 0.96, 0]])


@pytest.fixture
def run(tmp_path):
    """Six pictures of the classes boot, coat, hat, boot, coat, hat."""
    folder = reported_run(tmp_path / "run", parts=None, n_test=6)
    with_features(folder, Z_TRAIN, Z_TEST, labels=[0, 1, 2])
    return folder


def test_rows_are_the_most_expected_dimensions_with_the_pictures_that_activate_them_most(run):
    made = gallery(*shown_runs(run), rows=3, columns=3)
    assert [d.number for d in made.dimensions] == [1, 2, 3]
    assert [p.says for p in made.dimensions[0].pictures] == [
        "boot: activation 1.00, picture 0",
        "boot: activation 0.80, picture 3",
        "coat: activation 0.60, picture 1",
    ]
    assert [p.place for p in made.dimensions[0].pictures] == [made.sheet.places[k] for k in (0, 3, 1)]


def test_a_bar_is_of_all_samples_that_the_dimension_is_on_for(run):
    first, second, third, dead = gallery(*shown_runs(run), rows=9, columns=1).dimensions
    assert [(p.name, p.share) for p in first.classes] == [("boot", 0.5), ("coat", 0.25), ("hat", 0.25)]
    assert [(p.name, p.share) for p in second.classes] == [("hat", 0.5), ("boot", 0.25), ("coat", 0.25)]
    assert [(p.name, p.share) for p in third.classes] == [("coat", 1.0)]
    assert [d.on for d in (first, second, third, dead)] == [4, 4, 1, 0]
    assert dead.classes == []


def test_the_rarest_of_many_classes_share_a_piece(tmp_path):
    names = [f"class {k}" for k in range(15)]
    folder = reported_run(tmp_path / "run", parts=None, n_test=30, classes=names)
    with_features(folder, np.ones((4, 2)), np.ones((30, 2)), labels=np.arange(15))
    pieces = gallery(*shown_runs(folder)).dimensions[0].classes
    assert [p.name for p in pieces] == [*names[:10], "5 other classes"]
    assert sum(p.share for p in pieces) == pytest.approx(1)
    assert pieces[-1].share == pytest.approx(1 / 3)


def test_without_labels_there_are_numbers_only(tmp_path):
    folder = reported_run(tmp_path / "run", parts=None, n_test=6, labelled=False)
    with_features(folder, Z_TRAIN, Z_TEST)
    first = gallery(*shown_runs(folder)).dimensions[0]
    assert (first.on, first.classes) == (4, [])
    assert first.pictures[1].says == "activation 0.80, picture 3"


def test_signed_features_are_ranked_by_their_mean(tmp_path):
    folder = reported_run(tmp_path / "run", parts=None, n_test=6, activation="identity")
    signs = np.array([1, -1, 1, 1])
    with_features(folder, Z_TRAIN * signs, Z_TEST * signs, labels=[0, 1, 2])
    dimensions = gallery(*shown_runs(folder)).dimensions
    assert [d.number for d in dimensions] == [2, 3, 0, 1]
    assert dimensions[-1].pictures[-1].says == "boot: activation -1.00, picture 0"
