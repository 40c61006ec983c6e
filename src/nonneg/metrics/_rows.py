"""Rows of a feature matrix, a bounded piece at a time."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from nonneg._rows import unit_rows

# An entry counts as on above this, after its row is scaled to length 1.
ACTIVE = 1e-5

_PIECE = 2**22  # numbers in a piece


def pieces(rows: int, numbers_a_row: int) -> Iterator[slice]:
    """Slices of rows such that a piece holds about four million numbers."""
    step = max(1, _PIECE // max(1, numbers_a_row))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def active_pieces(z: Float[Tensor, "n d"]) -> Iterator[tuple[slice, Bool[Tensor, "m d"]]]:
    """Which entries of a piece of rows are on: |z| > 1e-5 with the row scaled to length 1."""
    for rows in pieces(*z.shape):
        yield rows, unit_rows(z[rows]).abs_() > ACTIVE


def alive_columns(z: Float[Tensor, "n d"]) -> Bool[Tensor, " d"]:
    """Which dimensions some sample switches on."""
    alive = torch.zeros(z.shape[1], dtype=torch.bool, device=z.device)
    for _, active in active_pieces(z):
        alive |= active.any(0)
    return alive
