"""Fine-tuning begins with the run's backbone and moves all of it; it goes on, it is kept, and test data has no say."""

import json
import re

import numpy as np
import pytest
import torch

from nonneg import models, training
from nonneg._errors import UserError
from nonneg.data import load
from nonneg.data.views import centre_crop
from nonneg.evaluation.few_shot import labelled
from nonneg.evaluation.fine_tuning import fine_tune, measure
from nonneg.evaluation.subject import Source, Subject
from nonneg.training import RunFolder, recipes
from nonneg.training.recipes import read_file
from tests.data.pictures import save
from tests.finished_runs import array_file, finished_run
from tests.training.tiny import Killed, Recorder, kill, weights


@pytest.fixture
def folder(tmp_path):
    finished_run(tmp_path / "run", array_file(tmp_path / "data.npz", n=300, n_test=60))
    return tmp_path / "run"


def altered(path, **arrays):
    """The array file with other arrays in it."""
    with np.load(path) as before:
        np.savez(path, **(dict(before) | arrays))


def by_hand(run):
    """Accuracy on the test part by the model and the classifier of the last checkpoint."""
    model, pictures = models.load(run.path), load(read_file(run.recipe).data.name).test
    state = torch.load(run.last_checkpoint, weights_only=True)["objective"]
    weight, bias = (state[f"method.classifier.{name}"] for name in ("weight", "bias"))
    with torch.no_grad():
        scores = model.encode(centre_crop(pictures.pixels, 8)) @ weight.T + bias
    return float((scores.argmax(1) == pictures.labels).double().mean())


def test_a_run_is_measured_by_its_fine_tuned_classifier(folder):
    told = []
    found = measure(Subject.of_run(folder), lambda *n: told.append(n))
    run = RunFolder(folder / "fine-tuned")
    assert list(found) == ["accuracy"]
    result = found["accuracy"]
    assert result.value == pytest.approx(by_hand(run))
    assert result.value > 0.9, "greys that tell the class"
    assert result.low <= result.value <= result.high
    assert (result.n, result.seed) == (60, 0)
    assert told == [(step, 10) for step in range(1, 11)], "10 epochs of a step: 300 pictures are one batch of 256"
    assert not RunFolder(folder).metrics.exists(), "the run's own measurements are written by who asked for them"


def test_the_recipe_is_the_runs_own_but_for_what_fine_tuning_is(folder):
    before, after = read_file(RunFolder(folder).recipe), read_file(fine_tune(folder, folder / "new", 2).recipe)
    assert after.data == before.data
    assert after.seed == before.seed
    network = {"projector": (), "activation": "identity"}
    assert after.model.model_dump() == before.model.model_dump() | network
    changed = {key for key, value in after.views.model_dump().items() if getattr(before.views, key) != value}
    assert changed <= {"crop", "jitter", "grey", "blur", "solarise"}
    assert (after.views.jitter, after.views.grey, after.views.blur, after.views.solarise) == (0, 0, 0, 0)
    assert after.views.crop == (0.4, 1.0)
    assert (after.method.name, after.optimiser.name, after.optimiser.lr) == ("ce", "sgd", 0.05)
    assert (after.epochs, after.batch_size, after.schedule.warm_up_epochs) == (2, 256, 0)
    assert after.start_from == folder.resolve()


def test_a_run_of_chosen_dimensions_is_fine_tuned_on_all_of_h(folder):
    path = RunFolder(folder).recipe
    recipe = read_file(path)
    recipes.write(recipe.model_copy(update={"model": recipe.model.model_copy(update={"kept": (3, 1)})}), path)
    run = fine_tune(folder, folder / "new", 1)
    assert read_file(run.recipe).model.kept is None
    assert models.load(run.path).dimensions == models.load(folder).width


def test_it_begins_with_the_runs_backbone_and_moves_all_of_it(folder):
    before = models.load(folder).backbone
    after = models.load(fine_tune(folder, folder / "new", 1).path).backbone
    for (name, old), new in zip(before.named_parameters(), after.parameters(), strict=True):
        assert not torch.equal(old, new), name
        assert (old - new).norm() < 0.2 * old.norm() + 0.2, name


def test_what_is_done_is_used_again_wherever_the_run_is(folder, tmp_path, monkeypatch):
    first = measure(Subject.of_run(folder), lambda *_: None)
    made = weights(RunFolder(folder / "fine-tuned"))
    folder.rename(tmp_path / "moved")
    monkeypatch.setattr(training, "train", lambda *_, **__: pytest.fail("trained again"))
    assert measure(Subject.of_run(tmp_path / "moved"), lambda *n: pytest.fail("a step was made")) == first
    assert weights(RunFolder(tmp_path / "moved" / "fine-tuned")) == made


@pytest.mark.parametrize("after", [1, 4])
def test_what_was_stopped_goes_on_to_the_same_end(folder, tmp_path, after):
    whole = fine_tune(folder, tmp_path / "whole", 5)
    with pytest.raises(Killed):
        fine_tune(folder, tmp_path / "parts", 5, watcher=Recorder(after, kill))
    watcher = Recorder()
    parts = fine_tune(folder, tmp_path / "parts", 5, watcher=watcher)
    assert watcher.steps == list(range(after, 6)), "from the last checkpoint, after the epoch before"
    assert weights(parts) == weights(whole)
    assert json.loads(parts.metrics.read_text()) == json.loads(whole.metrics.read_text())


def test_a_share_of_the_labels_is_the_few_shot_one(folder, tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(training, "train", lambda recipe, out, **how: given.append((recipe, how["data"])))
    fine_tune(folder, tmp_path / "new", 3, label_share=0.1)
    ((recipe, data),) = given
    whole = Source(folder).data
    chosen = labelled(whole.train.labels, 0.1)
    assert len(chosen) == 30
    assert torch.equal(data.train.pixels, whole.train.pixels[chosen])
    assert torch.equal(data.train.labels, whole.train.labels[chosen])
    assert torch.equal(data.test.pixels, whole.test.pixels)
    assert (recipe.name, recipe.batch_size) == ("run-fine-tuned-0.1", 30)


def test_a_share_of_files_is_trained_on_and_goes_on(tmp_path):
    for part, n in (("train", 24), ("test", 6)):
        for i in range(n):
            save(tmp_path / "data" / part / f"class{i % 3}" / f"{i:02}.png", 20 + i % 3, 24, seed=i)
    finished_run(tmp_path / "run", f"folder:{tmp_path / 'data'}", channels=3)
    with pytest.raises(Killed):
        fine_tune(tmp_path / "run", tmp_path / "new", 3, label_share=0.5, watcher=Recorder(2, kill))
    watcher = Recorder()
    run = fine_tune(tmp_path / "run", tmp_path / "new", 3, label_share=0.5, watcher=watcher)
    assert run.is_done()
    assert watcher.plans[0].views_a_step == 12
    assert watcher.steps == [2, 3]


def test_the_weights_do_not_depend_on_the_test_part(folder, tmp_path):
    expected = weights(fine_tune(folder, tmp_path / "a", 3))
    with np.load(tmp_path / "data.npz") as arrays:
        leak = {"test_images": 255 - arrays["test_images"], "test_labels": arrays["test_labels"][::-1]}
    altered(tmp_path / "data.npz", **leak)
    assert weights(fine_tune(folder, tmp_path / "b", 3)) == expected


def test_labels_that_have_nothing_to_do_with_the_pictures_leave_chance(tmp_path):
    data = array_file(tmp_path / "data.npz", n=300, n_test=600)
    rng = np.random.default_rng(0)
    altered(tmp_path / "data.npz", labels=rng.integers(0, 3, 300), test_labels=rng.integers(0, 3, 600))
    finished_run(tmp_path / "run", data)
    found = measure(Subject.of_run(tmp_path / "run"), lambda *_: None)["accuracy"]
    assert abs(found.value - 1 / 3) < 4 * (2 / 9 / 600) ** 0.5
    assert found.low < found.value < found.high
    assert found.value == pytest.approx(by_hand(RunFolder(tmp_path / "run" / "fine-tuned")))


def test_the_accuracy_is_the_one_that_training_wrote(folder):
    subject, run = Subject.of_run(folder), fine_tune(folder, folder / "fine-tuned", 10)
    run.metrics.write_text(json.dumps({"training": {"accuracy": {"value": 0.75, "n": 60}}}))
    found = measure(subject, lambda *_: None)["accuracy"]
    assert (found.value, found.n) == (0.75, 60)
    assert 0.6 < found.low < 0.75 < found.high < 0.9


def test_an_accuracy_that_is_not_there_is_missed(folder):
    subject, run = Subject.of_run(folder), fine_tune(folder, folder / "fine-tuned", 10)
    message = f"Expected an accuracy in {run.metrics}, got none; remove {run.path} to fine-tune again."
    for written in ("{}", '{"training": {}}'):
        run.metrics.write_text(written)
        with pytest.raises(UserError, match="^" + re.escape(message)):
            measure(subject, lambda *_: None)
    run.metrics.unlink()
    with pytest.raises(UserError, match="^" + re.escape(message)):
        measure(subject, lambda *_: None)
    run.metrics.write_text("[1]")
    with pytest.raises(UserError, match=r"^Expected measurements in JSON in .*metrics\.json, got something else"):
        measure(subject, lambda *_: None)


def test_what_was_made_in_another_way_is_refused(folder):
    fine_tune(folder, folder / "new", 1)
    how = "to be fine-tuned with epochs 2, got one with 1; remove it, or choose another folder."
    message = f"Expected {folder / 'new'} {how}"
    with pytest.raises(UserError, match="^" + re.escape(message)):
        fine_tune(folder, folder / "new", 2)
    with pytest.raises(UserError, match=r"with name 'run-fine-tuned-0\.1', got one with 'run-fine-tuned'"):
        fine_tune(folder, folder / "new", 1, label_share=0.1)


def test_what_cannot_be_fine_tuned_is_refused(folder, tmp_path):
    for share in (0, 1.5):
        with pytest.raises(UserError, match=rf"^Expected a share of labels above 0 and at most 1, got {share}"):
            fine_tune(folder, tmp_path / "new", 1, share)
    with pytest.raises(UserError, match=r"^Expected epochs to be greater than or equal to 1, got 0"):
        fine_tune(folder, tmp_path / "new", 0)
    np.savez(tmp_path / "a.npz", features=np.eye(3), labels=np.arange(3))
    with pytest.raises(UserError, match=r"^Expected a run, whose model can be trained, got .*a\.npz, which holds"):
        measure(Subject.of_arrays(tmp_path / "a.npz"), lambda *_: None)
    finished_run(tmp_path / "bare", array_file(tmp_path / "b.npz", labelled=False))
    with pytest.raises(UserError, match=r"^Expected labelled data for this measurement, got .*bare without labels"):
        measure(Subject.of_run(tmp_path / "bare"), lambda *_: None)
    for share in (1, 0.5):
        with pytest.raises(UserError, match=r"^Expected labelled data"):
            fine_tune(tmp_path / "bare", tmp_path / "new", 1, share)
    assert not (tmp_path / "new").exists(), "nothing was written"
    RunFolder(folder).model.unlink()
    with pytest.raises(UserError, match=r"^Expected a finished run in .*run, got none; train it"):
        fine_tune(folder, tmp_path / "new", 1)
