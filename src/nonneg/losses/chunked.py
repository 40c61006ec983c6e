"""The exact gradient of a batch that is too big for the encoder's activations."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

from nonneg import _checks

__all__ = ["chunked"]


def chunked(encoder: Callable[[Tensor], Tensor], chunk_size: int) -> Callable[[Tensor], Tensor]:
    """The encoder, `chunk_size` samples at a time, keeping no activations: gradient caching (GradCache, RepL4NLP 2021).

    The first pass keeps only the features, the second makes a chunk's activations again when its gradient is due, with
    the same random state (dropout) and autocast. Any loss of the features, of one encoder or two, gets the gradient
    of the whole batch, for the memory of a chunk and one more forward. Batch norm in training mode sees a chunk, not
    the batch; its running statistics count each chunk once, if the encoder is a module or a method of one. Under
    DistributedDataParallel wrap a module that calls this, not the encoder in it.

    >>> model, loss = torch.nn.Linear(4, 8), torch.nn.MSELoss()
    >>> encode = chunked(model, chunk_size=16)
    >>> loss(encode(torch.randn(64, 4)), encode(torch.randn(64, 4))).backward()
    """
    _checks.positive(chunk_size, "chunk_size")

    def contexts() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
        return nullcontext(), _still_batch_norms(encoder)

    def encode(x: Tensor) -> Tensor:
        parts = [
            checkpoint(encoder, part, use_reentrant=False, context_fn=contexts) for part in torch.split(x, chunk_size)
        ]
        return torch.cat(parts)

    return encode


@contextmanager
def _still_batch_norms(encoder: object) -> Iterator[None]:
    """Running statistics unmoved by the second pass, which sees each chunk again."""
    owner = getattr(encoder, "__self__", encoder)  # a method's module
    modules = owner.modules() if isinstance(owner, nn.Module) else ()
    norms = [m for m in modules if isinstance(m, _BatchNorm) and m.training and m.track_running_stats]
    momenta = [norm.momentum for norm in norms]
    counts = [norm.num_batches_tracked for norm in norms]
    try:
        for norm in norms:
            norm.momentum = 0.0
            norm.num_batches_tracked = None if norm.num_batches_tracked is None else norm.num_batches_tracked.clone()
        yield
    finally:
        for norm, momentum, count in zip(norms, momenta, counts, strict=True):
            norm.momentum, norm.num_batches_tracked = momentum, count
