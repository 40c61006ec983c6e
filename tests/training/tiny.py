"""A world that is learnt in a second: pictures of four colours in noise, a recipe for them, and who watches a run."""

import torch
from torch import nn

from nonneg._settings import validated
from nonneg.data import DataSet, Images
from nonneg.training import Recipe

CLASSES = ("red", "green", "blue", "white")
COLOURS = torch.tensor([[180, 40, 40], [40, 180, 40], [40, 40, 180], [170, 170, 170]])


def pictures(n=64, side=8, seed=0, labelled=True):
    """Picture i is of class i mod 4."""
    labels = torch.arange(n) % len(CLASSES)
    noise = torch.randint(-40, 41, (n, 3, side, side), generator=torch.Generator().manual_seed(seed))
    return Images((COLOURS[labels][:, :, None, None] + noise).to(torch.uint8), labels if labelled else None)


def data(n=64, side=8, labelled=True, test=True):
    train = pictures(n, side, 0, labelled)
    return DataSet("tiny", train, pictures(24, side, 1, labelled) if test else None, CLASSES if labelled else ())


def backbone(width=12, side=8):
    """A linear layer in place of a network: quick, without batch norm, and the same at every call."""
    torch.manual_seed(5)
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * side * side, width))


def recipe(**changes):
    """4 steps an epoch. Parts are given as dictionaries: model={"projector": []}."""
    parts = {
        "views": {"size": 8, "crop": [0.5, 1.0], "jitter": 0.2, "blur": 0.0},
        "model": {"backbone": "small", "projector": [16, 8]},
        "optimiser": {"name": "adamw", "lr": 0.03},
        "hardware": {"accelerator": "cpu", "precision": "float32"},
    }
    for name, values in changes.items():
        begun_anew = isinstance(values, dict) and "name" in values
        parts[name] = parts.get(name, {}) | values if isinstance(values, dict) and not begun_anew else values
    return validated(Recipe, {"name": "tiny", "epochs": 3, "batch_size": 16} | parts)


def custom(**changes):
    """The recipe for a backbone that is given from Python."""
    model = {"backbone": "custom"} | changes.pop("model", {})
    return recipe(model=model, **changes)


class Recorder:
    """A watcher that remembers all, and after some step does something."""

    def __init__(self, after=None, action=None):
        self.after, self.action = after, action
        self.plans, self.steps, self.losses, self.rows, self.lines, self.ended = [], [], [], [], [], 0

    def begins(self, plan):
        self.plans.append(plan)

    def step(self, step, loss):
        self.steps.append(step)
        self.losses.append(loss)
        if step == self.after:
            self.action()

    def epoch(self, row):
        self.rows.append(dict(row))

    def warns(self, line):
        self.lines.append(line)

    def ends(self):
        self.ended += 1


class Killed(BaseException):
    """As sudden as SIGKILL, for what is on the disk."""


def kill():
    raise Killed


def weights(run):
    """The whole file, header and all."""
    return run.model.read_bytes()
