"""The rows of a log: in log.csv, and read back from where else they went."""

import csv
import importlib.util
import sys
import types

import pytest

from nonneg import training
from nonneg._errors import UserError
from nonneg.training import logs
from tests.training import tiny

# tensorboard's own, about its protobuf classes and its pkg_resources; they concern nobody here
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:tensorboard")


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def train(folder, watcher=None, **changes):
    return training.train(tiny.custom(**changes), folder, data=tiny.data(), backbone=tiny.backbone(), watcher=watcher)


def resume(folder):
    return training.resume(folder, data=tiny.data(), backbone=tiny.backbone())


def test_rows_are_written_short_with_the_columns_of_all(tmp_path):
    rows = [{"epoch": 1, "loss": 1 / 3, "alive": 12.0}, {"epoch": 2.0, "loss": float("nan"), "consistency": 1e-9}]
    logs.write_csv(tmp_path / "log.csv", rows)
    assert (tmp_path / "log.csv").read_text() == ("epoch,loss,alive,consistency\n1,0.333333,12,\n2,nan,,1e-09\n")
    logs.write_csv(tmp_path / "log.csv", rows[:1])
    assert (tmp_path / "log.csv").read_text() == "epoch,loss,alive\n1,0.333333,12\n"


def test_a_run_logs_an_epoch_a_row_and_the_watcher_hears_the_same(tmp_path):
    seen = tiny.Recorder()
    run = train(tmp_path / "run", watcher=seen)
    found = rows_of(run.log)
    assert [row["epoch"] for row in found] == ["1", "2", "3"]
    assert [row["step"] for row in found] == ["4", "8", "12"]
    columns = ["epoch", "step", "loss", "learning_rate", "sparsity", "alive", "consistency"]
    assert list(found[0]) == [*columns, "views_per_second", "seconds"]
    for row, heard in zip(found, seen.rows, strict=True):
        assert {key: float(value) for key, value in row.items()} == pytest.approx(heard, rel=1e-5)
    for epoch, row in enumerate(seen.rows):
        assert row["loss"] == pytest.approx(sum(seen.losses[4 * epoch : 4 * epoch + 4]) / 4)
    seconds = [row["seconds"] for row in seen.rows]
    assert 0 < seconds[0] < seconds[1] < seconds[2]


def test_a_run_that_goes_on_has_every_row_once_and_the_loss_of_whole_epochs(tmp_path):
    whole = rows_of(train(tmp_path / "whole").log)
    stop = tiny.Recorder(after=6, action=tiny.kill)
    with pytest.raises(tiny.Killed):
        train(tmp_path / "run", watcher=stop, checkpoints={"every_minutes": 1e-9})
    assert len(rows_of(tmp_path / "run" / "log.csv")) == 1
    found = rows_of(resume(tmp_path / "run").log)
    timed = {"views_per_second", "seconds"}
    assert [{k: v for k, v in row.items() if k not in timed} for row in found] == [
        {k: v for k, v in row.items() if k not in timed} for row in whole
    ]
    seconds = [float(row["seconds"]) for row in found]
    assert seconds == sorted(seconds)


# TensorBoard


def scalars(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_tensorboard_reads_what_was_logged(tmp_path):
    seen = tiny.Recorder()
    run = train(tmp_path / "run", watcher=seen, log_to=["tensorboard"])
    found = scalars(run.path / "tensorboard")
    assert found.keys() == seen.rows[0].keys() - {"epoch"}
    for tag, points in found.items():
        assert [step for step, _ in points] == [1, 2, 3]
        assert [value for _, value in points] == pytest.approx([row[tag] for row in seen.rows], rel=1e-5)


def test_tensorboard_sees_every_epoch_once_when_a_run_goes_on(tmp_path):
    whole = scalars(train(tmp_path / "whole", log_to=["tensorboard"]).path / "tensorboard")
    # The second epoch was logged, and no checkpoint of it was written.
    with pytest.raises(tiny.Killed):
        train(tmp_path / "run", watcher=DiesAfterEpoch(2), log_to=["tensorboard"])
    found = scalars(resume(tmp_path / "run").path / "tensorboard")
    assert found["loss"] == whole["loss"]


class DiesAfterEpoch(tiny.Recorder):
    def __init__(self, epoch):
        super().__init__()
        self.last = epoch

    def epoch(self, row):
        if row["epoch"] == self.last:
            raise tiny.Killed


# Weights & Biases


class FakeWandB(types.ModuleType):
    """What we use of it, remembered."""

    def __init__(self):
        super().__init__("wandb")
        self.__spec__ = importlib.util.spec_from_loader("wandb", loader=None)
        self.begun, self.logged, self.finished = [], [], 0

    def Settings(self, **settings):
        return settings

    def init(self, **settings):
        self.begun.append(settings)
        return self

    def log(self, row, step):
        self.logged.append((step, row))

    def finish(self):
        self.finished += 1


@pytest.fixture
def wandb(monkeypatch):
    fake = FakeWandB()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    return fake


def test_wandb_gets_the_recipe_and_every_row(wandb, tmp_path):
    seen = tiny.Recorder()
    run = train(tmp_path / "run", watcher=seen, log_to=["wandb"], seed=3)
    (begun,) = wandb.begun
    assert begun["project"] == "nonneg"
    assert begun["name"] == "run"
    assert begun["dir"] == str(run.path)
    assert begun["config"]["seed"] == 3
    assert begun["config"]["model"]["channels"] == 3
    assert begun["settings"] == {"silent": True}
    assert wandb.logged == [(row["epoch"], row) for row in seen.rows]
    assert wandb.finished == 1


def test_a_run_that_goes_on_is_the_same_to_wandb_and_another_of_its_name_is_not(wandb, tmp_path):
    with pytest.raises(tiny.Killed):
        train(tmp_path / "run", watcher=tiny.Recorder(after=6, action=tiny.kill), log_to=["wandb"])
    assert wandb.finished == 1  # also of a run that ended badly
    resume(tmp_path / "run")
    train(tmp_path / "elsewhere" / "run", log_to=["wandb"])
    first, second, other = (begun["id"] for begun in wandb.begun)
    assert first == second != other
    assert [begun["resume"] for begun in wandb.begun] == ["allow"] * 3


@pytest.mark.parametrize("name", ["tensorboard", "wandb"])
def test_a_package_that_is_missing_is_said_before_a_folder_is_made(name, tmp_path, monkeypatch):
    really = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda what: None if what == name else really(what))
    with pytest.raises(UserError) as caught:
        train(tmp_path / "run", log_to=[name])
    assert str(caught.value) == (
        f"Expected the package {name}, which is not installed; run pip install 'nonneg[{name}]'."
    )
    assert list(tmp_path.iterdir()) == []
