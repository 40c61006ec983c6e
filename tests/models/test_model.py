"""A model against its formula: h = e((x − mean) / std), z = σ₊(p(h))."""

import re

import pytest
import torch
from torch import nn

from nonneg import activations
from nonneg._errors import UserError
from nonneg.activations import NonNegative
from nonneg.models import Model, ModelSettings


def custom(**values):
    """A model around the mean over places, of which everything can be worked out by hand."""
    backbone = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return Model(ModelSettings(**{"backbone": "custom", "projector": (6, 5), "image_size": 8, **values}), backbone)


@pytest.mark.parametrize("activation", activations.names())
def test_h_is_the_backbones_and_z_the_activation_of_the_projection(activation):
    model = custom(activation=activation)
    x = torch.rand(7, 3, 8, 8)
    h, z = model.both(x)
    torch.testing.assert_close(h, x.mean((2, 3)))
    first, second = model.projector[0], model.projector[2]
    p = (h @ first.weight.T + first.bias).clamp(min=0) @ second.weight.T + second.bias
    torch.testing.assert_close(model.project(h), p)
    torch.testing.assert_close(z, NonNegative(activation)(p))
    assert bool((z < 0).any()) == (not activations.is_non_negative(activation))
    assert torch.equal(model.encode(x), h)
    assert torch.equal(model.features(x), z)
    assert torch.equal(model(x), z)


def test_the_widths_are_those_of_h_and_z():
    model = custom()
    assert (model.width, model.dimensions) == (3, 5)
    bare = custom(projector=())
    assert (bare.width, bare.dimensions) == (3, 3)
    x = torch.rand(2, 3, 8, 8)
    assert torch.equal(*bare.both(x))  # as h is a mean of pictures and so not negative


def test_pictures_are_normalised_channel_by_channel():
    mean, std = (0.1, 0.2, 0.3), (0.5, 0.25, 2.0)
    model = custom(mean=mean, std=std)
    x = torch.rand(4, 3, 8, 8)
    expected = torch.stack([(x[:, c].mean((1, 2)) - mean[c]) / std[c] for c in range(3)], dim=1)
    torch.testing.assert_close(model.encode(x), expected)


def test_normalisation_that_the_data_undoes_changes_nothing():
    plain, normalising = custom(), custom(mean=(0.1, 0.2, 0.3), std=(0.5, 0.25, 2.0))
    normalising.projector = plain.projector
    x = torch.rand(4, 3, 8, 8)
    undone = x * normalising.std + normalising.mean
    torch.testing.assert_close(normalising(undone), plain(x))


def test_mean_and_deviation_go_where_the_model_goes_and_are_not_learnt():
    model = custom(mean=(0.5,) * 3, std=(0.5,) * 3).double()
    assert model.mean.dtype == model.std.dtype == torch.float64
    assert model(torch.rand(2, 3, 8, 8, dtype=torch.float64)).dtype == torch.float64
    assert {"mean", "std"} <= model.state_dict().keys()
    assert not {"mean", "std"} & dict(model.named_parameters()).keys()
    assert not {"mean", "std"} & custom().state_dict().keys()


def test_gradients_reach_backbone_and_projector_past_dead_features():
    model = Model(ModelSettings(projector=(8,)))
    nn.init.constant_(model.projector[0].bias, -4)
    z = model(torch.rand(4, 3, 32, 32))
    assert (z == 0).all()
    z.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    assert model.projector[0].weight.grad.any()
    assert model.backbone.stem.weight.grad.any()


def test_half_precision_keeps_shapes_and_signs():
    model = Model(ModelSettings(projector=(8,)))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        h, z = model.both(torch.rand(4, 3, 16, 16))
    assert h.shape == (4, 128)
    assert z.shape == (4, 8)
    assert (z >= 0).all()


# Refused


def test_a_module_beside_a_name():
    message = "Expected no module with the backbone 'small', got a Flatten; leave it out, or set backbone=\"custom\"."
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        Model(ModelSettings(), nn.Flatten())


def test_no_module_beside_custom():
    with pytest.raises(UserError, match=r"^Expected a module with the backbone 'custom', got none; "):
        Model(ModelSettings(backbone="custom"))


@pytest.mark.parametrize("shape", [(2, 1, 8, 8), (3, 8, 8), (2, 8, 8, 3), (2, 3, 8)])
def test_pictures_of_another_shape(shape, bad_input):
    message = (
        f"Expected pictures of shape (n, 3, height, width), got {shape}; convert them, or train a model with other "
        "channels."
    )
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        custom()(torch.rand(shape))


def test_pictures_that_are_whole_numbers(bad_input):
    with pytest.raises(
        UserError, match=r"^Expected pictures as floats in \[0, 1\], got uint8; convert them with .float\(\) / 255.$"
    ):
        custom()(torch.zeros(2, 3, 8, 8, dtype=torch.uint8))
