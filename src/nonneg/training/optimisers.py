"""Optimisers, and the learning rate over a run: warm-up, then a cosine."""

import math
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field
from torch import nn
from torch.optim import SGD, AdamW, Optimizer

from nonneg._settings import Settings
from nonneg.training.lars import LARS

__all__ = ["AdamWSettings", "LARSSettings", "OptimiserSettings", "SGDSettings", "learning_rate"]

_Rate = Annotated[float, Field(gt=0)]  # for a batch of 256; a run's is this times batch_size / 256


class LARSSettings(Settings):
    name: Literal["lars"] = "lars"
    lr: _Rate = 0.4
    momentum: float = Field(0.9, ge=0, lt=1)
    weight_decay: float = Field(1e-4, ge=0)
    eta: float = Field(0.02, gt=0)
    clip: bool = True

    def build(self, module: nn.Module) -> Optimizer:
        return LARS(module.parameters(), self.lr, self.momentum, self.weight_decay, self.eta, self.clip)


class AdamWSettings(Settings):
    name: Literal["adamw"] = "adamw"
    lr: _Rate = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = Field(1e-4, ge=0)

    def build(self, module: nn.Module) -> Optimizer:
        return AdamW(_groups(module, self.weight_decay), self.lr, self.betas)


class SGDSettings(Settings):
    name: Literal["sgd"] = "sgd"
    lr: _Rate = 0.06
    momentum: float = Field(0.9, ge=0, lt=1)
    nesterov: bool = False
    weight_decay: float = Field(5e-4, ge=0)

    def build(self, module: nn.Module) -> Optimizer:
        return SGD(_groups(module, self.weight_decay), self.lr, self.momentum, nesterov=self.nesterov)


OptimiserSettings = Annotated[LARSSettings | AdamWSettings | SGDSettings, Field(discriminator="name")]


def learning_rate(step: int, steps: int, warm_up: int, peak: float, final: float) -> float:
    """lr of a step: a straight line from 0 up to `peak` over the warm-up, then half a cosine down to `final`.

    >>> [round(learning_rate(step, steps=6, warm_up=2, peak=1.0, final=0.0), 3) for step in range(6)]
    [0.5, 1.0, 1.0, 0.854, 0.5, 0.146]
    """
    if step < warm_up:
        return peak * (step + 1) / warm_up
    done = (step - warm_up) / max(1, steps - warm_up)
    return final + (peak - final) * (1 + math.cos(math.pi * done)) / 2


def _groups(module: nn.Module, weight_decay: float) -> Iterable[dict[str, object]]:
    """Weight decay for matrices and kernels, none for biases and norms."""
    parameters = list(module.parameters())
    return [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
