"""What a method is: from views (and perhaps labels) and a model to a loss."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from nonneg.data import Batch

__all__ = ["Method", "Shape"]


@dataclass(frozen=True)
class Shape:
    """What a method may need to know before it is built."""

    dimensions: int  # of z
    classes: int  # 1 if the data has no labels


class Method(nn.Module, ABC):
    """A training objective. It may have parameters of its own; they are trained with the model's."""

    views: ClassVar[int]  # of each picture that a batch holds
    needs_labels: ClassVar[bool]
    predicts: ClassVar[bool] = False

    @abstractmethod
    def forward(self, features: Callable[[Tensor], Tensor], batch: Batch) -> Tensor:
        """The loss of a batch. `features` makes z of pictures, chunk by chunk if the recipe says so."""

    def predict(self, z: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """A score for each class, by a method that `predicts`."""
        raise TypeError(f"{type(self).__name__} predicts no classes.")
