"""The projector against its formula: p(h) = W₂ relu(W₁ h + b₁) + b₂, and so on."""

import pytest
import torch

from nonneg.models import Projector


@pytest.mark.parametrize("widths", [(5,), (7, 5), (3, 7, 2, 5)])
def test_it_is_linear_layers_with_relu_between_and_none_after(widths):
    projector = Projector(4, widths)
    h = torch.randn(20, 4)
    expected = h
    for layer in range(len(widths)):
        weight, bias = projector[2 * layer].weight, projector[2 * layer].bias
        expected = (expected.clamp(min=0) if layer else expected) @ weight.T + bias
    p = projector(h)
    torch.testing.assert_close(p, expected)
    assert (p < 0).any()
    assert projector.dimensions == p.shape[1] == 5


def test_without_widths_it_is_h():
    projector = Projector(4, ())
    h = torch.randn(3, 4)
    assert projector(h) is h
    assert projector.dimensions == 4
    assert not projector.state_dict()
