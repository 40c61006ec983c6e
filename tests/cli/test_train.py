"""`nonneg train`: what it prints, where the run is, several seeds, going on, and that no library speaks."""

import csv
import os
import re
import signal
import subprocess
import sys

import pytest
import torch

from nonneg import models
from nonneg.training import RunFolder, recipes
from nonneg.training.progress_bar import ProgressBar
from tests.finished_runs import array_file

LINES = (
    r"tiny begins: 2 epochs of 2 steps on cpu in float32, in {folder}\n"
    r"epoch 1/2  loss \d\.\d{{3}}  sparsity [\d.]+%  alive \d+/12  [\d,]+ views/s  0:\d\d left\n"
    r"epoch 2/2  loss \d\.\d{{3}}  sparsity [\d.]+%  alive \d+/12  [\d,]+ views/s  0:00 left\n"
    r"Done: {folder}\n"
)


def weights(folder):
    return torch.cat([p.detach().flatten() for p in models.load(folder).parameters()])


def test_a_run_is_told_line_by_line_and_is_where_its_name_says(nonneg, tmp_path):
    said = nonneg("train", "tiny.yaml", "model.activation=relu")
    assert (said.status, said.err) == (0, "")
    assert re.fullmatch(LINES.format(folder="runs/tiny"), said.out), said.out
    run = RunFolder(tmp_path / "runs" / "tiny")
    assert run.is_done()
    recipe = recipes.read_file(run.recipe)
    assert (recipe.name, recipe.epochs, recipe.model.activation) == ("tiny", 2, "relu")
    with run.log.open() as file:
        rows = list(csv.DictReader(file))
    assert [f"loss {float(row['loss']):.3f}" in said.out for row in rows] == [True, True]


def test_several_seeds_are_a_run_each_as_if_trained_alone(nonneg, tmp_path):
    said = nonneg("train", "tiny.yaml", "seed=0,1", "epochs=1", "--out", "a/b")
    assert said.status == 0
    assert re.findall("^Done: (.*)$", said.out, re.MULTILINE) == ["a/b-seed0", "a/b-seed1"]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["b-seed0", "b-seed1"]
    assert [recipes.read_file(tmp_path / f"a/b-seed{seed}/recipe.yaml").seed for seed in (0, 1)] == [0, 1]
    nonneg("train", "tiny.yaml", "seed=1", "epochs=1", "--out", "alone")
    assert torch.equal(weights(tmp_path / "alone"), weights(tmp_path / "a/b-seed1"))
    assert not torch.equal(weights(tmp_path / "a/b-seed0"), weights(tmp_path / "a/b-seed1"))


@pytest.mark.parametrize("words", ["seed=3,4", "seed=[3,4]", "seed=3,4 epochs=1 name=other"])
def test_several_seeds_without_a_folder_are_named_after_the_recipe(nonneg, tmp_path, monkeypatch, words):
    trained = []
    monkeypatch.setattr("nonneg.training.train", lambda recipe, folder, watcher: trained.append((recipe, str(folder))))
    nonneg("train", "tiny.yaml", *words.split())
    name = "other" if "other" in words else "tiny"
    assert [(recipe.seed, folder) for recipe, folder in trained] == [
        (3, f"runs/{name}-seed3"),
        (4, f"runs/{name}-seed4"),
    ]


WRONG_SEEDS = [
    ("seed=0,0", "Expected different seeds, got 0 twice; leave one out."),
    ("seed=1,01", "Expected different seeds, got 1 twice; leave one out."),
    ("seed=a,b", "Expected seed to be a valid integer"),
    ("seed=0,", "Expected seed to be"),
    ("seed=0,-1", "Expected seed to be greater than or equal to 0, got -1."),
    ("seed=0,1 epocs=3", "did you mean 'epochs'?"),
    ("seed=0,1 --out .", "Expected a folder's name for the runs of several seeds, got --out .; give one."),
    ("seed=0,1 --out ..", "Expected a folder's name for the runs of several seeds, got --out ..; give one."),
]


@pytest.mark.parametrize(("words", "line"), WRONG_SEEDS, ids=[words for words, _ in WRONG_SEEDS])
def test_wrong_seeds_are_refused_before_anything_is_trained(refused, tmp_path, words, line):
    before = sorted(tmp_path.rglob("*"))
    assert line in refused("train", "tiny.yaml", *words.split())
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_is_there_is_refused_before_the_first_of_several_seeds(refused, tmp_path):
    (tmp_path / "run-seed1").mkdir()
    (tmp_path / "run-seed1" / "thesis.txt").write_text("years of work")
    line = refused("train", "tiny.yaml", "seed=0,1", "--out", "run")
    assert line == (
        "Expected a new folder for the run, got run-seed1, which is there already; choose another with --out, or "
        "remove it."
    )
    assert not (tmp_path / "run-seed0").exists()
    assert (tmp_path / "run-seed1" / "thesis.txt").read_text() == "years of work"


def test_a_run_that_is_there_is_not_trained_over_and_one_that_is_done_stays(nonneg, refused, tmp_path):
    nonneg("train", "tiny.yaml", "epochs=1")
    before = weights("runs/tiny")
    assert "go on with it by 'nonneg train --resume runs/tiny'" in refused("train", "tiny.yaml", "epochs=1")
    assert nonneg("train", "--resume", "runs/tiny") == (0, "Done: runs/tiny\n", "")
    assert torch.equal(weights("runs/tiny"), before)


def interrupted(monkeypatch, nonneg, *words):
    """A run whose process is asked to stop when its first epoch is told."""
    with monkeypatch.context() as patch:
        patch.setattr(ProgressBar, "epoch", lambda self, row: os.kill(os.getpid(), signal.SIGTERM))
        return nonneg(*words)


def test_a_stopped_run_says_how_to_go_on_and_does(nonneg, tmp_path, monkeypatch):
    said = interrupted(monkeypatch, nonneg, "train", "tiny.yaml")
    assert said.status == 143
    assert said.err == (
        "Stopped after epoch 1, step 2 of 2; everything is saved. Go on with: nonneg train --resume runs/tiny\n"
    )
    assert "Done" not in said.out
    said = nonneg(*said.err.rsplit("nonneg ")[-1].split())
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("tiny goes on after step 2 on cpu in float32, in runs/tiny\nepoch 2/2 ")
    assert said.out.endswith("Done: runs/tiny\n")
    nonneg("train", "tiny.yaml", "--out", "whole")
    assert torch.equal(weights("runs/tiny"), weights("whole"))


def test_a_stopped_run_goes_on_by_its_own_recipe_only(nonneg, refused, monkeypatch, tmp_path):
    interrupted(monkeypatch, nonneg, "train", "tiny.yaml")
    resume = ("train", "--resume", "runs/tiny")
    assert refused(*resume, "epochs=5") == (
        "Expected the recipe that runs/tiny began with, where epochs is 2, got 5; leave it out, or begin a new run."
    )
    assert refused(*resume, "data.workers=1", "other.yaml").startswith(
        "Expected nothing but key=value changes with --resume, got other.yaml;"
    )
    assert refused(*resume, "--out", "x").startswith("Expected no --out with --resume, got x;")
    recipe = tmp_path / "runs" / "tiny" / "recipe.yaml"
    text = recipe.read_text()
    recipe.write_text("epochs: [")
    assert "recipe.yaml" in refused(*resume)
    recipe.write_text(text)
    assert nonneg(*resume, "data.workers=1").status == 0


def test_brackets_and_colons_in_a_folders_name_are_no_markup(nonneg):
    said = nonneg("train", "tiny.yaml", "epochs=1", "--out", "a [bold] :smile:")
    assert said.out.count("a [bold] :smile:") == 2
    assert said.out.endswith("Done: a [bold] :smile:\n")


def test_data_without_labels_is_refused_by_a_method_that_needs_them(refused, tmp_path):
    array_file(tmp_path / "unlabelled.npz", labelled=False)
    line = refused("train", "tiny.yaml", "data.name=npz:unlabelled.npz", "method.name=ce")
    assert line.startswith("Expected labelled data for the method ce, got npz:unlabelled.npz, which has no labels;")


def test_no_library_prints_anything(nonneg, tmp_path):
    """In a process of its own, as a user has it, on whatever devices there are."""
    code = "import sys; from nonneg.cli import main; sys.argv[0] = 'nonneg'; main()"
    words = ["train", "tiny.yaml", "hardware.precision=bfloat16", "hardware.accelerator=auto"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    pattern = LINES.format(folder="runs/tiny").replace(" on cpu in float32", r" on .* in bfloat16")
    assert re.fullmatch(pattern, done.stdout), done.stdout
