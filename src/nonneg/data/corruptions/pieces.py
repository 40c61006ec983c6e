"""Pictures that are worked on together."""

import math

from torch import Tensor

__all__ = ["pieces"]

# Numbers. What is drawn for a picture depends on it, so it is the same on every machine.
_TOGETHER = 2**20


def pieces(pixels: Tensor) -> list[slice]:
    """The pictures, as many at a time as have about a million numbers."""
    together = max(1, _TOGETHER // max(1, math.prod(pixels.shape[1:])))
    return [slice(start, start + together) for start in range(0, len(pixels), together)]
