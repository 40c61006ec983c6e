"""The rows of all processes, for losses whose negatives come from everywhere.

Every function returns its input where there is one process. The objective of a run is the sum over processes of what
each one differentiates; DistributedDataParallel's mean over processes then makes the gradient of the concatenated batch
out of a loss whose value, the same on every process, is that of the concatenated batch.
"""

from typing import Any

import torch
from jaxtyping import Shaped
from torch import Tensor
from torch import distributed as dist


def processes() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def total(count: int, device: torch.device) -> int:
    """The sum over processes of a number."""
    return sum(_counts(count, device))


@torch.no_grad()
def gather_rows(x: Shaped[Tensor, "n ..."]) -> tuple[Shaped[Tensor, "m ..."], int]:
    """The rows of all processes in order of rank, without gradient, and where our own begin. Batches may be uneven."""
    if processes() == 1:
        return x.detach(), 0
    counts = _counts(len(x), x.device)
    padded = x.new_zeros((max(counts), *x.shape[1:]))
    padded[: len(x)] = x
    everyone = [torch.empty_like(padded) for _ in counts]
    dist.all_gather(everyone, padded)
    return torch.cat([rows[:count] for rows, count in zip(everyone, counts, strict=True)]), sum(
        counts[: dist.get_rank()]
    )


def sum_over_processes(x: Tensor) -> Tensor:
    """The sum over processes, which a gradient flows through to every one of them."""
    if processes() == 1:
        return x
    summed: Tensor = _Sum.apply(x)
    return summed


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        summed = x.detach().clone(memory_format=torch.contiguous_format)
        dist.all_reduce(summed)
        return summed

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return sum_over_processes(gradient)


def _counts(count: int, device: torch.device) -> list[int]:
    if processes() == 1:
        return [count]
    counts = [torch.zeros(1, dtype=torch.int64, device=device) for _ in range(processes())]
    dist.all_gather(counts, torch.tensor([count], device=device))
    return [int(c) for c in torch.cat(counts).tolist()]
