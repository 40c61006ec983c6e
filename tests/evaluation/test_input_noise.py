"""Noise of the strength that was said, the same for every run; probes that were fitted before any picture had noise."""

import re

import numpy as np
import pytest
import torch

from nonneg._errors import UserError
from nonneg.data import load
from nonneg.data.views import centre_crop
from nonneg.evaluation.input_noise import measure, noisy
from nonneg.evaluation.linear_probe import fit_probe
from nonneg.evaluation.subject import Subject
from tests.data.pictures import save
from tests.finished_runs import array_file, finished_run

SAID = ("gaussian 0.05", "gaussian 0.1", "gaussian 0.2", "gaussian 0.3")
SAID += ("uniform 0.05", "uniform 0.1", "uniform 0.2", "uniform 0.3")


@pytest.fixture
def folder(tmp_path):
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", n=60, n_test=45))
    return tmp_path / "run"


def grey(n=50, side=16):
    return torch.full((n, 1, side, side), 0.5), torch.arange(n)


@pytest.mark.parametrize("strength", [0.0, 0.05, 0.1])
def test_noise_has_the_distribution_that_is_said(strength):
    x, numbers = grey()  # clipping is 5 deviations away
    gaussian = noisy(x, "gaussian", strength, numbers) - x
    uniform = noisy(x, "uniform", strength, numbers) - x
    n = x.numel()
    for difference, deviation in ((gaussian, strength), (uniform, strength / 3**0.5)):
        assert abs(float(difference.mean())) <= 5 * deviation / n**0.5 + 1e-9
        assert float(difference.std()) == pytest.approx(deviation, rel=0.03)
    assert uniform.abs().max() <= strength + 1e-6
    assert float(uniform.abs().max()) == pytest.approx(strength, rel=0.01)
    share = float((gaussian.abs() > 2 * strength).double().mean())
    assert share == pytest.approx(0.0455 if strength else 0.0, abs=0.01)


def test_pictures_stay_in_their_range():
    x = torch.stack([torch.zeros(1, 8, 8), torch.ones(1, 8, 8)])
    for kind in ("gaussian", "uniform"):
        found = noisy(x, kind, 0.3, torch.arange(2))
        assert found.min() == 0
        assert found.max() == 1
        assert ((found > 0) & (found < 1)).float().mean() == pytest.approx(0.5, abs=0.15), "half of it goes inwards"


def test_a_pictures_noise_depends_on_its_number_and_the_seed_alone():
    x, numbers = grey(6)
    for kind in ("gaussian", "uniform"):
        whole = noisy(x, kind, 0.1, numbers)
        assert torch.equal(noisy(x[2:4], kind, 0.1, numbers[2:4]), whole[2:4])
        assert len({tuple(picture.flatten().tolist()) for picture in whole}) == 6
        assert not torch.equal(noisy(x, kind, 0.1, numbers, seed=1), whole)
        twice = noisy(x, kind, 0.05, numbers) - x
        assert torch.allclose(2 * twice, whole - x, atol=1e-6), "a strength more is the same noise, stronger"


def by_hand(subject, name, kind, strength):
    """Clean training features, then one noisy test picture at a time."""
    model, pictures = subject.source.model, load(subject.source.recipe.data.name).test
    probe = fit_probe(getattr(subject.train, name), subject.train.labels)
    hits = []
    with torch.no_grad():
        for number, (pixels, label) in enumerate(zip(pictures.pixels, pictures.labels.tolist(), strict=True)):
            x = noisy(centre_crop(pixels[None], 8), kind, strength, torch.tensor([number]))
            features = model.both(x)["hz".index(name)]
            hits.append(int(probe.scores(features).argmax()) == label)
    return sum(hits) / len(hits)


def test_it_is_the_accuracy_of_the_clean_probe_on_noisy_pictures(folder):
    subject, told = Subject.of_run(folder), []
    found = measure(subject, lambda *n: told.append(n))
    assert list(found) == [f"{name}/{said}" for name in ("h", "z") for said in SAID]
    assert told == [(45, 45)]
    for name in ("h", "z"):
        for kind, strength in (("gaussian", 0.1), ("gaussian", 0.3), ("uniform", 0.2)):
            result = found[f"{name}/{kind} {strength}"]
            assert result.value == pytest.approx(by_hand(subject, name, kind, strength), abs=1.01 / 45)
            assert result.low <= result.value <= result.high
            assert (result.n, result.seed) == (45, 0)
    assert measure(Subject.of_run(folder), lambda *_: None) == found
    assert len({result.value for result in found.values()}) > 1, "noise makes a difference"


def test_without_noise_it_is_the_probes_accuracy(folder, monkeypatch):
    monkeypatch.setitem(measure.__globals__, "STRENGTHS", (0.0,))
    subject = Subject.of_run(folder)
    found = measure(subject, lambda *_: None)
    for name in ("h", "z"):
        probe = fit_probe(getattr(subject.train, name), subject.train.labels)
        expected = probe.accuracy(getattr(subject.test, name), subject.test.labels)
        assert found[f"{name}/gaussian 0"].value == found[f"{name}/uniform 0"].value == pytest.approx(expected)


def test_labels_that_have_nothing_to_do_with_the_pictures_leave_chance(tmp_path):
    data = array_file(tmp_path / "data.npz", n=150, n_test=600)
    with np.load(tmp_path / "data.npz") as arrays:
        shuffled = dict(arrays)
    for key in ("labels", "test_labels"):
        np.random.default_rng(1).shuffle(shuffled[key])
    np.savez(tmp_path / "data.npz", **shuffled)
    finished_run(tmp_path / "run", data)
    found = measure(Subject.of_run(tmp_path / "run"), lambda *_: None)
    assert all(abs(result.value - 1 / 3) < 4 * (2 / 9 / 600) ** 0.5 for result in found.values())


def test_at_most_2000_pictures_are_taken_evenly(tmp_path, monkeypatch):
    data = array_file(tmp_path / "data.npz", n=30, n_test=2500)
    finished_run(tmp_path / "run", data)
    monkeypatch.setitem(measure.__globals__, "STRENGTHS", (0.0,))
    subject = Subject.of_run(tmp_path / "run")
    chosen = torch.arange(2000) * 2500 // 2000
    expected = fit_probe(subject.train.h, subject.train.labels).correct(subject.test.h, subject.test.labels)[chosen]
    found = measure(subject, lambda *_: None)["h/gaussian 0"]
    assert found.n == 2000
    assert found.value == pytest.approx(float(expected.double().mean()), abs=2 / 2000)


def test_files_are_measured_too_and_bad_ones_left_out(tmp_path):
    for part, n in (("train", 12), ("test", 6)):
        for i in range(n):
            save(tmp_path / "data" / part / f"class{i % 3}" / f"{i:02}.png", 20 + i % 3, 24, seed=i)
    (tmp_path / "data/test/class0/00.png").write_text("no picture")
    finished_run(tmp_path / "run", f"folder:{tmp_path / 'data'}", channels=3, on_bad_file="skip")
    subject = Subject.of_run(tmp_path / "run")
    assert subject.test.numbers.tolist() == [1, 2, 3, 4, 5]
    found = measure(subject, lambda *_: None)
    assert {result.n for result in found.values()} == {5}


def test_the_probes_are_fitted_on_clean_training_features_whatever_the_test_part_is(folder, tmp_path, monkeypatch):
    fitted = []

    def recording(x, y, **how):
        fitted.append((x, y))
        return fit_probe(x, y, **how)

    monkeypatch.setitem(measure.__globals__, "fit_probe", recording)
    subject = Subject.of_run(folder)
    measure(subject, lambda *_: None)
    assert len(fitted) == 2
    for (x, y), expected in zip(fitted, (subject.train.h, subject.train.z), strict=True):
        assert torch.equal(x, expected)
        assert torch.equal(y, subject.train.labels)


def test_what_cannot_be_measured_is_refused(tmp_path):
    x, numbers = grey(2)
    with pytest.raises(ValueError, match=r"^Expected kind to be one of gaussian, uniform, got 'salt'"):
        noisy(x, "salt", 0.1, numbers)
    with pytest.raises(UserError, match=r"^Expected a strength of noise of at least 0, got -0\.1"):
        noisy(x, "uniform", -0.1, numbers)
    np.savez(tmp_path / "a.npz", features=np.eye(3), labels=np.arange(3))
    message = f"Expected a run, whose model can be shown noisy pictures, got {tmp_path / 'a.npz'}, which holds features"
    with pytest.raises(UserError, match="^" + re.escape(message)):
        measure(Subject.of_arrays(tmp_path / "a.npz"), lambda *_: None)
    finished_run(tmp_path / "run", array_file(tmp_path / "b.npz", labelled=False))
    with pytest.raises(UserError, match=r"^Expected labelled data for this measurement, got .*run without labels"):
        measure(Subject.of_run(tmp_path / "run"), lambda *_: None)
