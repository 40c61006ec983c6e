"""Probes on the run's features of other data: the features by hand, the probe on the training part alone."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from nonneg._errors import UserError
from nonneg.data import DataSet, Images, load
from nonneg.evaluation import extract
from nonneg.evaluation.linear_probe import fit_probe, linear_probe
from nonneg.evaluation.subject import Subject
from nonneg.evaluation.transfer import measure
from tests.data.pictures import noise
from tests.finished_runs import array_file, finished_run


@pytest.fixture
def subject(tmp_path):
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz"))
    return Subject.of_run(tmp_path / "run")


def other(n=80, n_test=60, side=10, classes=5, seed=3):
    """Pictures of another size and other classes: a grey for each, in noise."""

    def part(count, seed):
        labels = torch.arange(count) % classes
        dim = noise(count, 1, side, side, seed) // 8
        return Images((dim + 44 * labels[:, None, None, None]).to(torch.uint8), labels)

    return DataSet("greys", part(n, seed), part(n_test, seed + 1), tuple("abcde"[:classes]))


def test_it_is_the_probe_on_the_models_features_of_the_other_data(subject):
    data, told = other(), []
    found = measure(subject, data, lambda *n: told.append(n))
    train, test = (extract(subject.source.model, split) for split in (data.train, data.test))
    for name in ("h", "z"):
        x, x_test = getattr(train, name), getattr(test, name)
        assert found[name].value == pytest.approx(linear_probe(x, train.labels, x_test, test.labels))
        assert found[name].low <= found[name].value <= found[name].high
        assert (found[name].n, found[name].seed) == (60, 0)
    assert list(found) == ["h", "z"]
    assert told == [(80, 140), (140, 140)]
    assert found["h"].value > 0.5, "greys can be told apart"
    assert measure(subject, data, lambda *_: None) == found


def test_labels_that_have_nothing_to_do_with_the_pictures_leave_chance(subject):
    data = other(n=150, n_test=600)
    train, test = (replace(s, labels=s.labels[torch.randperm(len(s))]) for s in (data.train, data.test))
    found = measure(subject, replace(data, train=train, test=test), lambda *_: None)
    assert all(abs(result.value - 1 / 5) < 4 * (4 / 25 / 600) ** 0.5 for result in found.values())


def test_the_run_s_own_data_has_no_say(tmp_path, subject):
    expected = measure(subject, other(), lambda *_: None)
    blank = {part: replace(getattr(subject, part), labels=None) for part in ("train", "test")}
    stripped = Subject("run", blank["train"], blank["test"], source=subject.source)
    assert measure(stripped, other(), lambda *_: None) == expected


def test_nothing_that_is_fitted_or_chosen_depends_on_the_test_part(subject, monkeypatch):
    fitted = []

    def recording(x, y, **how):
        fitted.append(fit_probe(x, y, **how))
        return fitted[-1]

    monkeypatch.setitem(measure.__globals__, "fit_probe", recording)
    data = other()
    leak = Images(255 - data.test.pixels, data.test.labels.flip(0))
    before = measure(subject, data, lambda *_: None)
    after = measure(subject, replace(data, test=leak), lambda *_: None)
    assert before != after
    for one, again in zip(fitted[:2], fitted[2:], strict=True):
        assert one.strength == again.strength
        assert torch.equal(one.weight, again.weight)


def test_what_does_not_fit_is_refused(subject, tmp_path):
    data, run = other(), subject.source.folder.path
    colour = Images(noise(8, 3, 10, 10), torch.arange(8) % 2)
    message = (
        f"Expected pictures of 1 channels, as those of {run}, got 3 in colours; convert them, or choose other data."
    )
    with pytest.raises(UserError, match="^" + re.escape(message)):
        measure(subject, DataSet("colours", colour, colour, ("a", "b")), lambda *_: None)
    with pytest.raises(UserError, match=r"^Expected data with a test part, got greys, which has none; choose other"):
        measure(subject, replace(data, test=None), lambda *_: None)
    for part in ("train", "test"):
        bare = replace(data, **{part: replace(getattr(data, part), labels=None)})
        with pytest.raises(UserError, match=r"^Expected labelled data, got greys, which has no labels; choose other"):
            measure(subject, bare, lambda *_: None)
    np.savez(tmp_path / "a.npz", features=np.eye(3), labels=np.arange(3))
    with pytest.raises(UserError, match=r"^Expected a run, whose model can be shown other pictures, got .*a\.npz"):
        measure(Subject.of_arrays(tmp_path / "a.npz"), data, lambda *_: None)


def test_a_file_that_is_refused_is_named(subject, tmp_path):
    data = load(array_file(tmp_path / "b.npz", n_test=0))
    with pytest.raises(UserError, match=rf"got npz:{re.escape(str(tmp_path / 'b.npz'))}, which has none"):
        measure(subject, data, lambda *_: None)
