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
    """Half precision to float32; the rest as it is."""
    return z.float() if z.dtype in (torch.float16, torch.bfloat16) else z


def unit_rows(z: Float[Tensor, "n d"], length: float = 1.0) -> Float[Tensor, "n d"]:
    """Every row scaled to `length`; an all-zero row stays zero and its gradient is zero."""
    unit: Tensor = _UnitRows.apply(z, length)
    return unit


def bounded(z: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """Values clamped to ±max^(1/5) (5e7 in float32), so that fourth powers of features stay finite."""
    limit = torch.finfo(z.dtype).max ** 0.2
    return torch.clamp(z, -limit, limit)


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
        along = torch.linalg.vecdot(gradient, unit).unsqueeze(1) / ctx.length**2
        return torch.addcmul(gradient, unit, along, value=-1).mul_(scale), None
