"""A shortened run: a run like any other, whose features are those columns of the long one's."""

import re

import numpy as np
import pytest
import torch
import yaml

from nonneg import models, training
from nonneg._errors import UserError
from nonneg.data import load
from nonneg.evaluation import features_of_run
from nonneg.evaluation.shortened_run import shorten
from nonneg.report import dimension_rows
from nonneg.training import RunFolder, recipes
from nonneg.training.recipe import inherit, resolve
from tests.finished_runs import array_file, finished_run
from tests.training import tiny


@pytest.fixture
def run(tmp_path):
    """A run's folder and its data."""
    data = array_file(tmp_path / "data.npz")
    finished_run(tmp_path / "run", data)
    return tmp_path / "run", load(data)


def most_expected(folder, m):
    """The slow way: row by row, and sorted by Python."""
    z = features_of_run(folder)[0].z.double().numpy()
    expected = np.mean([row / max(np.linalg.norm(row), 1e-12) for row in z], axis=0)
    return sorted(range(z.shape[1]), key=lambda k: (-expected[k], k))[:m]


@pytest.mark.parametrize("m", [1, 5, 12])
def test_its_features_are_the_most_expected_columns(run, tmp_path, m):
    folder, data = run
    columns = most_expected(folder, m)
    short = shorten(folder, m, tmp_path / "short")
    assert recipes.read_file(short.recipe).model.kept == tuple(columns)
    for found, whole in zip(features_of_run(short.path), features_of_run(folder), strict=True):
        assert torch.equal(found.z, whole.z[:, columns])
        assert torch.equal(found.h, whole.h)
        assert torch.equal(found.labels, whole.labels)
        assert torch.equal(found.numbers, whole.numbers)
    x = data.test.pixels.float() / 255
    with torch.no_grad():
        ours, theirs = models.load(short.path).both(x), models.load(folder).both(x)
    assert torch.equal(ours[0], theirs[0])
    assert torch.allclose(ours[1], theirs[1][:, columns], rtol=1e-6, atol=1e-6)


def test_the_features_kept_are_those_that_its_model_makes(run, tmp_path):
    short = shorten(run[0], 4, tmp_path / "short")
    cut = features_of_run(short.path)
    for part in ("train", "test"):
        short.features(part).unlink()
    for made, kept in zip(features_of_run(short.path), cut, strict=True):
        assert torch.allclose(made.z, kept.z, rtol=1e-6, atol=1e-6)


def test_the_folder_holds_what_a_run_is_and_nothing_that_was_measured(run, tmp_path):
    folder, _ = run
    (folder / "log.csv").write_text("epoch,loss\n1,2.5\n")
    (folder / "metrics.json").write_text("{}")
    (folder / "report").mkdir()
    short = shorten(folder, 3, tmp_path / "new" / "short")
    files = sorted(str(path.relative_to(short.path)) for path in short.path.rglob("*") if path.is_file())
    assert files == [".lock", "features/test.npz", "features/train.npz", "log.csv", "model.safetensors", "recipe.yaml"]
    assert short.log.read_bytes() == (folder / "log.csv").read_bytes()


def test_the_recipe_is_the_runs_but_for_what_is_kept(run, tmp_path):
    short = shorten(run[0], 3, tmp_path / "short")
    ours, theirs = (yaml.safe_load(f.recipe.read_text()) for f in (short, RunFolder(run[0])))
    assert len(ours["model"].pop("kept")) == 3
    assert theirs["model"].pop("kept") is None
    assert ours == theirs
    assert models.load(short.path).settings == recipes.read_file(short.recipe).model


def test_shortened_again_it_is_as_if_shortened_once(run, tmp_path):
    folder, _ = run
    once = shorten(folder, 3, tmp_path / "once")
    twice = shorten(shorten(folder, 7, tmp_path / "seven").path, 3, tmp_path / "twice")
    # Rows are scaled anew with fewer columns, which may rank them otherwise: so the columns are looked up.
    kept = recipes.read_file(twice.recipe).model.kept
    assert set(kept) <= set(most_expected(folder, 7))
    for found, whole in zip(features_of_run(twice.path), features_of_run(folder), strict=True):
        assert torch.equal(found.z, whole.z[:, list(kept)])
    assert models.load(twice.path).dimensions == models.load(once.path).dimensions == 3


def test_signed_features_of_a_control_are_ranked_as_they_are(tmp_path):
    finished_run(tmp_path / "run", array_file(tmp_path / "a.npz"), activation="identity")
    short = shorten(tmp_path / "run", 4, tmp_path / "short")
    assert recipes.read_file(short.recipe).model.kept == tuple(most_expected(tmp_path / "run", 4))
    assert features_of_run(tmp_path / "run")[0].z.min() < 0


def test_unlabelled_data_and_data_without_a_test_part_will_do(tmp_path):
    finished_run(tmp_path / "run", array_file(tmp_path / "a.npz", n_test=0, labelled=False))
    short = shorten(tmp_path / "run", 4, tmp_path / "short")
    train, test = features_of_run(short.path)
    assert train.labels is None
    assert torch.equal(train.z, test.z)


def test_features_that_are_there_are_not_made_again(run, tmp_path):
    folder, _ = run
    features_of_run(folder)
    (tmp_path / "data.npz").unlink()
    told = []
    assert shorten(folder, 2, tmp_path / "short", lambda *n: told.append(n)).is_done()
    assert told == []


def test_others_take_it_for_a_run(run, tmp_path):
    folder, _ = run
    short = shorten(folder, 5, tmp_path / "short")
    rows = dimension_rows(short.path, "short", rows=5)
    long = dimension_rows(folder, "long", rows=5)
    kept = recipes.read_file(short.recipe).model.kept
    assert sorted(kept[k] for k in rows.dimensions) == sorted(long.dimensions)
    before = {path: path.read_bytes() for path in short.path.rglob("*") if path.is_file()}
    assert training.resume(short.path).is_done()
    assert {path: path.read_bytes() for path in short.path.rglob("*") if path.is_file()} == before


# Training


def test_nothing_is_trained_by_a_recipe_that_says_what_is_kept(run, tmp_path):
    recipe = tiny.recipe(model={"kept": [2, 0]})
    message = (
        "Expected a recipe without model.kept to train by, got one that keeps 2 columns; say model.kept=null, and "
        "shorten the finished run by 'nonneg select'."
    )
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        training.train(recipe, tmp_path / "new", data=tiny.data())
    assert not (tmp_path / "new").exists()
    short = shorten(run[0], 3, tmp_path / "short")
    short.model.unlink()  # as if it had been killed before the end
    with pytest.raises(UserError, match=r"^Expected a recipe without model\.kept to train by, got one that keeps 3 "):
        training.resume(short.path)
    again = recipes.read(str(short.recipe), ["model.kept=null"])
    assert resolve(again, load(f"npz:{tmp_path / 'data.npz'}")) == recipes.read_file(RunFolder(run[0]).recipe)


def test_a_run_that_begins_with_its_backbone_has_all_features(run, tmp_path):
    short = shorten(run[0], 3, tmp_path / "short")
    recipe = tiny.recipe(start_from=str(short.path), model={"projector": [9]})
    assert inherit(recipe, models.load(short.path).settings).model.kept is None


# Refused


def refused(folder, m, out, message):
    with pytest.raises(UserError, match=f"^{message}") as caught:
        shorten(folder, m, out)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("m", [0, -1, 13])
def test_more_dimensions_than_there_are_or_none(run, tmp_path, m):
    folder, _ = run
    message = f"Expected dims between 1 and 12, the number of dimensions of {folder}, got {m}; choose one of these."
    refused(folder, m, tmp_path / "short", re.escape(message) + "$")
    refused(shorten(folder, 4, tmp_path / "four").path, 5, tmp_path / "short", "Expected dims between 1 and 4, ")
    assert not (tmp_path / "short").exists()


def test_a_folder_that_is_there(run, tmp_path):
    folder, _ = run
    refused(folder, 3, folder, f"Expected a new folder for the run, got {folder}, which is there already; go on with ")
    (tmp_path / "file").touch()
    refused(folder, 3, tmp_path / "file", "Expected a new folder for the run, got .*file, which is there already; ")
    refused(folder, 3, tmp_path / "file" / "short", "Expected to be able to write .*, got: File exists")
    assert not RunFolder(folder).features("train").exists(), "the work was done"


def test_a_run_that_is_not_done(run, tmp_path):
    folder, _ = run
    RunFolder(folder).model.unlink()
    refused(folder, 3, tmp_path / "short", f"Expected a finished run in {folder}, got none; train it, or go on with it")
    refused(tmp_path / "none", 3, tmp_path / "short", "Expected a finished run in .*none, got none; ")


def test_somebody_else_at_work_in_the_folder(run, tmp_path, monkeypatch):
    folder, _ = run
    out = RunFolder(tmp_path / "short")

    def meanwhile(*how):
        recipes.write(recipes.read_file(RunFolder(folder).recipe), out.recipe)
        return features_of_run(*how)

    monkeypatch.setattr("nonneg.evaluation.shortened_run.features_of_run", meanwhile)
    refused(folder, 3, out.path, "Expected a new folder for the run, got .*short, which is there already; ")
    assert [path.name for path in out.path.iterdir()] == ["recipe.yaml"]
