"""Every loss with what it is called with and its slow reference, for the claims that all of them make."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor, nn

from nonneg.losses import ClipLoss, InfoNCE, NonNegCrossEntropy, Spectral, SupervisedInfoNCE
from tests.references import losses as slow
from tests.references.activations import rep_relu


class Case(NamedTuple):
    """A loss by its reduction, the reference of its rows, and whether it takes labels in place of a second view."""

    make: Callable[..., nn.Module]
    rows: Callable[..., Tensor]
    labelled: bool = False

    def arguments(self, z1: Tensor, z2: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return (z1, y) if self.labelled else (z1, z2)


D = 6
CLASSES = 4


def _supervised(normalize):
    return Case(
        lambda **how: SupervisedInfoNCE(normalize=normalize, **how),
        lambda loss, z, y: slow.supervised_infonce(z, y, normalize=normalize),
        labelled=True,
    )


def _cross_entropy(weights, w_plus):
    def make(**how):
        torch.manual_seed(7)
        loss = NonNegCrossEntropy(D, CLASSES, activation="relu", weights=weights, **how)
        with torch.no_grad():
            loss.weight.add_(0.1)
        return loss

    return Case(
        make,
        lambda loss, f, y: slow.non_neg_cross_entropy(torch.relu(f), y, w_plus(loss.weight.to(f.dtype))),
        labelled=True,
    )


CASES = {
    "InfoNCE": Case(lambda **how: InfoNCE(**how), lambda loss, z1, z2: slow.infonce(z1, z2)),
    "InfoNCE, not normalised": Case(
        lambda **how: InfoNCE(normalize=False, **how), lambda loss, z1, z2: slow.infonce(z1, z2, normalize=False)
    ),
    "SupervisedInfoNCE": _supervised(True),
    "SupervisedInfoNCE, not normalised": _supervised(False),
    "ClipLoss": Case(
        lambda **how: ClipLoss(**how),
        lambda loss, image, text: slow.clip(image, text, torch.exp(-loss.log_scale.to(image.dtype))),
    ),
    "Spectral": Case(lambda **how: Spectral(**how), lambda loss, z1, z2: slow.spectral(z1, z2)),
    "NonNegCrossEntropy, free weights": _cross_entropy("free", lambda w: w),
    "NonNegCrossEntropy, non-negative weights": _cross_entropy("non-negative", rep_relu),
}


def batch(n: int, d: int = D, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """(z1, z2, y) in float64: two views that are alike, and labels of which each occurs twice (n even)."""
    generator = torch.Generator().manual_seed(seed)
    z1 = torch.randn(n, d, generator=generator, dtype=torch.float64)
    z2 = z1 + torch.randn(n, d, generator=generator, dtype=torch.float64)
    return z1, z2, torch.arange(n) // 2 % CLASSES


batches = st.builds(batch, n=st.integers(2, 6), d=st.integers(1, 7), seed=st.integers(0, 2**32 - 1))
quick = settings(deadline=None, max_examples=25)


def value_and_gradients(function: Callable[..., Tensor], *inputs: Tensor) -> tuple[Tensor, ...]:
    """function(*inputs) and its gradient with regard to each input of floats; rows are summed with fixed weights."""
    leaves = [x.detach().clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    value = function(*leaves)
    weights = torch.linspace(1, 2, value.numel(), dtype=value.dtype).reshape(value.shape)
    gradients = torch.autograd.grad((value * weights).sum(), [x for x in leaves if x.requires_grad])
    return value.detach(), *gradients


def assert_equal(actual: tuple[Tensor, ...], expected: tuple[Tensor, ...], tolerance: float = 1e-10) -> None:
    """Equal to a relative and an absolute tolerance of the same size."""
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)
