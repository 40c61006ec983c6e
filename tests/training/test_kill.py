"""Killed at 20 random moments in a row, a run ends at the weights of one that nobody disturbed, bit for bit."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from nonneg.training import RunFolder
from tests.training import tiny

ROOT = Path(__file__).parents[2]
LIMIT = 120  # seconds
EPOCHS = 40  # in the recipe, too

# A checkpoint after every step, so that many a kill comes while one is written.
RECIPE = """
data: {name: "npz:DATA"}
views: {size: 8}
model: {backbone: small, projector: [16]}
optimiser: {name: lars, lr: 1.0}
epochs: 40
batch_size: 16
checkpoints: {every_minutes: 1.0e-9, keep_every_epochs: 20}
hardware: {accelerator: cpu}
"""


def environment():
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipe")
    data = tiny.data()
    arrays = {
        "images": data.train.pixels.permute(0, 2, 3, 1).numpy(),
        "labels": data.train.labels.numpy(),
        "test_images": data.test.pixels.permute(0, 2, 3, 1).numpy(),
        "test_labels": data.test.labels.numpy(),
    }
    np.savez(folder / "data.npz", **arrays)
    (folder / "tiny.yaml").write_text(RECIPE.replace("DATA", str(folder / "data.npz")))
    return folder / "tiny.yaml"


@pytest.fixture(scope="module")
def killed(recipe, tmp_path_factory):
    """What came of a run that was killed again and again, and the folder of it and of a whole one."""
    folder = tmp_path_factory.mktemp("runs")
    done = subprocess.run(
        [sys.executable, "-m", "tests.training.killing", str(recipe), str(folder)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), folder


def test_killed_at_20_moments_it_ends_where_it_would_have(killed):
    found, folder = killed
    assert found["statuses"] == [-signal.SIGKILL] * 20
    assert found["last"] == 0
    # So that what follows says something: it went on from many places, and never back.
    assert found["steps"] == sorted(found["steps"])
    assert len(set(found["steps"])) > 8
    assert 0 < found["steps"][-1] < 4 * EPOCHS
    whole, run = RunFolder(folder / "whole"), RunFolder(folder / "killed")
    assert tiny.weights(run) == tiny.weights(whole)


def test_the_log_and_what_else_is_left_are_those_of_an_undisturbed_run(killed):
    _, folder = killed
    names = [{str(p.relative_to(folder / name)) for p in (folder / name).rglob("*")} for name in ("whole", "killed")]
    assert names[0] == names[1]
    whole, run = (
        [
            {key: value for key, value in row.items() if key not in ("views_per_second", "seconds")}
            for row in csv.DictReader((folder / name / "log.csv").read_text().splitlines())
        ]
        for name in ("whole", "killed")
    )
    assert [row["epoch"] for row in run] == [str(epoch + 1) for epoch in range(EPOCHS)]
    assert run == whole


def test_the_real_command_killed_and_resumed_ends_there_too(killed, recipe, tmp_path):
    _, folder = killed
    run = RunFolder(tmp_path / "run")
    command = [str(Path(sys.executable).with_name("nonneg")), "train"]
    process = subprocess.Popen(
        [*command, str(recipe), "--out", str(run.path)], env=environment(), stdout=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + LIMIT
        while not run.checkpoint(20).exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert not run.is_done()
    done = subprocess.run(
        [*command, "--resume", str(run.path)], env=environment(), capture_output=True, text=True, timeout=LIMIT
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert " goes on after step " in done.stdout
    assert tiny.weights(run) == tiny.weights(RunFolder(folder / "whole"))
