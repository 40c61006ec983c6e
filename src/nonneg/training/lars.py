"""LARS: stochastic gradient descent with a learning rate for each layer."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

__all__ = ["LARS"]


class LARS(Optimizer):
    """v ← μv + λ(∇ + βw), w ← w − lr·v with λ = η‖w‖ / (‖∇‖ + β‖w‖) (You, Gitman and Ginsburg, 2017).

    `clip` (LARC) bounds λ / lr by 1, so that no step is longer than plain SGD's; SimCLR's recipe on CIFAR does so.
    Vectors (biases, norms) get λ = 1 and no weight decay β.

    >>> layer = torch.nn.Linear(2, 2)
    >>> layer(torch.ones(1, 2)).sum().backward()
    >>> LARS(layer.parameters(), lr=0.4).step()
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float,
        momentum: float = 0.9,
        weight_decay: float = 1e-4,
        eta: float = 0.02,
        clip: bool = True,
    ) -> None:
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "eta": eta, "clip": clip}
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]  # torch overloads
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            weights = [p for p in group["params"] if p.grad is not None]
            if weights:
                self._step(weights, group)
        return loss

    def _step(self, weights: list[Tensor], group: dict[str, Any]) -> None:
        gradients = [p.grad.clone(memory_format=torch.preserve_format) for p in weights if p.grad is not None]
        layers = [i for i, p in enumerate(weights) if p.ndim > 1]
        if layers:
            of_layers, their_weights = [gradients[i] for i in layers], [weights[i] for i in layers]
            rates = _rates(their_weights, of_layers, group)
            torch._foreach_add_(of_layers, their_weights, alpha=group["weight_decay"])
            torch._foreach_mul_(of_layers, rates)
        velocities = [self.state[p].get("velocity") for p in weights]
        for i, velocity in enumerate(velocities):
            if velocity is None:
                velocities[i] = self.state[weights[i]]["velocity"] = torch.zeros_like(weights[i])
        torch._foreach_mul_(velocities, group["momentum"])
        torch._foreach_add_(velocities, gradients)
        torch._foreach_add_(weights, velocities, alpha=-group["lr"])


def _rates(weights: list[Tensor], gradients: list[Tensor], group: dict[str, Any]) -> list[Tensor]:
    """λ of each layer; 1 where its weights or its gradient are zero."""
    w, g = torch.stack(torch._foreach_norm(weights)), torch.stack(torch._foreach_norm(gradients))
    rates = group["eta"] * w / (g + group["weight_decay"] * w)
    if group["clip"] and group["lr"] > 0:
        rates = (rates / group["lr"]).clamp_max(1)
    return list(torch.where((w > 0) & (g > 0), rates, 1.0).unbind())
