"""CE: a linear classifier on the features, the supervised method to compare with."""

from collections.abc import Callable
from typing import ClassVar, Literal

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from nonneg._settings import Settings
from nonneg.data import Batch
from nonneg.training.methods.method import Method, Shape

__all__ = ["CrossEntropy", "CrossEntropySettings"]


class CrossEntropySettings(Settings):
    """Nothing to set."""

    name: Literal["ce"] = "ce"

    def build(self, shape: Shape) -> "CrossEntropy":
        return CrossEntropy(shape)


class CrossEntropy(Method):
    """−log softmax(Wz + b)_y."""

    views: ClassVar[int] = 1
    needs_labels: ClassVar[bool] = True
    predicts: ClassVar[bool] = True

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.classifier = nn.Linear(shape.dimensions, shape.classes)

    def forward(self, features: Callable[[Tensor], Tensor], batch: Batch) -> Tensor:
        assert batch.labels is not None
        return F.cross_entropy(self.predict(features(batch.views[0])), batch.labels)

    def predict(self, z: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        scores: Tensor = self.classifier(z)
        return scores
