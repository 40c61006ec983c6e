"""SupCon: two views of a picture attract those of all pictures of its class."""

from collections.abc import Callable
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from nonneg import losses
from nonneg._settings import Settings
from nonneg.data import Batch
from nonneg.training.methods.method import Method, Shape

__all__ = ["SupCon", "SupConSettings"]


class SupConSettings(Settings):
    """InfoNCE with positives by label."""

    name: Literal["supcon"] = "supcon"
    temperature: float = Field(0.2, gt=0)

    def build(self, shape: Shape) -> "SupCon":
        return SupCon(self)


class SupCon(Method):
    """Khosla et al., NeurIPS 2020."""

    views: ClassVar[int] = 2
    needs_labels: ClassVar[bool] = True

    def __init__(self, settings: SupConSettings) -> None:
        super().__init__()
        self.loss = losses.SupervisedInfoNCE(settings.temperature)

    def forward(self, features: Callable[[Tensor], Tensor], batch: Batch) -> Tensor:
        assert batch.labels is not None
        loss: Tensor = self.loss(features(torch.cat(batch.views)), batch.labels.repeat(2))
        return loss
