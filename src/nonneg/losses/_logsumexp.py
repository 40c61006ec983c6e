"""log Σ exp of a similarity matrix's rows, tile by tile, so that the matrix never exists.

Forward makes the sums of a tile's rows and columns from one product. Backward knows all sums, makes the tile again and
turns it into both sides' gradients. A batch against itself is symmetric: half the tiles do, and the whole costs two
matrix products forward and backward together. (Keeping the rows of a tile until their gradient is known needs three.)

All in base 2: torch's exp2 is 4.5 times as fast as its exp on a CPU. Callers scale their rows so that x·y is a
similarity in bits (`nats` below), and get log₂ Σ 2^(x·y).
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nonneg.losses import _distributed

NATS = math.log(2)  # a bit, in nats

# (log-sum-exp, gradient that came back for it) of some rows
_Terms = tuple[Tensor, Tensor]


def self_logsumexp(x: Float[Tensor, "n d"], tile: int | None = None) -> Float[Tensor, " n"]:
    """log₂ Σ_{j≠i} 2^(x_i·x_j) for every row i of ours, j over the rows of all processes."""
    sums: Tensor = _SelfLogSumExp.apply(x, tile)
    return sums


def cross_logsumexp(
    x: Float[Tensor, "n d"], y: Float[Tensor, "n d"], tile: int | None = None
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """log₂ Σ_j 2^(x_i·y_j) for every row of ours in x, and log₂ Σ_j 2^(y_i·x_j) for every one in y."""
    sums: tuple[Tensor, Tensor] = _CrossLogSumExp.apply(x, y, tile)
    return sums


class _SelfLogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, tile: int | None) -> Tensor:
        everyone, ctx.start = _distributed.gather_rows(x)
        sums = _empty_sums(x)
        alone = _distributed.processes() == 1
        _add_sums(x, everyone, tile, sums, sums if alone else None, own=ctx.start)
        ctx.save_for_backward(x, everyone, sums)
        ctx.tile, ctx.alone = tile, alone
        return sums

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        x, everyone, sums = ctx.saved_tensors
        of_x, result = (sums, gradient), torch.zeros_like(x)
        of_everyone = of_x if ctx.alone else _gather(of_x)
        _add_gradients(x, everyone, ctx.tile, of_x, of_everyone, result, result if ctx.alone else None, own=ctx.start)
        return result, None


class _CrossLogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, tile: int | None) -> tuple[Tensor, Tensor]:
        x_sums, y_sums = _empty_sums(x), _empty_sums(y)
        if _distributed.processes() == 1:
            _add_sums(x, y, tile, x_sums, y_sums)
            ctx.save_for_backward(x, y, x_sums, y_sums)
        else:
            all_x, all_y = _distributed.gather_rows(x)[0], _distributed.gather_rows(y)[0]
            _add_sums(x, all_y, tile, x_sums)
            _add_sums(y, all_x, tile, y_sums)
            ctx.save_for_backward(x, y, x_sums, y_sums, all_x, all_y)
        ctx.tile = tile
        return x_sums, y_sums

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, x_gradient: Tensor, y_gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        x, y, x_sums, y_sums, *everyone = ctx.saved_tensors
        of_x, of_y = (x_sums, x_gradient), (y_sums, y_gradient)
        x_result, y_result = torch.zeros_like(x), torch.zeros_like(y)
        if not everyone:
            _add_gradients(x, y, ctx.tile, of_x, of_y, x_result, y_result)
        else:
            all_x, all_y = everyone
            _add_gradients(x, all_y, ctx.tile, of_x, _gather(of_y), x_result)
            _add_gradients(y, all_x, ctx.tile, of_y, _gather(of_x), y_result)
        return x_result, y_result, None


def _add_sums(
    x: Tensor, y: Tensor, tile: int | None, x_sums: Tensor, y_sums: Tensor | None = None, own: int | None = None
) -> None:
    """Add what the tiles of x·yᵀ hold to `x_sums`, and `y_sums` if given. `own`: where x stands in y, not counted."""
    symmetric = y_sums is x_sums
    for rows, columns, similarity in _tiles(x, y, tile, symmetric, own):
        x_sums[rows] = torch.logaddexp2(x_sums[rows], _logsumexp2(similarity, dim=1))
        if y_sums is not None and not (symmetric and rows == columns):
            y_sums[columns] = torch.logaddexp2(y_sums[columns], _logsumexp2(similarity, dim=0))


def _add_gradients(
    x: Tensor,
    y: Tensor,
    tile: int | None,
    of_x: _Terms,
    of_y: _Terms,
    x_result: Tensor,
    y_result: Tensor | None = None,
    own: int | None = None,
) -> None:
    """Add the gradient of both sides' sums: entry (i, j) weighs g_i·2^(s_ij − l_i) + g_j·2^(s_ij − l_j)."""
    symmetric = y_result is x_result
    (x_sums, x_gradient), (y_sums, y_gradient) = of_x, of_y
    for rows, columns, similarity in _tiles(x, y, tile, symmetric, own):
        # No term is above the sum it is part of; the rounding of huge similarities would have it so.
        weight = (similarity - x_sums[rows, None]).clamp_max_(0).exp2_().mul_(x_gradient[rows, None])
        weight += similarity.sub_(y_sums[columns]).clamp_max_(0).exp2_().mul_(y_gradient[columns])
        x_result[rows].addmm_(weight, y[columns])
        if y_result is not None and not (symmetric and rows == columns):
            y_result[columns].addmm_(weight.T, x[rows])


def _tiles(
    x: Tensor, y: Tensor, tile: int | None, symmetric: bool, own: int | None
) -> Iterator[tuple[slice, slice, Tensor]]:
    """The tiles of x·yᵀ, with −∞ where a row meets itself; the upper triangle of them if x is y."""
    size = tile or _size(x.device)
    with torch.autocast(x.device.type, enabled=False):
        for top in range(0, len(x), size):
            rows = slice(top, min(top + size, len(x)))
            for left in range(top if symmetric else 0, len(y), size):
                columns = slice(left, min(left + size, len(y)))
                similarity = x[rows] @ y[columns].T
                if own is not None:
                    offset = own + top - left
                    if -len(similarity) < offset < similarity.shape[1]:
                        similarity.diagonal(offset).fill_(-torch.inf)
                yield rows, columns, similarity


def _size(device: torch.device) -> int:
    """A tile that stays in a CPU's cache, or one that fills an accelerator (64 MiB in float32)."""
    return 1024 if device.type == "cpu" else 4096


def _logsumexp2(similarity: Tensor, dim: int) -> Tensor:
    largest = similarity.amax(dim, keepdim=True).clamp_min(torch.finfo(similarity.dtype).min)  # a row of −∞ alone
    return (similarity - largest).exp2_().sum(dim).log2_() + largest.squeeze(dim)


def _empty_sums(x: Tensor) -> Tensor:
    return x.new_full((len(x),), -torch.inf)


def _gather(terms: _Terms) -> _Terms:
    return _distributed.gather_rows(terms[0])[0], _distributed.gather_rows(terms[1].contiguous())[0]
