"""What a data set is: a training part, perhaps a test part, and the names of the classes."""

from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

__all__ = ["DataSet", "Files", "Images", "Split"]


@dataclass(frozen=True)
class Images:
    """Pictures of one size, in memory."""

    pixels: UInt8[Tensor, "n c h w"]
    labels: Int64[Tensor, " n"] | None

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def channels(self) -> int:
        return self.pixels.shape[1]

    def thinned(self, count: int) -> "Images":
        """At most so many of them, evenly from beginning to end: a folder's are sorted by class."""
        chosen = _evenly(len(self), count)
        return Images(self.pixels[chosen], None if self.labels is None else self.labels[chosen])


@dataclass(frozen=True)
class Files:
    """Pictures that are decoded when they are needed, by DataLoader workers."""

    paths: tuple[Path, ...]
    labels: Int64[Tensor, " n"] | None
    channels: int = 3

    def __len__(self) -> int:
        return len(self.paths)

    def thinned(self, count: int) -> "Files":
        """At most so many of them, evenly from beginning to end: a folder's are sorted by class."""
        chosen = _evenly(len(self), count)
        labels = None if self.labels is None else self.labels[chosen]
        return Files(tuple(self.paths[i] for i in chosen.tolist()), labels, self.channels)


Split = Images | Files


@dataclass(frozen=True)
class DataSet:
    """A data set of a name. A set without labels has no classes."""

    name: str
    train: Split
    test: Split | None
    classes: tuple[str, ...]

    def evaluated(self) -> Split:
        """The part that measurements are made on: the test part, or the training part where there is no other."""
        return self.train if self.test is None else self.test


def _evenly(n: int, count: int) -> Int64[Tensor, " m"]:
    count = min(count, n)
    return torch.arange(count) * n // max(count, 1)
