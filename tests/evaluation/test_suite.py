"""Every number of metrics.json is the measurement by hand; what stands there is not measured again."""

import json
import re

import numpy as np
import pytest
import torch

from nonneg import evaluation, metrics, models
from nonneg._errors import UserError
from nonneg.data import Batches, load
from nonneg.evaluation import Subject, evaluate, features_of_run, linear_probe, measure_run, results, suite
from nonneg.evaluation.results import Result
from nonneg.training import RunFolder
from nonneg.training.recipes import read_file
from tests.data.pictures import files
from tests.finished_runs import array_file, finished_run

LABEL_FREE = {
    "properties": {"sparsity", "alive", "correlation", "effective_rank"},
    "sepin": {"1", "10", "all"},
}
LABELLED = {
    "linear_probe": {"h", "z"},
    "knn": {"h", "z"},
    "properties": {"consistency"} | LABEL_FREE["properties"],
    "retrieval": {"precision", "map"},
    "sepin": LABEL_FREE["sepin"],
}


@pytest.fixture
def folder(tmp_path):
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", n=60, n_test=45))
    return tmp_path / "run"


def names(found):
    return {part: set(numbers) for part, numbers in found.items()}


def values(found):
    return {(part, name): result.value for part, numbers in found.items() for name, result in numbers.items()}


def forbid(monkeypatch, *parts):
    for part in parts:
        again = suite.Protocol(lambda *_: pytest.fail("measured again"))
        monkeypatch.setitem(suite.PROTOCOLS, part, again)


def test_every_value_is_the_measurement_of_the_runs_features(folder):
    found = measure_run(folder)
    train, test = features_of_run(folder)
    y, y_test = train.labels, test.labels
    retrieval = metrics.retrieval(test.z, y_test, k=10)
    expected = {
        ("linear_probe", "h"): linear_probe(train.h, y, test.h, y_test),
        ("linear_probe", "z"): linear_probe(train.z, y, test.z, y_test),
        ("knn", "h"): metrics.knn_accuracy(train.h, y, test.h, y_test, k=20),
        ("knn", "z"): metrics.knn_accuracy(train.z, y, test.z, y_test, k=20),
        ("properties", "sparsity"): metrics.sparsity(test.z),
        ("properties", "alive"): metrics.alive(test.z),
        ("properties", "correlation"): metrics.correlation(test.z),
        ("properties", "effective_rank"): metrics.effective_rank(test.z),
        ("properties", "consistency"): metrics.class_consistency(test.z, y_test),
        ("retrieval", "precision"): retrieval["precision"],
        ("retrieval", "map"): retrieval["map"],
    }
    came = values(found)
    assert {key: came[key] for key in expected} == pytest.approx(expected, rel=1e-12)
    assert names(found) == LABELLED
    assert results.read(RunFolder(folder).metrics) == found


def test_every_number_says_how_many_samples_and_seconds_and_shares_their_interval(folder):
    for part, numbers in measure_run(folder).items():
        for name, result in numbers.items():
            assert (result.n, result.seconds is not None) == (45, True), (part, name)
            if name in ("h", "z", "consistency", "sparsity", "precision", "map"):
                assert result.low <= result.value <= result.high
                assert result.seed == 0
            else:
                assert (result.low, result.high) == (None, None)


def test_of_more_than_five_classes_the_probe_says_top_5_too(tmp_path):
    data = array_file(tmp_path / "data.npz", n=70, n_test=35, classes=tuple("abcdefg"))
    finished_run(tmp_path / "run", data)
    found = measure_run(tmp_path / "run", ["linear_probe"])["linear_probe"]
    assert set(found) == {"h", "z", "h/top5", "z/top5"}
    assert found["h/top5"].value >= found["h"].value


def test_sepin_is_of_two_views_of_the_test_pictures_by_the_runs_views(folder):
    model, recipe = models.load(folder), read_file(RunFolder(folder).recipe)
    split = load(recipe.data.name).test
    (batch,) = Batches(split, recipe.views, 45, 2, 0, torch.device("cpu"))
    with torch.no_grad():
        z1, z2 = (model.features(view) for view in batch.views)
    assert not torch.allclose(z1, z2)
    found = measure_run(folder, ["sepin"])["sepin"]
    for key, value in metrics.sepin(z1, z2, k=(1, 10)).items():
        assert found[str(key)].value == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(("n", "pairs"), [(2, 2), (250, 250), (251, 250), (360, 360), (2500, 2000)])
def test_hardly_a_picture_is_left_out_of_sepin(tmp_path, monkeypatch, n, pairs):
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", n=30, n_test=n))
    seen = []
    monkeypatch.setattr(metrics, "sepin", lambda z1, z2, k: seen.append((len(z1), len(z2))) or {"all": 0.0})
    measure_run(tmp_path / "run", ["sepin"])
    assert seen == [(pairs, pairs)]


def test_what_is_kept_is_not_measured_again_unless_asked(folder, monkeypatch):
    before = measure_run(folder)
    changed = {part: dict.fromkeys(numbers, Result(7.0, 1)) for part, numbers in before.items()}
    results.write(RunFolder(folder).metrics, changed)
    assert values(measure_run(folder, ["knn"], again=True)) == values(changed) | {
        ("knn", name): before["knn"][name].value for name in ("h", "z")
    }
    results.write(RunFolder(folder).metrics, changed)
    forbid(monkeypatch, *changed)
    assert measure_run(folder) == changed


def test_an_interrupted_measurement_goes_on_where_it_was(folder, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(metrics, "sepin", interrupt)
        with pytest.raises(KeyboardInterrupt):
            measure_run(folder)
    assert set(results.read(RunFolder(folder).metrics)) == set(LABELLED) - {"sepin"}
    forbid(monkeypatch, *(set(LABELLED) - {"sepin"}))
    assert names(measure_run(folder)) == LABELLED


def test_what_a_supervised_run_wrote_of_itself_stays_and_the_rest_is_added(folder):
    of_training = {"training": {"accuracy": {"value": 0.75, "n": 45}}}
    RunFolder(folder).metrics.write_text(json.dumps(of_training))
    found = measure_run(folder)
    assert found["training"] == {"accuracy": Result(0.75, 45)}
    assert names(found) == LABELLED | {"training": {"accuracy"}}


def test_unlabelled_pictures_are_measured_without_classes(tmp_path):
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", labelled=False))
    assert names(measure_run(tmp_path / "run")) == LABEL_FREE


def test_without_a_test_part_the_training_part_is_measured(tmp_path):
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", n=36, n_test=0))
    found = measure_run(tmp_path / "run")
    assert found["knn"]["h"].n == 36
    assert names(found) == LABELLED


@pytest.mark.parametrize(("n", "n_test"), [(3, 1), (3, 2), (8, 8)])
def test_a_handful_of_pictures_will_do(tmp_path, n, n_test):
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", n, n_test), dimensions=5)
    found = measure_run(tmp_path / "run")
    assert found["properties"]["alive"].n == n_test
    assert ("sepin" in found) == ("retrieval" in found) == (n_test > 1)


def test_signed_features_are_measured_too(tmp_path):
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz"), activation="identity")
    found = measure_run(tmp_path / "run")["properties"]
    assert (found["sparsity"].value, found["alive"].value) == (0.0, 12.0)


def test_files_that_are_skipped_are_left_out_everywhere(tmp_path):
    files(tmp_path / "pets" / "train" / "cat", 12, bad=(2,))
    files(tmp_path / "pets" / "train" / "dog", 12)
    files(tmp_path / "pets" / "test" / "dog", 6, bad=(5,))
    finished_run(tmp_path / "run", f"folder:{tmp_path / 'pets'}", channels=3, on_bad_file="skip")
    found = measure_run(tmp_path / "run")
    assert found["properties"]["sparsity"].n == 5
    assert names(found) == LABELLED


def test_features_without_a_run_have_the_same_measurements_but_those_of_views(folder, tmp_path):
    train, test = features_of_run(folder)
    file = tmp_path / "h.npz"
    np.savez(
        file, features=train.z, labels=train.labels, test_features=test.z, test_labels=test.labels, classes=["a", "b"]
    )
    ours = evaluate(Subject.of_arrays(file), tmp_path / "out.json")
    theirs = measure_run(folder)
    assert set(ours) == set(LABELLED) - {"sepin"}
    assert values(ours)["knn", "z"] == values(ours)["knn", "h"] == values(theirs)["knn", "z"]
    assert values(ours)["retrieval", "map"] == values(theirs)["retrieval", "map"]


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
        measure_run(folder, ["properties"])


def test_a_protocol_that_nobody_knows_is_refused_with_the_nearest():
    with pytest.raises(
        UserError, match=r"^Expected a suite \(quick, full\) or a protocol .* did you mean 'retrieval'\?"
    ):
        suite.chosen(["quick", "retreival"])


def shuffled_or_not(tmp_path, shuffle):
    """An array file of features that are one-hot by class, under labels that are theirs or anybody's."""
    generator = torch.Generator().manual_seed(0)
    y, y_test = torch.arange(1000) % 10, torch.arange(500) % 10
    x, x_test = torch.eye(10)[y], torch.eye(10)[y_test]
    if shuffle:
        y, y_test = y[torch.randperm(1000, generator=generator)], y_test[torch.randperm(500, generator=generator)]
    np.savez(tmp_path / "f.npz", features=x, labels=y, test_features=x_test, test_labels=y_test)
    return values(evaluate(Subject.of_arrays(tmp_path / "f.npz"), tmp_path / "out.json"))


def test_features_that_are_the_classes_have_the_known_value_of_everything(tmp_path):
    found = shuffled_or_not(tmp_path, shuffle=False)
    for key in [("linear_probe", "h"), ("knn", "z"), ("retrieval", "precision"), ("retrieval", "map")]:
        assert found[key] == 1.0
    assert found["properties", "consistency"] == 1.0
    assert found["properties", "sparsity"] == pytest.approx(0.9)
    assert found["properties", "alive"] == 10
    assert found["properties", "correlation"] == pytest.approx(0.0, abs=1e-6)
    assert found["properties", "effective_rank"] == pytest.approx(10.0)


def test_shuffled_labels_get_chance_everywhere(tmp_path):
    found = shuffled_or_not(tmp_path, shuffle=True)
    for key in [("linear_probe", "h"), ("knn", "z"), ("retrieval", "precision")]:
        assert found[key] == pytest.approx(0.1, abs=0.05)
    assert found["properties", "consistency"] < 0.25  # the most frequent of 10 classes among 50 samples
    assert found["linear_probe", "h/top5"] == pytest.approx(0.5, abs=0.1)


def test_the_map_of_the_package_names_every_protocol():
    assert {name for name in {**suite.PROTOCOLS, **suite.ELSEWHERE} if name not in evaluation.__doc__} == set()
