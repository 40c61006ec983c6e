"""A sparse autoencoder on finished features: sparsity after the fact, to compare with sparsity from training."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from nonneg import _checks, _seeds

__all__ = ["sparse_codes"]

_STEPS = 500
_BATCH = 512
_RATE = 1e-3


def sparse_codes(
    x: Float[Tensor, "n w"], x_test: Float[Tensor, "m w"], d: int, k: int, seed: int = 0
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "m d"]]:
    """top_k(ReLU((x − b)E + c)) of both, fitted to x ≈ top_k(…)D + b, D of unit rows (Makhzani and Frey, ICLR 2014).

    500 steps of Adam on batches of 512; E begins as Dᵀ (Gao et al., ICLR 2025), b as the mean of x, and x is scaled to
    a mean length of 1.

    >>> codes, _ = sparse_codes(torch.rand(20, 6), torch.rand(4, 6), d=8, k=2)
    >>> codes.shape, int((codes > 0).sum(1).max())
    (torch.Size([20, 8]), 2)
    """
    _checks.width(x_test, x.shape[1])
    _checks.dimensions(k, d)
    draw = _seeds.generator(seed, "sparse autoencoder")
    x, x_test = x.float(), x_test.float()
    middle = x.mean(0)
    length = (x - middle).norm(dim=1).mean()
    x, x_test = ((part - middle) / length.clamp_min(1e-12) for part in (x, x_test))
    decoder = F.normalize(torch.randn(d, x.shape[1], generator=draw), dim=1)
    encoder, bias, shift = decoder.T.clone(), torch.zeros(d), torch.zeros(x.shape[1])
    learnt = [parameter.requires_grad_() for parameter in (encoder, decoder, bias, shift)]
    optimiser = torch.optim.Adam(learnt, lr=_RATE)
    for _ in range(_STEPS):
        batch = x[torch.randint(len(x), (min(_BATCH, len(x)),), generator=draw)]
        codes = _codes(batch, encoder, bias, shift, k)
        loss = (codes @ F.normalize(decoder, dim=1) + shift - batch).square().sum(1).mean()
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
    with torch.no_grad():
        return _codes(x, encoder, bias, shift, k), _codes(x_test, encoder, bias, shift, k)


def _codes(
    x: Float[Tensor, "n w"],
    encoder: Float[Tensor, "w d"],
    bias: Float[Tensor, " d"],
    shift: Float[Tensor, " w"],
    k: int,
) -> Float[Tensor, "n d"]:
    values = F.relu((x - shift) @ encoder + bias)
    largest = values.topk(k, dim=1)
    return torch.zeros_like(values).scatter(1, largest.indices, largest.values)
