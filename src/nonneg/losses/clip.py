"""The image–text loss of CLIP."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nonneg import _checks
from nonneg._rows import dot_rows, full_precision, unit_rows
from nonneg.losses import _distributed
from nonneg.losses._logsumexp import NATS, cross_logsumexp
from nonneg.losses._reduction import check_reduction, reduce

__all__ = ["ClipLoss"]

_LOWEST = 0.01  # the temperature at which CLIP stops


class ClipLoss(nn.Module):
    """−½ log softmax_j(s_ij/τ)_i − ½ log softmax_j(s_ji/τ)_i, s_ij between image i and text j (CLIP, ICML 2021).

    With both sides non-negative it is the multi-modal NCL loss. `learnable` learns log 1/τ and keeps τ from falling
    below 0.01, as CLIP does. `reduction="none"` gives 2n losses, image to text before text to image.

    >>> ClipLoss(temperature=0.2, learnable=False)(torch.eye(3), torch.eye(3))  # log(1 + 2·e⁻⁵)
    tensor(0.0134)
    """

    def __init__(
        self, temperature: float = 0.07, learnable: bool = True, tile: int | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        _checks.temperature(temperature)
        _checks.tile(tile)
        check_reduction(reduction)
        if learnable and temperature < _LOWEST:
            raise ValueError(f"Expected a learnable temperature of at least {_LOWEST}, got {temperature}.")
        self._initial = temperature  # as it is, where a float32 tensor would round it
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / temperature))) if learnable else None
        self.tile = tile
        self.reduction = reduction

    @property
    def temperature(self) -> float:
        """τ as it is now."""
        return self._initial if self.log_scale is None else 1 / _exp_clamped(self.log_scale).item()

    def forward(self, image: Float[Tensor, "n d"], text: Float[Tensor, "n d"]) -> Tensor:
        _checks.same_shape(image, text, ("image", "text"))
        pairs = _distributed.total(len(image), image.device)
        _checks.at_least_two(pairs, "pairs")
        image, text = full_precision(image), full_precision(text)
        both = torch.promote_types(image.dtype, text.dtype)
        image, text = image.to(both), text.to(both)
        scale = 1 / self._initial if self.log_scale is None else _exp_clamped(self.log_scale.to(image.dtype))
        x = unit_rows(image) * (scale / NATS)
        y = unit_rows(text)
        to_text, to_image = cross_logsumexp(x, y, self.tile)
        positive = dot_rows(x, y)
        rows = NATS * torch.cat([to_text - positive, to_image - positive])
        return reduce(rows, self.reduction, 2 * pairs)

    def extra_repr(self) -> str:
        learnable = self.log_scale is not None
        return f"temperature={self.temperature:.3g}, learnable={learnable}, reduction={self.reduction!r}"


def _exp_clamped(log_scale: Tensor) -> Tensor:
    """1/τ, at most 100: the value of a clamp with the gradient of none, or a clamped one would never find its way."""
    over = (log_scale - math.log(1 / _LOWEST)).clamp_min(0).detach()
    return (log_scale - over).exp()
