"""Every value of metrics.json is the measurement by hand; what stands there is not measured again."""

import json
import re

import numpy as np
import pytest
import torch

from nonneg import metrics, models
from nonneg._errors import UserError
from nonneg.data import Batches, load
from nonneg.evaluation import features_of_run, linear_probe, measure, measure_run
from nonneg.training import RunFolder
from nonneg.training.recipes import read_file
from tests.data.pictures import files
from tests.finished_runs import array_file, finished_run

LABEL_FREE = {"n", "sparsity", "alive", "correlation", "effective_rank", "sepin_1", "sepin_10", "sepin_all"}
LABELLED = {"probe_h", "probe_z", "knn_h", "knn_z", "consistency", "retrieval_precision", "retrieval_map"}


@pytest.fixture
def folder(tmp_path):
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", n=60, n_test=45))
    return tmp_path / "run"


def kept(folder):
    return json.loads(RunFolder(folder).metrics.read_text())


def test_every_value_is_the_measurement_of_the_runs_features(folder):
    found = measure_run(folder)
    train, test = features_of_run(folder)
    y, y_test = train.labels, test.labels
    retrieval = metrics.retrieval(test.z, y_test, k=10)
    expected = {
        "n": 45.0,
        "probe_h": linear_probe(train.h, y, test.h, y_test),
        "probe_z": linear_probe(train.z, y, test.z, y_test),
        "knn_h": metrics.knn_accuracy(train.h, y, test.h, y_test, k=20),
        "knn_z": metrics.knn_accuracy(train.z, y, test.z, y_test, k=20),
        "sparsity": metrics.sparsity(test.z),
        "alive": metrics.alive(test.z),
        "correlation": metrics.correlation(test.z),
        "effective_rank": metrics.effective_rank(test.z),
        "consistency": metrics.class_consistency(test.z, y_test),
        "retrieval_precision": retrieval["precision"],
        "retrieval_map": retrieval["map"],
    }
    assert {key: found[key] for key in expected} == expected
    assert set(found) == LABEL_FREE | LABELLED
    assert kept(folder) == found


def test_sepin_is_of_two_views_of_the_test_pictures_by_the_runs_views(folder):
    model, recipe = models.load(folder), read_file(RunFolder(folder).recipe)
    split = load(recipe.data.name).test
    (batch,) = Batches(split, recipe.views, 45, 2, 0, torch.device("cpu"))
    with torch.no_grad():
        z1, z2 = (model.features(view) for view in batch.views)
    assert not torch.allclose(z1, z2)
    found = measure_run(folder)
    for key, value in metrics.sepin(z1, z2, k=(1, 10)).items():
        assert found[f"sepin_{key}"] == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(("n", "pairs"), [(2, 2), (250, 250), (251, 250), (360, 360), (2500, 2000)])
def test_hardly_a_picture_is_left_out_of_sepin(tmp_path, monkeypatch, n, pairs):
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", n=30, n_test=n))
    seen = []
    monkeypatch.setattr(metrics, "sepin", lambda z1, z2, k: seen.append((len(z1), len(z2))) or {"all": 0.0})
    measure_run(tmp_path / "run")
    assert seen == [(pairs, pairs)]


def test_what_is_kept_is_not_measured_again(folder, monkeypatch):
    measure_run(folder)
    changed = kept(folder) | {"knn_z": 7.0, "effective_rank": 8.0, "sepin_all": 9.0}
    RunFolder(folder).metrics.write_text(json.dumps(changed))
    for name in ("linear_probe", "load"):
        monkeypatch.setattr(measure, name, lambda *_: pytest.fail("measured again"))
    assert measure_run(folder) == changed


def test_an_interrupted_measurement_goes_on_where_it_was(folder, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(metrics, "sepin", interrupt)
        with pytest.raises(KeyboardInterrupt):
            measure_run(folder)
    assert set(kept(folder)) == (LABEL_FREE | LABELLED) - {"sepin_1", "sepin_10", "sepin_all"}
    monkeypatch.setattr(measure, "linear_probe", lambda *_: pytest.fail("measured again"))
    assert set(measure_run(folder)) == LABEL_FREE | LABELLED


def test_what_a_supervised_run_wrote_of_itself_stays_and_the_rest_is_added(folder):
    of_training = {"sparsity": 0.5, "alive": 3.0, "consistency": 0.25, "accuracy": 0.75}
    RunFolder(folder).metrics.write_text(json.dumps(of_training))
    found = measure_run(folder)
    assert found["accuracy"] == 0.75
    assert set(found) == LABEL_FREE | LABELLED | {"accuracy"}
    assert found["alive"] == metrics.alive(features_of_run(folder)[1].z)


def test_unlabelled_pictures_are_measured_without_classes(tmp_path):
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", labelled=False))
    assert set(measure_run(tmp_path / "run")) == LABEL_FREE


def test_without_a_test_part_the_training_part_is_measured(tmp_path):
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", n=36, n_test=0))
    found = measure_run(tmp_path / "run")
    assert found["n"] == 36
    assert set(found) == LABEL_FREE | LABELLED


@pytest.mark.parametrize(("n", "n_test"), [(3, 1), (3, 2), (8, 8)])
def test_a_handful_of_pictures_will_do(tmp_path, n, n_test):
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", n, n_test), dimensions=5)
    found = measure_run(tmp_path / "run")
    assert found["n"] == n_test
    assert ("sepin_all" in found) == ("retrieval_map" in found) == (n_test > 1)


def test_signed_features_are_measured_too(tmp_path):
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz"), activation="identity")
    found = measure_run(tmp_path / "run")
    assert (found["sparsity"], found["alive"]) == (0.0, 12.0)


def test_files_that_are_skipped_are_left_out_everywhere(tmp_path):
    files(tmp_path / "pets" / "train" / "cat", 12, bad=(2,))
    files(tmp_path / "pets" / "train" / "dog", 12)
    files(tmp_path / "pets" / "test" / "dog", 6, bad=(5,))
    finished_run(tmp_path / "run", f"folder:{tmp_path / 'pets'}", channels=3, on_bad_file="skip")
    found = measure_run(tmp_path / "run")
    assert found["n"] == 5
    assert set(found) == LABEL_FREE | LABELLED


def test_a_run_that_is_not_done_is_refused(folder, tmp_path):
    RunFolder(folder).model.unlink()
    for place in (folder, tmp_path / "none"):
        message = f"Expected a finished run in {place}, got none; train it, or go on with it by --resume."
        with pytest.raises(UserError, match=re.escape(message)):
            measure_run(place)


def test_a_collapsed_run_is_told_apart(folder):
    model = models.load(folder)
    with torch.no_grad():
        for parameter in model.projector.parameters():
            parameter.fill_(-1.0)
    models.save(model, RunFolder(folder).model)
    with pytest.raises(UserError, match=r"^Expected features to measure, got only zeros from .*run, whose dimensions"):
        measure_run(folder)


@pytest.mark.parametrize("content", ["{", "[1, 2]", "\xff"])
def test_a_metrics_file_that_is_something_else_is_refused(folder, content):
    RunFolder(folder).metrics.write_text(content, encoding="latin-1")
    with pytest.raises(UserError, match=r"^Expected measurements in JSON in .*metrics\.json, got something else"):
        measure_run(folder)


def test_the_values_can_be_written_as_json_by_anyone(folder):
    found = measure_run(folder)
    assert all(type(value) is float and np.isfinite(value) for value in found.values())
