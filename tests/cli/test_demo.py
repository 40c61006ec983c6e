"""The demo: two runs, a table and pictures; stopped, it goes on; done, it trains nothing again."""

import os
import signal
from types import SimpleNamespace

import pytest
import torch
from PIL import Image

from nonneg import models, training
from nonneg import recipes as shipped
from nonneg.cli import demo
from nonneg.evaluation import results
from nonneg.evaluation.suite import SUITES
from nonneg.evaluation.wording import label, shown
from nonneg.training import recipes
from nonneg.training.progress_bar import ProgressBar


@pytest.fixture
def small(monkeypatch, tmp_path, nonneg):
    """`nonneg demo` with its own recipes, on few and small pictures, two epochs long."""

    def shrunk(name):
        changes = ["views.size=8", "model.projector=[16, 12]", "epochs=2", "batch_size=16"]
        changes += ["hardware.accelerator=cpu", "hardware.precision=float32", "schedule.warm_up_epochs=0"]
        return recipes.read(name, [f"data.name=npz:{tmp_path / 'tiny.npz'}", *changes])

    monkeypatch.setattr(demo, "recipes", SimpleNamespace(read=shrunk))
    return nonneg


def forbid_training(monkeypatch):
    for name in ("train", "resume"):
        monkeypatch.setattr(training, name, lambda *_, **__: pytest.fail("trained again"))


def size(path):
    with Image.open(path) as picture:
        picture.load()
        assert picture.format == "PNG"
        return picture.size


def test_it_trains_measures_and_draws_both(small, tmp_path, monkeypatch):
    said = small("demo", "--out", "d")
    assert (said.status, said.err) == (0, "")
    for name, title in (("fashion-small-cl", "cl"), ("fashion-small-ncl", "ncl")):
        assert f"{name} begins: 2 epochs of 2 steps on cpu in float32, in d/{title}" in said.out
    assert models.load("d/cl").settings.activation == "identity"
    assert models.load("d/ncl").settings.activation == "rep_relu"

    table = said.out[said.out.index("\n\n") :].strip().splitlines()
    assert table[0].split() == ["fashion-small-cl", "fashion-small-ncl", "difference"]
    kept = [results.read(tmp_path / "d" / run / "metrics.json") for run in ("cl", "ncl")]
    assert set(kept[0]) == set(kept[1]) == set(SUITES["quick"])
    for part, numbers in kept[0].items():
        for name in numbers:
            (line,) = [line for line in table if line.startswith(f"{label(part, name)}  ")]
            assert all(shown(part, name, run[part][name].value) in line for run in kept)
    assert table[-2].startswith("Each row of d/dimensions.png is a dimension")
    assert table[-1] == "All of it, to look at: d/index.html"
    assert "<html" in (tmp_path / "d" / "index.html").read_text()

    one, other = (size(tmp_path / "d" / run / "report" / "dimensions.png") for run in ("cl", "ncl"))
    both = size(tmp_path / "d" / "dimensions.png")
    assert one == other
    assert abs(both[0] - 2 * one[0]) <= 2
    assert both[1] == one[1]

    forbid_training(monkeypatch)
    (tmp_path / "d" / "dimensions.png").unlink()
    again = small("demo", "--out", "d")
    assert again.status == 0
    assert again.out.startswith(
        "fashion-small-cl is trained already, in d/cl\nfashion-small-ncl is trained already, in d/ncl\n"
    )
    assert again.out[again.out.index("\n\n") :] == said.out[said.out.index("\n\n") :]
    assert size(tmp_path / "d" / "dimensions.png") == both


def test_stopped_in_the_second_run_it_goes_on_there(small, tmp_path, monkeypatch):
    begun = []

    def stop(self, row):
        begun.append(self.plan.name)
        if self.plan.name == "fashion-small-ncl":
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(ProgressBar, "epoch", stop)
        said = small("demo", "--out", "d")
    assert said.status == 130
    assert begun == ["fashion-small-cl", "fashion-small-cl", "fashion-small-ncl"]
    assert "nonneg train --resume d/ncl" in said.err
    assert not (tmp_path / "d" / "dimensions.png").exists()
    said = small("demo", "--out", "d")
    assert said.status == 0
    assert "fashion-small-cl is trained already, in d/cl\n" in said.out
    assert "fashion-small-ncl goes on after step 2 on cpu" in said.out
    assert (tmp_path / "d" / "dimensions.png").is_file()
    # As if it had not been stopped.
    training.train(demo.recipes.read("fashion-small-ncl"), tmp_path / "whole")
    ours, theirs = (models.load(tmp_path / run).state_dict() for run in ("d/ncl", "whole"))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_the_two_recipes_differ_in_the_activation_alone():
    cl, ncl = (recipes.read(name) for name in demo.RUNS.values())
    assert set(demo.RUNS.values()) <= set(shipped.names())
    same = ncl.model.model_copy(update={"activation": cl.model.activation})
    assert ncl.model_copy(update={"name": cl.name, "model": same}) == cl
    assert (cl.model.activation, ncl.model.activation) == ("identity", "rep_relu")
    assert cl.data.name == "fashion-small"


def test_somebody_elses_folder_is_left_alone(refused, tmp_path):
    (tmp_path / "d" / "cl").mkdir(parents=True)
    (tmp_path / "d" / "cl" / "thesis.txt").write_text("years of work")
    assert refused("demo", "--out", "d").startswith("Expected a new folder for the run, got d/cl, which is there")
    assert [path.name for path in (tmp_path / "d").rglob("*")] == ["cl", "thesis.txt"]
