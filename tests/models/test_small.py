"""The small network against a slow, obvious forward pass with its own weights, and the size that it promises."""

import pytest
import torch
from torch.nn import functional as F

from nonneg.models.small import WIDTH, small


def of(weights, name):
    return {key.removeprefix(f"{name}."): tensor for key, tensor in weights.items() if key.startswith(f"{name}.")}


def normed(x, norm):
    """Batch norm as in evaluation: (x − mean) / √(variance + ε) · weight + bias, a channel each."""
    mean, variance, weight, bias = (
        norm[key].reshape(1, -1, 1, 1) for key in ("running_mean", "running_var", "weight", "bias")
    )
    return (x - mean) / torch.sqrt(variance + 1e-5) * weight + bias


def slow_block(x, weights, stride):
    y = F.conv2d(x, weights["conv1.weight"], stride=stride, padding=1)
    y = normed(y, of(weights, "norm1")).clamp(min=0)
    y = normed(F.conv2d(y, weights["conv2.weight"], padding=1), of(weights, "norm2"))
    if "shortcut.0.weight" in weights:
        x = normed(F.conv2d(x, weights["shortcut.0.weight"], stride=stride), of(weights, "shortcut.1"))
    return (x + y).clamp(min=0)


def slow_small(x, weights):
    x = normed(F.conv2d(x, weights["stem.weight"], padding=1), of(weights, "norm")).clamp(min=0)
    for block, stride in (("block1", 1), ("block2", 2), ("block3", 2)):
        x = slow_block(x, of(weights, block), stride)
    return x.mean((2, 3))


@pytest.mark.parametrize(("channels", "side"), [(3, 32), (1, 28), (5, 9)])
def test_it_is_the_slow_forward_pass(channels, side):
    network = small(channels).double()
    for parameter in network.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    network(torch.rand(8, channels, side, side, dtype=torch.float64))  # so that batch norm has seen something
    network.eval()
    x = torch.rand(4, channels, side, side, dtype=torch.float64)
    kept = x.clone()
    h = network(x)
    assert h.shape == (4, WIDTH)
    torch.testing.assert_close(h, slow_small(x, network.state_dict()), rtol=1e-10, atol=1e-10)
    assert torch.equal(x, kept)


def test_it_has_about_three_tenths_of_a_million_parameters():
    assert round(sum(p.numel() for p in small().parameters()) / 1e6, 1) == 0.3


def test_at_the_start_it_keeps_the_size_of_what_goes_through():
    """He's initialisation: the variance of a convolution's outputs stays of the size of its inputs' second moment."""
    network = small()
    for name in ("block1", "block2", "block3"):
        weight = network.get_submodule(name).conv2.weight
        assert weight.var().item() == pytest.approx(2 / (9 * weight.shape[0]), rel=0.1)
