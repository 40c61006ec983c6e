"""Non-negative activations σ₊: the one line that turns a contrastive model into a non-negative one.

`rep_relu`, `relu`, `softplus`, `sigmoid` and `exp` are non-negative. `identity` (plain contrastive learning), `gelu`
and `leaky_relu` are controls for comparison; they let negative values through and say so.
"""

import difflib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.jit import is_scripting  # type: ignore[attr-defined]  # here: TorchScript trips over it in a function
from torch.nn import functional as F

__all__ = ["NonNegative", "exp", "is_non_negative", "names", "relu", "rep_relu", "sigmoid", "softplus"]


def relu(z: Tensor) -> Tensor:
    """max(z, 0). Exact zeros; a unit that is off for every sample gets no gradient and stays off.

    >>> relu(torch.tensor([-1.0, 0.5]))
    tensor([0.0000, 0.5000])
    """
    return torch.relu(z)


def rep_relu(z: Tensor) -> Tensor:
    """max(z, 0) forward, GELU's derivative Φ(z) + z·φ(z) backward, so that dead units still learn (NCL, ICLR 2024).

    >>> z = torch.tensor([-1.0, 0.5], requires_grad=True)
    >>> rep_relu(z).sum().backward()
    >>> rep_relu(z).tolist(), z.grad
    ([0.0, 0.5], tensor([-0.0833,  0.8675]))
    """
    if is_scripting():
        return torch.relu(z)  # TorchScript knows no custom gradient; the forward is ReLU's
    activated: Tensor = _RepReLU.apply(z)
    return activated


def softplus(z: Tensor) -> Tensor:
    """log(1 + eᶻ). Positive everywhere: no exact zeros.

    >>> softplus(torch.tensor([-1.0, 0.5]))
    tensor([0.3133, 0.9741])
    """
    return F.softplus(z)


def sigmoid(z: Tensor) -> Tensor:
    """1 / (1 + e⁻ᶻ), in (0, 1).

    >>> sigmoid(torch.tensor([-1.0, 0.5]))
    tensor([0.2689, 0.6225])
    """
    return torch.sigmoid(z)


def exp(z: Tensor) -> Tensor:
    """e^min(z, 11): e¹¹ = 59,874 is the last whole power below float16's 65,504; one limit for every dtype.

    >>> exp(torch.tensor([-1.0, 0.5, 100.0]))
    tensor([3.6788e-01, 1.6487e+00, 5.9874e+04])
    """
    return torch.exp(torch.clamp(z, max=11.0))


def names(non_negative: bool | None = None) -> list[str]:
    """The names that `NonNegative` takes: all of them, or only the (non-)negative ones.

    >>> names()
    ['rep_relu', 'relu', 'softplus', 'sigmoid', 'exp', 'identity', 'gelu', 'leaky_relu']
    >>> names(non_negative=False)
    ['identity', 'gelu', 'leaky_relu']
    """
    return {None: [*_NON_NEGATIVE, *_CONTROLS], True: list(_NON_NEGATIVE), False: list(_CONTROLS)}[non_negative]


def is_non_negative(name: str) -> bool:
    """Whether the activation of that name is non-negative, or a control that is not.

    >>> is_non_negative("rep_relu"), is_non_negative("gelu")
    (True, False)
    """
    _function(name)
    return name in _NON_NEGATIVE


class NonNegative(nn.Module):
    """The activation of a name, as a module. `is_non_negative` is False for the controls.

    >>> NonNegative("rep_relu")(torch.tensor([-1.0, 0.5]))
    tensor([0.0000, 0.5000])
    >>> NonNegative("identity").is_non_negative
    False
    """

    def __init__(self, name: str = "rep_relu") -> None:
        super().__init__()
        self.function = _function(name)
        self.name = name
        self.is_non_negative = name in _NON_NEGATIVE

    def forward(self, z: Tensor) -> Tensor:
        return self.function(z)

    def extra_repr(self) -> str:
        return repr(self.name)


class _RepReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor) -> Tensor:
        ctx.save_for_backward(z)
        return torch.relu(z)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (z,) = ctx.saved_tensors
        result: Tensor = torch.ops.aten.gelu_backward(gradient, z)  # the exact one: Φ(z) + z·φ(z)
        return result


def _identity(z: Tensor) -> Tensor:
    return z


def _gelu(z: Tensor) -> Tensor:
    return F.gelu(z)


def _leaky_relu(z: Tensor) -> Tensor:
    return F.leaky_relu(z)


_NON_NEGATIVE: dict[str, Callable[[Tensor], Tensor]] = {
    "rep_relu": rep_relu,
    "relu": relu,
    "softplus": softplus,
    "sigmoid": sigmoid,
    "exp": exp,
}
_CONTROLS: dict[str, Callable[[Tensor], Tensor]] = {
    "identity": _identity,
    "gelu": _gelu,
    "leaky_relu": _leaky_relu,
}


def _function(name: str) -> Callable[[Tensor], Tensor]:
    known = _NON_NEGATIVE | _CONTROLS
    if name not in known:
        nearest = difflib.get_close_matches(str(name), known, n=1, cutoff=0.0)[0]
        raise ValueError(f"Expected an activation out of {', '.join(known)}, got {name!r}; did you mean {nearest!r}?")
    return known[name]
