"""Checkpoints come back bit for bit; what is none is refused, and nothing in it is run."""

import errno
import os
import pickle

import pytest
import torch
from torch import nn

from nonneg._errors import UserError
from nonneg.training import checkpoint
from nonneg.training.checkpoint import Progress
from nonneg.training.lars import LARS

PROGRESS = Progress(step=7, loss_sum=1 / 3, seconds=2.5, rows=[{"epoch": 1, "loss": 0.1, "alive": 3.0}])


def network(seed):
    torch.manual_seed(seed)
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.LazyLinear(2))
    module(torch.rand(4, 3, 5, 5))
    return module


OPTIMISERS = {
    "lars": lambda module: LARS(module.parameters(), 0.1),
    "adamw": lambda module: torch.optim.AdamW(module.parameters(), 0.1),
    "sgd": lambda module: torch.optim.SGD(module.parameters(), 0.1, momentum=0.9),
}


def trained(name="lars", seed=0, steps=2):
    module = network(seed)
    optimiser = OPTIMISERS[name](module)
    for step in range(steps):
        torch.manual_seed(step)
        optimiser.zero_grad()
        module(torch.rand(4, 3, 5, 5)).square().sum().backward()
        optimiser.step()
    return module, optimiser


def flat(value):
    """Tensors and numbers of nested dictionaries and lists, in order."""
    if isinstance(value, dict):
        return [x for key in value for x in [key, *flat(value[key])]]
    if isinstance(value, list | tuple):
        return [x for item in value for x in flat(item)]
    return [value.numpy().tobytes() if isinstance(value, torch.Tensor) else value]


@pytest.fixture
def file(tmp_path):
    checkpoint.save(tmp_path / "last.ckpt", PROGRESS, *trained(), {"scale": torch.tensor(8.0)})
    return tmp_path / "last.ckpt"


@pytest.mark.parametrize("name", OPTIMISERS)
def test_all_of_it_comes_back_bit_for_bit(name, tmp_path):
    module, optimiser = trained(name)
    checkpoint.save(tmp_path / "last.ckpt", PROGRESS, module, optimiser, {"scale": torch.tensor(8.0)})
    other, its = trained(name, seed=9, steps=0)
    progress, scaler = checkpoint.load(tmp_path / "last.ckpt", other, its)
    assert progress == PROGRESS
    assert scaler == {"scale": torch.tensor(8.0)}
    assert flat(other.state_dict()) == flat(module.state_dict())
    assert flat(its.state_dict()) == flat(optimiser.state_dict())


def refused(path):
    with pytest.raises(UserError) as caught:
        checkpoint.load(path, *trained(seed=9, steps=0))
    line = str(caught.value)
    assert "\n" not in line
    assert str(path) in line
    return line


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.9, 0.99, 0.9999])
def test_a_file_that_is_cut_off_is_refused(share, file):
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))])
    line = refused(file)
    assert line.startswith(f"Expected a checkpoint of this run in {file}, got a file that can't be read as one (")
    assert line.endswith("); begin a new run.")


@pytest.mark.parametrize(
    "contents",
    [
        b"no checkpoint",
        b"\x80",
        b"PK\x03\x04" + bytes(100),
        bytes(1000),
        pickle.dumps({"format": 1}),
        pickle.dumps([1, 2]),
    ],
)
def test_a_file_that_is_none_is_refused(contents, file):
    file.write_bytes(contents)
    refused(file)


@pytest.mark.parametrize(
    "contents",
    [
        {"state_dict": {}},  # somebody else's
        [1],
        5,
        torch.zeros(3),
        {"format": 1},
        {"format": 1, "progress": {}, "objective": {}, "optimiser": {}, "scaler": {}},
        {"format": 1, "progress": {}, "objective": 5, "optimiser": {}, "scaler": {}},
        {"format": 1, "progress": {}, "objective": network(0).state_dict(), "optimiser": 5, "scaler": {}},
    ],
)
def test_another_programs_is_refused(contents, file):
    torch.save(contents, file)
    refused(file)


@pytest.mark.parametrize("change", ["progress", "model", "optimiser"])
def test_one_that_doesnt_fit_this_run_is_refused(change, file):
    contents = torch.load(file, weights_only=True)
    if change == "progress":
        contents["progress"]["more"] = 1
    elif change == "model":
        contents["objective"]["0.weight"] = torch.zeros(2, 2)
    else:
        contents["optimiser"]["param_groups"][0]["params"].pop()
    torch.save(contents, file)
    refused(file)


def test_a_newer_format_is_refused_in_its_own_words(file):
    torch.save(torch.load(file, weights_only=True) | {"format": 2}, file)
    assert refused(file) == (
        f"Expected a checkpoint of format 1, got format 2 in {file}; go on with the version of nonneg that wrote it."
    )


def test_a_folder_or_nothing_at_all_is_refused(tmp_path):
    refused(tmp_path)
    refused(tmp_path / "nothing.ckpt")


class Planted:
    """Makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_planted_code_is_not_run(file, tmp_path):
    torch.save(torch.load(file, weights_only=True) | {"scaler": Planted(tmp_path / "ran")}, file)
    refused(file)
    assert not (tmp_path / "ran").exists()
    torch.load(file, weights_only=False)  # so that it would have been
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("where", ["open", "write", "fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_in_a_line_and_leaves_the_old_checkpoint(where, number, file, monkeypatch):
    before = file.read_bytes()
    full_disk(monkeypatch, where, number)
    with pytest.raises(UserError) as caught:
        checkpoint.save(file, Progress(step=8), *trained(seed=3), {})
    monkeypatch.undo()
    assert str(caught.value) == f"Expected room on the disk for {file}, got none; free some and do it again."
    assert [path.name for path in file.parent.iterdir()] == ["last.ckpt"]
    assert file.read_bytes() == before


def full_disk(monkeypatch, where, number=errno.ENOSPC):
    """From now on this operation on files says that there is no room."""
    import pathlib

    def no_room(*_, **__):
        raise OSError(number, os.strerror(number))

    if where in ("fsync", "replace"):
        monkeypatch.setattr(os, where, no_room)
        return
    really = pathlib.Path.open

    def opened(path, mode="r", *more, **other):
        if "w" not in mode:
            return really(path, mode, *more, **other)
        if where == "open":
            no_room()
        return Full(really(path, mode, *more, **other), no_room)

    monkeypatch.setattr(pathlib.Path, "open", opened)


class Full:
    """A file on a full disk: half of what is written arrives."""

    def __init__(self, file, no_room):
        self.file, self.no_room = file, no_room

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, contents):
        self.file.write(contents[: len(contents) // 2])
        self.no_room()
