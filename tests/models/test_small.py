"""The small networks against a slow, obvious forward pass with its own weights, and the sizes that they promise."""

import pytest
import torch
from torch.nn import functional as F

from nonneg.models.small import MEDIUM_WIDTH, SMALL_WIDTH, medium, small

# Network, width of h, strides of the stem and the blocks.
NETWORKS = [(small, SMALL_WIDTH, (2, 1, 2, 2)), (medium, MEDIUM_WIDTH, (1, 2, 2, 2))]


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


def slow(x, weights, strides):
    x = normed(F.conv2d(x, weights["stem.weight"], stride=strides[0], padding=1), of(weights, "norm")).clamp(min=0)
    for number in (1, 2, 3):
        x = slow_block(x, of(weights, f"block{number}"), strides[number])
    return x.mean((2, 3))


@pytest.mark.parametrize(("channels", "side"), [(3, 32), (1, 28), (5, 9)])
@pytest.mark.parametrize(("build", "width", "strides"), NETWORKS)
def test_it_is_the_slow_forward_pass(build, width, strides, channels, side):
    network = build(channels).double()
    for parameter in network.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    network(torch.rand(8, channels, side, side, dtype=torch.float64))  # so that batch norm has seen something
    network.eval()
    x = torch.rand(4, channels, side, side, dtype=torch.float64)
    kept = x.clone()
    h = network(x)
    assert h.shape == (4, width)
    torch.testing.assert_close(h, slow(x, network.state_dict(), strides), rtol=1e-10, atol=1e-10)
    assert torch.equal(x, kept)


def test_their_millions_of_parameters():
    assert [round(sum(p.numel() for p in build().parameters()) / 1e6, 1) for build in (small, medium)] == [0.3, 1.2]


@pytest.mark.parametrize("build", [small, medium])
def test_at_the_start_it_keeps_the_size_of_what_goes_through(build):
    """He's initialisation: the variance of a convolution's outputs stays of the size of its inputs' second moment."""
    network = build()
    for name in ("block1", "block2", "block3"):
        weight = network.get_submodule(name).conv2.weight
        assert weight.var().item() == pytest.approx(2 / (9 * weight.shape[0]), rel=0.1)
