"""A run's folder: new or refused, for one process at a time, without what a killed one left half written."""

import os
import signal
import time

import pytest
import torch

from nonneg import training
from nonneg._errors import UserError
from nonneg.training import RunFolder, recipes
from tests.training import tiny
from tests.training.test_checkpoint import full_disk


def refused(action, *arguments, **more):
    with pytest.raises(UserError) as caught:
        action(*arguments, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def train(folder, **changes):
    watcher = changes.pop("watcher", None)
    return training.train(tiny.custom(**changes), folder, data=tiny.data(), backbone=tiny.backbone(), watcher=watcher)


def resume(folder, changes=(), watcher=None):
    return training.resume(folder, changes, data=tiny.data(), backbone=tiny.backbone(), watcher=watcher)


def contents(folder):
    return {path.relative_to(folder): path.is_file() and path.read_bytes() for path in folder.rglob("*")}


def test_it_holds_what_it_is_said_to_hold(tmp_path):
    run = train(tmp_path / "a" / "run", checkpoints={"keep_every_epochs": 2})
    assert run == RunFolder(tmp_path / "a" / "run")
    names = {str(path) for path in contents(run.path)}
    files = {"recipe.yaml", "model.safetensors", "log.csv", "checkpoints/last.ckpt", "checkpoints/epoch-0002.ckpt"}
    assert names == {*files, "checkpoints", ".lock"}
    assert run.is_done()
    assert recipes.read_file(run.recipe).model.channels == 3


@pytest.mark.parametrize("epochs", [1, 4])
def test_checkpoints_are_kept_as_asked(epochs, tmp_path):
    run = train(tmp_path / "run", epochs=epochs, checkpoints={"keep_every_epochs": 2})
    kept = sorted(path.name for path in run.last_checkpoint.parent.iterdir())
    assert kept == [f"epoch-{epoch:04}.ckpt" for epoch in (2, 4) if epoch <= epochs] + ["last.ckpt"]
    if epochs == 4:
        saved = [torch.load(run.checkpoint(epoch), weights_only=True)["progress"] for epoch in (2, 4)]
        assert [progress["step"] for progress in saved] == [8, 16]


def test_a_run_that_is_there_is_not_written_over(tmp_path):
    run = train(tmp_path / "run", epochs=1)
    before = contents(run.path)
    line = refused(train, tmp_path / "run", epochs=1)
    assert line == (
        f"Expected a new folder for the run, got {run.path}, which is there already; go on with it by 'nonneg train "
        f"--resume {run.path}', choose another with --out, or remove it."
    )
    assert contents(run.path) == before


def test_somebody_elses_folder_is_left_as_it_is(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / ".download.part").write_text("not ours")
    before = contents(tmp_path)
    line = refused(train, tmp_path)
    assert line == (
        f"Expected a new folder for the run, got {tmp_path}, which is there already; choose another with --out, or "
        "remove it."
    )
    assert contents(tmp_path) == before


def test_a_file_or_a_folder_below_one_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    assert "which is there already" in refused(train, tmp_path / "file")
    assert refused(train, tmp_path / "file" / "run") == (
        f"Expected to be able to write {tmp_path / 'file' / 'run'}, got: Not a directory."
    )
    assert (tmp_path / "file").read_text() == "x"


def test_an_empty_folder_and_one_where_a_run_was_killed_as_it_began_will_do(tmp_path):
    (tmp_path / "empty").mkdir()
    assert train(tmp_path / "empty", epochs=1).is_done()
    (tmp_path / "begun").mkdir()
    for name in (".lock", ".recipe.yaml.12345.part"):
        (tmp_path / "begun" / name).write_text("")
    assert train(tmp_path / "begun", epochs=1).is_done()
    assert not (tmp_path / "begun" / ".recipe.yaml.12345.part").exists()


def test_what_a_killed_process_left_half_written_is_cleared_away(tmp_path):
    stop = tiny.Recorder(after=5, action=tiny.kill)
    with pytest.raises(tiny.Killed):
        train(tmp_path / "run", watcher=stop)
    left = [tmp_path / "run" / "checkpoints" / ".last.ckpt.1234.part", tmp_path / "run" / ".log.csv.1234.part"]
    for path in left:
        path.write_text("half")
    run = resume(tmp_path / "run")
    assert run.is_done()
    assert not any(path.exists() for path in left)


def test_only_one_process_trains_in_a_folder(tmp_path):
    run = RunFolder(tmp_path / "run")
    stop = tiny.Recorder(after=5, action=tiny.kill)
    with pytest.raises(tiny.Killed):
        train(run.path, watcher=stop)
    with another_process_that(hold_lock, run) as wait_for:
        wait_for()
        part = run.path / ".log.csv.1234.part"  # which that process may be writing
        part.write_text("half")
        line = refused(resume, run.path)
        assert line == (
            f"Expected that nobody else trains in {run.path}, got another process that does; wait for it to end."
        )
        assert part.exists()
    assert resume(run.path).is_done()


def test_the_lock_of_a_killed_process_is_free_though_its_workers_live_on(tmp_path):
    run = RunFolder(tmp_path / "run")
    with another_process_that(hold_lock_with_a_worker, run) as wait_for:
        worker = int(wait_for())
    try:
        os.kill(worker, 0)  # it lives
        with run.locked():
            pass
    finally:
        os.kill(worker, signal.SIGKILL)


class another_process_that:
    """A fork that does something and is killed when the block ends."""

    def __init__(self, action, *arguments):
        self.action, self.arguments = action, arguments

    def __enter__(self):
        reader, writer = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            try:
                os.close(reader)
                self.action(writer, *self.arguments)
            finally:
                os._exit(1)
        os.close(writer)
        self.reader = reader
        return self.wait_for

    def wait_for(self):
        """What it says when it is so far."""
        return os.read(self.reader, 100).decode()

    def __exit__(self, *_):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.reader)


def hold_lock(writer, run):
    with run.locked():
        os.write(writer, b"ready")
        time.sleep(60)


def hold_lock_with_a_worker(writer, run):
    with run.locked():
        worker = os.fork()
        if worker:
            os.write(writer, str(worker).encode())
        time.sleep(60)


# What can go wrong while a run writes


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_a_disk_that_fills_up_ends_a_run_in_a_line_and_it_goes_on_when_there_is_room(where, tmp_path, monkeypatch):
    whole = train(tmp_path / "whole")
    stop = tiny.Recorder(after=6, action=lambda: full_disk(monkeypatch, where))
    line = refused(train, tmp_path / "run", watcher=stop)
    monkeypatch.undo()
    run = RunFolder(tmp_path / "run")
    assert line == f"Expected room on the disk for {run.log}, got none; free some and do it again."
    assert stop.ended == 1
    assert torch.load(run.last_checkpoint, weights_only=True)["progress"]["step"] == 4
    assert tiny.weights(resume(run.path)) == tiny.weights(whole)
    assert not list(run.path.rglob("*.part"))


def test_a_folder_that_may_not_be_written_to_is_told(tmp_path, monkeypatch):
    def denied(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "mkdir", denied)
    assert refused(train, tmp_path / "run") == (
        f"Expected to be able to write {tmp_path / 'run'}, got: Permission denied."
    )


def test_a_folder_without_a_run_is_not_resumed(tmp_path):
    assert refused(resume, tmp_path) == (
        f"Expected a run's folder, got {tmp_path}, which holds no recipe.yaml; check the path."
    )
    assert refused(resume, tmp_path / "nothing").startswith("Expected a run's folder, got ")
    assert list(tmp_path.iterdir()) == []


def test_a_run_goes_on_by_its_own_recipe(tmp_path):
    with pytest.raises(tiny.Killed):
        train(tmp_path / "run", watcher=tiny.Recorder(after=5, action=tiny.kill))
    before = contents(tmp_path)
    assert refused(resume, tmp_path / "run", ["optimiser.lr=0.5"]) == (
        f"Expected the recipe that {tmp_path / 'run'} began with, where optimiser.lr is 0.03, got 0.5; leave it out, "
        "or begin a new run."
    )
    assert contents(tmp_path) == before
    assert resume(tmp_path / "run", ["checkpoints.every_minutes=1", "epochs=3"]).is_done()
