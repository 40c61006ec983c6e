"""Two real processes at half the batch each follow one at the whole; what the first refuses, both refuse."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from nonneg import models, training
from nonneg.training import RunFolder
from tests.training import several, tiny

ROOT = Path(__file__).parents[2]
LIMIT = 120  # seconds


def run(*words):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        list(map(str, words)), cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT
    )


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """The folder of all that two processes do, which are started once for all tests."""
    folder = tmp_path_factory.mktemp("two")
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    done = run(*torchrun, "-m", "tests.training.several", "torchrun", folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout + done.stderr


def assert_same_weights(first, second):
    ours, theirs = (models.load(f.path, tiny.backbone()).state_dict() for f in (first, second))
    begun = dict(models.Model(models.load(first.path, tiny.backbone()).settings, tiny.backbone()).named_parameters())
    for name, tensor in ours.items():
        torch.testing.assert_close(tensor, theirs[name], rtol=0, atol=1e-6, msg=name)
        if name in begun and name.startswith("backbone"):  # it begins where tiny.backbone does
            assert (tensor - begun[name]).abs().max() > 1e-3


@pytest.mark.parametrize("name", several.RECIPES)
def test_two_processes_follow_one(name, together, tmp_path):
    seen = tiny.Recorder()
    alone = several.train(name, tmp_path, watcher=seen)
    assert len(seen.steps) == several.STEPS
    both = RunFolder(together[0] / name)
    assert_same_weights(alone, both)
    ours, theirs = (list(csv.DictReader(f.log.read_text().splitlines())) for f in (alone, both))
    for row, other in zip(ours, theirs, strict=True):
        for key in row.keys() - {"views_per_second", "seconds"}:
            assert float(row[key]) == pytest.approx(float(other[key]), abs=1e-4), key


def test_the_process_that_is_asked_to_stop_stops_both_and_one_alone_may_go_on(together, tmp_path):
    folder, _ = together
    said = [torch.load(folder / f"said by {rank}.pt")["asked"] for rank in (0, 1)]
    assert said[0] == said[1]
    assert said[0].startswith("Stopped after epoch 2, step 3 of 4; everything is saved. Go on with: nonneg train --res")
    seen = tiny.Recorder()
    # A layer of its own kind, with the same names, that doesn't ask.
    resumed = training.resume(folder / "asked", data=tiny.data(260), backbone=several.Asking(0), watcher=seen)
    assert seen.steps[0] == 8
    whole = several.train("ce", tmp_path)
    ours = models.load(resumed.path, several.Asking(0)).state_dict()
    theirs = models.load(whole.path, tiny.backbone()).state_dict()
    for name, tensor in theirs.items():
        name_there = re.sub(r"^backbone\.", "backbone.network.", name)
        torch.testing.assert_close(ours[name_there], tensor, rtol=0, atol=1e-6, msg=name)


def test_what_the_first_process_refuses_both_refuse(together):
    folder, _ = together
    said = [torch.load(folder / f"said by {rank}.pt")["there already"] for rank in (0, 1)]
    assert said[0] == said[1]
    assert said[0].startswith(f"Expected a new folder for the run, got {folder / 'ce'}, which is there already; ")


def test_two_processes_are_as_quiet_as_one(together):
    lines = [line for line in together[1].splitlines() if line.strip()]
    assert [line for line in lines if "torch/distributed/run.py" not in line and "OMP_NUM_THREADS" not in line] == []


def test_two_processes_that_the_run_itself_starts_follow_one_too(tmp_path):
    done = run(sys.executable, "-m", "tests.training.several", "fabric", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (processes, losses), silent = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    assert processes == 2
    assert len(losses) == several.STEPS
    assert silent == ([], [])  # nobody is told anything twice
    alone = several.train("infonce", tmp_path / "alone")
    assert_same_weights(alone, RunFolder(tmp_path / "infonce"))


def test_by_the_command_both_end_with_status_2_and_one_line(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "notes.txt").write_text("mine")
    command = str(Path(sys.executable).with_name("nonneg"))
    how = ("hardware.devices=2", "hardware.accelerator=cpu", "--out", tmp_path / "there")
    done = run(command, "train", "fashion-small-ncl", *how)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"Expected a new folder for the run, got {tmp_path / 'there'}, which is there already; choose another with "
        "--out, or remove it.\n"
    )
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["notes.txt"]
