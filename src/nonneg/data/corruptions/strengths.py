"""The published constants of a corruption: five severities, for small and for large pictures."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from torch import Tensor

__all__ = ["Strengths"]

T = TypeVar("T")

_SMALL_SIDE = 64


@dataclass(frozen=True)
class Strengths(Generic[T]):
    """CIFAR-10-C's (`small`) and ImageNet-C's (`large`), from severity 1 to 5."""

    small: tuple[T, T, T, T, T]
    large: tuple[T, T, T, T, T]

    def of(self, x: Tensor, severity: int) -> T:
        """Those for pictures of the size of x."""
        return (self.small if max(x.shape[-2:]) <= _SMALL_SIDE else self.large)[severity - 1]
