"""What each of several processes runs for test_processes.py, and what one process runs to compare with."""

import os
import signal
import sys
from pathlib import Path

import torch
from torch import nn

from nonneg import training
from nonneg._errors import UserError
from nonneg.training import Interrupted
from tests.training import tiny

RECIPES = {
    "infonce": {},
    "spectral": {"method": {"name": "simclr", "loss": "spectral"}, "optimiser": {"name": "sgd", "lr": 0.04}},
    "supcon": {"method": {"name": "supcon"}},
    "ce": {"method": {"name": "ce"}},
    "nce": {"method": {"name": "nce"}},
    "chunked": {"chunk_size": 12},
    "lars": {"optimiser": {"name": "lars", "lr": 0.5}},
}
STEPS = 20


def recipe(name, devices=None):
    """20 steps in 5 epochs, in float64, and as batches of 64: 2 times 32."""
    hardware = {"precision": "float64"} | ({} if devices is None else {"devices": devices})
    how = {"optimiser": {"name": "sgd", "lr": 0.4}} | RECIPES[name]
    return tiny.custom(name=name, epochs=5, batch_size=64, hardware=hardware, **how)


def train(name, folder, devices=None, backbone=None, watcher=None):
    return training.train(
        recipe(name, devices), folder / name, data=tiny.data(260), backbone=backbone or tiny.backbone(), watcher=watcher
    )


class Asking(nn.Module):
    """A backbone whose process, if it is the second, is asked to end while it takes a step."""

    def __init__(self, step):
        super().__init__()
        self.network, self.step, self.seen = tiny.backbone(), step, 0

    def forward(self, x):
        self.seen += self.training
        if self.training and self.seen == self.step and os.environ.get("RANK") == "1":
            os.kill(os.getpid(), signal.SIGTERM)
        return self.network(x)


def under_torchrun(folder):
    for name in RECIPES:
        train(name, folder)
    said = {}
    try:
        training.train(recipe("ce"), folder / "asked", data=tiny.data(260), backbone=Asking(7))
    except Interrupted as error:
        said["asked"] = str(error)
    try:
        train("ce", folder)
    except UserError as error:
        said["there already"] = str(error)
    torch.save(said, folder / f"said by {os.environ['RANK']}.pt")


def by_its_own_launch(folder):
    seen = tiny.Recorder()
    train("infonce", folder, devices=2, watcher=seen)
    torch.save((seen.plans and seen.plans[0].processes, seen.losses), folder / f"{os.environ['LOCAL_RANK']}.pt")


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"torchrun": under_torchrun, "fabric": by_its_own_launch}[sys.argv[1]](Path(sys.argv[2]))
