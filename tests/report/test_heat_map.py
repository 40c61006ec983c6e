"""A pixel of the heat map is a pair's cosine, and dimensions of a class stand together."""

import numpy as np

from nonneg.report.heat_map import heat_map, opacity
from tests.report.pages import reported_run, shown_runs, with_features
from tests.report.test_pictures import decoded


def mapped(tmp_path, z, labels=None, activation="rep_relu", labelled=True):
    folder = reported_run(tmp_path / "run", parts=None, activation=activation, labelled=labelled)
    with_features(folder, z, z, labels)
    return heat_map(*shown_runs(folder))


def cosines(made):
    """Back from colour and opacity."""
    pixels = decoded(made.uri).astype(float)
    signs = np.where(pixels[..., 2] >= pixels[..., 0], 1, -1)
    return signs * (pixels[..., 3] / 255) ** (1 / 0.6)


def test_pixels_are_cosines_of_the_alive_dimensions_most_expected_first(tmp_path):
    # Columns: dead, (1, 0), (3, 4)
    made = mapped(tmp_path, np.array([[0, 1, 3], [0, 0, 4]]), labelled=False)
    assert (made.shown, made.alive, made.signed) == (2, 2, False)
    # cos of (1, 0) and (3, 4) is 0.6
    assert np.allclose(cosines(made), [[1, 0.6], [0.6, 1]], atol=0.02)


def test_opposed_dimensions_have_another_colour(tmp_path):
    made = mapped(tmp_path, np.array([[1, -1], [1, -1], [2, -2]]), activation="identity", labelled=False)
    assert made.signed
    assert np.allclose(cosines(made), [[1, -1], [-1, 1]])


def test_dimensions_of_a_class_stand_together(tmp_path):
    """Of three classes of samples that have two dimensions each, 0 and 3, 1 and 4, 2 and 5."""
    z = np.zeros((24, 6))
    for sample in range(24):
        z[sample, [sample % 3, sample % 3 + 3]] = 1 + sample % 2
    found = cosines(mapped(tmp_path, z, labels=[0, 1, 2]))
    assert np.allclose(found, np.kron(np.eye(3), np.ones((2, 2))), atol=0.01)


def test_dead_features_have_no_map(tmp_path):
    assert mapped(tmp_path, np.zeros((24, 3)), labels=[0, 1, 2]) is None


def test_a_wide_run_shows_its_most_expected_dimensions(tmp_path):
    z = np.diag(np.linspace(1, 2, 600))
    made = mapped(tmp_path, np.vstack([z, z[300:]]), labelled=False)
    assert (made.shown, made.alive) == (512, 600)
    assert decoded(made.uri).shape == (512, 512, 4)


def test_opacity_grows_with_the_cosine():
    values = [opacity(c) for c in (0, 0.01, 0.1, 0.5, 1)]
    assert values == sorted(values)
    assert (values[0], values[-1]) == (0, 1)
    assert opacity(-0.5) == opacity(0.5)
