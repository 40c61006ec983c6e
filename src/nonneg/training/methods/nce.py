"""NCE: cross entropy on non-negative features, class weights in place of samples."""

from collections.abc import Callable
from typing import ClassVar, Literal

from jaxtyping import Float
from torch import Tensor

from nonneg import losses
from nonneg._settings import Settings
from nonneg.data import Batch
from nonneg.training.methods.method import Method, Shape

__all__ = ["NCE", "NCESettings"]


class NCESettings(Settings):
    """Class weights free, or non-negative as the features are."""

    name: Literal["nce"] = "nce"
    weights: Literal["free", "non-negative"] = "free"

    def build(self, shape: Shape) -> "NCE":
        return NCE(self, shape)


class NCE(Method):
    """Wang et al., ICLR 2024, section 5. The model's own σ₊ makes the features non-negative; no other is put on top."""

    views: ClassVar[int] = 1
    needs_labels: ClassVar[bool] = True
    predicts: ClassVar[bool] = True

    def __init__(self, settings: NCESettings, shape: Shape) -> None:
        super().__init__()
        self.loss = losses.NonNegCrossEntropy(shape.dimensions, shape.classes, "identity", settings.weights)

    def forward(self, features: Callable[[Tensor], Tensor], batch: Batch) -> Tensor:
        assert batch.labels is not None
        loss: Tensor = self.loss(features(batch.views[0]), batch.labels)
        return loss

    def predict(self, z: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        return self.loss.logits(z)
