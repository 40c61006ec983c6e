"""Feature rows made ready for a similarity: full precision, unit length, finite."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

# Shorter rows than this are all-zero rows to us. F.normalize divides their gradient by 1e-12, which throws a
# model with a ReLU (it makes such rows) off at the first step.
_SHORTEST = 1e-12


def full_precision(z: Tensor) -> Tensor:
    """Half precision to float32, the rest as it is. A gradient beyond the half type's range comes back as its end."""
    if z.dtype not in (torch.float16, torch.bfloat16):
        return z
    full: Tensor = _FullPrecision.apply(z)
    return full


def unit_rows(z: Float[Tensor, "n d"], length: float = 1.0) -> Float[Tensor, "n d"]:
    """Every row scaled to `length`; an all-zero row stays zero and its gradient is zero."""
    unit: Tensor = _UnitRows.apply(z, length)
    return unit


def bounded(z: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """Values clamped to ±max^(1/8) (65,536 in float32: all of float16), so that sums of fourth powers stay finite.

    Infinity becomes NaN: a diverged model is to be seen in its loss.
    """
    limit = torch.finfo(z.dtype).max ** 0.125
    return torch.clamp(z, -limit, limit).masked_fill(z.isinf(), torch.nan)


# Autocast lowers matmul and torch.linalg.vecdot, and their backward too if that runs inside of it; not these two.


def dot_rows(x: Float[Tensor, "n d"], y: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    """x_i·y_i for every row i."""
    return (x * y).sum(1)


def product(x: Float[Tensor, "n d"], y: Float[Tensor, "d m"]) -> Float[Tensor, "n m"]:
    """x @ y."""
    result: Tensor = _Product.apply(x, y)
    return result


class _FullPrecision(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor) -> Tensor:
        ctx.dtype = z.dtype
        return z.float()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        limit = torch.finfo(ctx.dtype).max
        return gradient.clamp(-limit, limit).to(ctx.dtype)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(x, y)
        with torch.autocast(x.device.type, enabled=False):
            return x @ y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        x, y = ctx.saved_tensors
        with torch.autocast(x.device.type, enabled=False):
            return gradient @ y.T, x.T @ gradient


class _UnitRows(torch.autograd.Function):
    """One new matrix forward and one backward; autograd on the formula would hold four."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, length: float) -> Tensor:
        largest = torch.linalg.vector_norm(z, ord=torch.inf, dim=1, keepdim=True)
        unit: Tensor = z / largest.clamp_min(_SHORTEST)  # first by the largest entry, so that no square overflows
        norm = torch.linalg.vector_norm(unit, dim=1, keepdim=True)
        scale = torch.where(largest > _SHORTEST, length / norm, 0.0)
        unit *= scale
        ctx.save_for_backward(unit, scale / largest.clamp_min(_SHORTEST))
        ctx.length = length
        return unit

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        unit, scale = ctx.saved_tensors
        along = dot_rows(gradient, unit).unsqueeze(1) / ctx.length**2
        return torch.addcmul(gradient, unit, along, value=-1).mul_(scale), None
