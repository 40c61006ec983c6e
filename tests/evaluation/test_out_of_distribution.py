"""Accuracy on changed pictures is that of probes learnt on clean ones, by hand; another data set's by class names."""

import re
from functools import cache

import numpy as np
import pytest
import torch

from nonneg._errors import UserError
from nonneg.data import load
from nonneg.data.corruptions import NAMES, STAND_INS, corrupt
from nonneg.evaluation import out_of_distribution
from nonneg.evaluation.linear_probe import fit_probe
from nonneg.evaluation.out_of_distribution import measure, measure_shifted
from nonneg.evaluation.results import mean_of
from nonneg.evaluation.subject import Subject
from tests.data.pictures import files
from tests.finished_runs import CLASSES, array_file, finished_run


def silent(done, of):
    pass


@pytest.fixture
def subject(tmp_path):
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", n=60, n_test=30))
    return Subject.of_run(tmp_path / "run")


@cache
def learnt(subject, which):
    """A probe on the clean training features."""
    return fit_probe(getattr(subject.train, which), subject.train.labels, seed=subject.seed)


def right(subject, which, pixels, labels):
    """Of each picture whether the probe finds its class."""
    with torch.no_grad():
        h, z = subject.source.model.eval().both(pixels.float() / 255)
    return (learnt(subject, which).scores({"h": h, "z": z}[which]).argmax(1) == labels).double()


@pytest.mark.parametrize("which", ["h", "z"])
def test_every_number_is_that_of_the_probe_by_hand(subject, which):
    found = measure(subject, silent)
    test = load(subject.source.recipe.data.name).test
    assert found[f"{which}/clean"] == mean_of(right(subject, which, test.pixels, test.labels))
    everything = []
    for name in NAMES:
        severities = torch.stack(
            [right(subject, which, corrupt(test.pixels, name, s, 0), test.labels) for s in (1, 2, 3, 4, 5)]
        )
        assert found[f"{which}/{name}"] == mean_of(severities.mean(0)), name
        everything.append(severities.mean(0))
    corrupted = found[f"{which}/corrupted"]
    assert corrupted == mean_of(torch.stack(everything).mean(0))
    assert corrupted.value == pytest.approx(np.mean([found[f"{which}/{name}"].value for name in NAMES]))
    assert corrupted.low < corrupted.value < corrupted.high
    for name in STAND_INS:
        changed = corrupt(test.pixels, name, 1, 0)
        assert found[f"{which}/{name}"] == mean_of(right(subject, which, changed, test.labels)), name
    assert found[f"{which}/clean"].value > 0.8 > found[f"{which}/fog"].value, "classes are told by their grey"


def test_names_numbers_and_progress(subject):
    told = []
    found = measure(subject, lambda done, of: told.append((done, of)))
    names = ("clean", "corrupted", *NAMES, *STAND_INS)
    assert list(found) == [f"{which}/{name}" for which in ("h", "z") for name in names]
    assert {(result.n, result.seed) for result in found.values()} == {(30, 0)}
    total = 30 * (1 + 15 * 5 + 2)
    assert told == [(done, total) for done in range(30, total + 1, 30)]
    assert measure(subject, silent) == found


def test_at_most_so_many_pictures_are_changed_evenly(subject, monkeypatch):
    monkeypatch.setattr(out_of_distribution, "PICTURES", 10)
    found = measure(subject, silent)
    test = load(subject.source.recipe.data.name).test.thinned(10)
    assert found["h/clean"] == mean_of(right(subject, "h", test.pixels, test.labels))
    assert found["z/fog"].n == 10


def test_pictures_of_files_are_changed_as_the_model_sees_them_without_bad_ones(tmp_path):
    files(tmp_path / "pets" / "train" / "cat", 12)
    files(tmp_path / "pets" / "train" / "dog", 12)
    files(tmp_path / "pets" / "test" / "cat", 4, bad=(1,))
    files(tmp_path / "pets" / "test" / "dog", 5, bad=(2, 4))
    finished_run(tmp_path / "run", f"folder:{tmp_path / 'pets'}", channels=3, on_bad_file="skip")
    subject = Subject.of_run(tmp_path / "run")
    found = measure(subject, silent)
    assert {result.n for result in found.values()} == {6}
    pixels, labels = out_of_distribution._as_evaluated(subject.source)
    assert pixels.shape == (6, 3, 8, 8)
    assert labels.tolist() == [0, 0, 0, 1, 1, 1]
    snowed = [right(subject, "z", corrupt(pixels, "snow", s, 0), labels) for s in (1, 2, 3, 4, 5)]
    assert found["z/snow"] == mean_of(torch.stack(snowed).mean(0))


def test_without_a_run_or_labels_it_is_refused(tmp_path):
    np.savez(tmp_path / "f.npz", features=np.eye(4), labels=np.arange(4))
    message = f"Expected a run, whose model can look at other pictures, got features alone in {tmp_path / 'f.npz'}; "
    with pytest.raises(UserError, match=re.escape(message)):
        measure(Subject.of_arrays(tmp_path / "f.npz"), silent)
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", labelled=False))
    subject = Subject.of_run(tmp_path / "run")
    for refused in (measure, lambda *what: measure_shifted(subject, load("fashion-small"), what[1])):
        with pytest.raises(UserError, match=r"^Expected labelled data for this measurement, got .*run without labels"):
            refused(subject, silent)


# Another data set


def shifted(path, subject, order):
    """The run's own test pictures as a data set whose classes stand in another order, or some of them."""
    test = load(subject.source.recipe.data.name).test
    names = [CLASSES[i] for i in order]
    kept = [i for i, label in enumerate(test.labels.tolist()) if label in order]
    labels = [order.index(test.labels[i].item()) for i in kept]
    images = test.pixels[kept, 0].numpy()
    np.savez(path, images=images, labels=np.array(labels), classes=names)
    return load(f"npz:{path}")


@pytest.mark.parametrize(("order", "n"), [((0, 1, 2), 30), ((2, 0, 1), 30), ((2, 1), 20)])
def test_classes_of_another_data_set_are_the_runs_by_their_names(subject, tmp_path, order, n):
    found = measure_shifted(subject, shifted(tmp_path / "sketch.npz", subject, order), silent)
    assert list(found) == ["h", "z"]
    test = load(subject.source.recipe.data.name).test
    kept = torch.isin(test.labels, torch.tensor(order))
    for which in ("h", "z"):
        expected = right(subject, which, test.pixels, test.labels)[kept]
        assert found[which] == mean_of(expected)
        assert len(expected) == n
    assert found["h"].value > 0.9


def test_the_evaluated_part_of_a_folder_is_measured_with_its_progress(tmp_path):
    for part, count in (("train", 6), ("test", 4)):
        for name in ("cat", "dog"):
            files(tmp_path / "pets" / part / name, count)
            files(tmp_path / "pets-v2" / part / name, count - 1)
    finished_run(tmp_path / "run", f"folder:{tmp_path / 'pets'}", channels=3)
    told = []
    data = load(f"folder:{tmp_path / 'pets-v2'}")
    found = measure_shifted(Subject.of_run(tmp_path / "run"), data, lambda *n: told.append(n))
    assert {name: result.n for name, result in found.items()} == {"h": 6, "z": 6}
    assert told == [(6, 6)]


def test_the_probes_are_learnt_once(subject, tmp_path, monkeypatch):
    measure(subject, silent)
    monkeypatch.setattr(out_of_distribution, "fit_probe", lambda *_, **__: pytest.fail("learnt again"))
    measure_shifted(subject, shifted(tmp_path / "a.npz", subject, (0, 1, 2)), silent)


def test_an_unknown_class_is_refused_with_the_nearest(subject, tmp_path):
    name = array_file(tmp_path / "b.npz", classes=("boots", "coat", "hat"))
    message = f"Expected the classes of {subject.name} in {name}, got 'boots'; did you mean 'boot'? Rename it, or leave"
    with pytest.raises(UserError, match=re.escape(message)):
        measure_shifted(subject, load(name), silent)


def test_unlabelled_pictures_of_another_data_set_are_refused(subject, tmp_path):
    name = array_file(tmp_path / "b.npz", labelled=False)
    with pytest.raises(UserError, match=re.escape(f"got {name} without labels.")):
        measure_shifted(subject, load(name), silent)
