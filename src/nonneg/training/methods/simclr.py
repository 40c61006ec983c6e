"""SimCLR: two views of a picture attract each other, and repel those of the others."""

from collections.abc import Callable
from typing import ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor

from nonneg import losses
from nonneg._settings import Settings
from nonneg.data import Batch
from nonneg.training.methods.method import Method, Shape

__all__ = ["SimCLR", "SimCLRSettings"]


class SimCLRSettings(Settings):
    """InfoNCE with a temperature, or the spectral loss, which has none."""

    name: Literal["simclr"] = "simclr"
    loss: Literal["infonce", "spectral"] = "infonce"
    temperature: float | None = Field(None, gt=0)  # 0.2 if not said

    @model_validator(mode="after")
    def _spectral_has_no_temperature(self) -> Self:
        if self.loss == "spectral" and self.temperature is not None:
            raise ValueError("without temperature, which the spectral loss does not have")
        return self

    def build(self, shape: Shape) -> "SimCLR":
        return SimCLR(self)


class SimCLR(Method):
    """Chen et al., ICML 2020; with a non-negative σ₊ in the model it is NCL (Wang et al., ICLR 2024)."""

    views: ClassVar[int] = 2
    needs_labels: ClassVar[bool] = False

    def __init__(self, settings: SimCLRSettings) -> None:
        super().__init__()
        infonce = settings.loss == "infonce"
        self.loss = losses.InfoNCE(settings.temperature or 0.2) if infonce else losses.Spectral()

    def forward(self, features: Callable[[Tensor], Tensor], batch: Batch) -> Tensor:
        z1, z2 = features(torch.cat(batch.views)).chunk(2)
        loss: Tensor = self.loss(z1, z2)
        return loss
