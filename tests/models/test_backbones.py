"""Backbones by name: a ResNet against a slow forward pass with its own weights, timm's, and what is refused."""

import re

import pytest
import timm
import torch
import torchvision
from torch import nn
from torch.nn import functional as F

from nonneg._errors import UserError
from nonneg.models import ModelSettings, build_backbone
from nonneg.models.backbones import width_of
from tests.models.test_small import normed, of


def slow_block(x, weights, stride):
    y = F.conv2d(x, weights["conv1.weight"], stride=stride, padding=1)
    y = normed(y, of(weights, "bn1")).clamp(min=0)
    y = normed(F.conv2d(y, weights["conv2.weight"], padding=1), of(weights, "bn2"))
    if "downsample.0.weight" in weights:
        x = normed(F.conv2d(x, weights["downsample.0.weight"], stride=stride), of(weights, "downsample.1"))
    return (x + y).clamp(min=0)


def slow_resnet18(x, weights, padding):
    """With a stem of 3×3 and stride 1, and no max-pool."""
    x = normed(F.conv2d(x, weights["conv1.weight"], padding=padding), of(weights, "bn1")).clamp(min=0)
    for layer in (1, 2, 3, 4):
        x = slow_block(x, of(weights, f"layer{layer}.0"), stride=1 if layer == 1 else 2)
        x = slow_block(x, of(weights, f"layer{layer}.1"), stride=1)
    return x.mean((2, 3))


@pytest.mark.parametrize(("channels", "padding"), [(3, 1), (3, 2), (1, 0)])
def test_resnet18_for_small_pictures_is_the_slow_forward_pass(channels, padding):
    backbone, width = build_backbone(ModelSettings(backbone="resnet18", channels=channels, stem_padding=padding))
    backbone.double()(torch.rand(4, channels, 16, 16, dtype=torch.float64))  # batch norm sees something
    backbone.eval()
    x = torch.rand(2, channels, 16, 16, dtype=torch.float64)
    h = backbone(x)
    assert h.shape == (2, width) == (2, 512)
    torch.testing.assert_close(h, slow_resnet18(x, backbone.state_dict(), padding), rtol=1e-10, atol=1e-10)


def test_a_resnet_for_large_pictures_is_torchvisions_without_its_last_layer():
    backbone, width = build_backbone(ModelSettings(backbone="resnet18", small_images=False))
    theirs = torchvision.models.resnet18()
    theirs.fc = nn.Identity()
    theirs.load_state_dict(backbone.state_dict())
    x = torch.rand(2, 3, 64, 64)
    torch.testing.assert_close(backbone.eval()(x), theirs.eval()(x))
    assert width == 512


def test_a_resnet_for_large_grey_pictures_has_torchvisions_stem_of_one_channel():
    backbone, _ = build_backbone(ModelSettings(backbone="resnet18", small_images=False, channels=1))
    theirs = torchvision.models.resnet18().conv1
    for what in ("out_channels", "kernel_size", "stride", "padding", "bias"):
        assert getattr(backbone.conv1, what) == getattr(theirs, what)
    assert isinstance(backbone.maxpool, nn.MaxPool2d)
    assert backbone(torch.rand(2, 1, 64, 64)).shape == (2, 512)


@pytest.mark.parametrize("small_images", [True, False])
def test_a_new_stem_starts_as_wide_as_torchvisions(small_images):
    """He's initialisation by the outputs: a standard deviation of √(2 / (kernel² · 64))."""
    backbone, _ = build_backbone(ModelSettings(backbone="resnet18", small_images=small_images, channels=8))
    side = backbone.conv1.kernel_size[0]
    assert backbone.conv1.weight.std().item() == pytest.approx((2 / (side**2 * 64)) ** 0.5, rel=0.05)


def test_the_width_is_that_of_the_last_block():
    with torch.device("meta"):
        widths = [build_backbone(ModelSettings(backbone=name))[1] for name in ("resnet34", "resnet50")]
    assert widths == [512, 2048]


def test_the_same_seed_gives_the_same_weights():
    weights = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        weights.append(build_backbone(ModelSettings(backbone="resnet18"))[0].conv1.weight)
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


# timm


def test_a_transformer_of_timm_is_built_for_the_size_of_the_pictures():
    settings = ModelSettings(backbone="timm:vit_tiny_patch16_224", image_size=48, channels=1)
    backbone, width = build_backbone(settings)
    theirs = timm.create_model("vit_tiny_patch16_224", img_size=48, in_chans=1, num_classes=0)
    theirs.load_state_dict(backbone.state_dict())
    x = torch.rand(2, 1, 48, 48)
    with torch.no_grad():
        h = backbone.eval()(x)
        torch.testing.assert_close(h, theirs.eval()(x))
    assert h.shape == (2, width) == (2, 192)


def test_a_convolutional_network_of_timm_takes_any_size():
    backbone, width = build_backbone(ModelSettings(backbone="timm:test_resnet", image_size=40))
    assert backbone(torch.rand(2, 3, 40, 40)).shape == backbone(torch.rand(2, 3, 56, 56)).shape == (2, width)


# Refused


REFUSED = [
    (
        {"backbone": "timm:vit_tinny_patch16_224"},
        r"Expected the name of a model of timm [\d.]+, got 'vit_tinny_patch16_224'; "
        "did you mean 'vit_tiny_patch16_224'\\?",
    ),
    (
        {"backbone": "timm:vit_tiny_patch16_224", "image_size": 8},
        "Expected settings that timm's vit_tiny_patch16_224 can be built with, got image_size 8 and 3 channels, "
        "to which it says: .*; choose others or another backbone.",
    ),
    (
        {"backbone": "custom"},
        "Expected a module with the backbone 'custom', got none; give yours as backbone=, or choose a backbone by "
        "name.",
    ),
]


@pytest.mark.parametrize(("values", "message"), REFUSED, ids=["unknown to timm", "too small for timm", "custom"])
def test_a_refusal_says_what_was_expected_what_came_and_the_way_out(values, message):
    with pytest.raises(UserError, match=f"^{message}$") as caught:
        build_backbone(ModelSettings(**values))
    assert "\n" not in str(caught.value)


# The width of a module given from Python


class Counting(nn.Module):
    """Notes the pictures that it sees."""

    def __init__(self, h):
        super().__init__()
        self.h, self.seen = h, []

    def forward(self, x):
        self.seen.append(x)
        return self.h


def test_the_width_is_seen_on_two_black_pictures():
    backbone = Counting(torch.rand(2, 7))
    assert width_of(backbone, ModelSettings(backbone="custom", channels=2, image_size=9)) == 7
    assert [tuple(x.shape) for x in backbone.seen] == [(2, 2, 9, 9)]
    assert not backbone.seen[0].any()


def test_looking_leaves_statistics_and_modes_as_they_were():
    backbone = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten()).double()
    backbone[1].eval()
    before = {name: tensor.clone() for name, tensor in backbone.state_dict().items()}
    assert width_of(backbone, ModelSettings(backbone="custom")) == 4
    assert all(torch.equal(tensor, before[name]) for name, tensor in backbone.state_dict().items())
    assert [module.training for module in backbone.modules()] == [True, True, False, True, True]


@pytest.mark.parametrize(
    ("h", "came"),
    [
        (torch.rand(2, 7, 4, 4), "(2, 7, 4, 4)"),
        (torch.rand(14), "(14,)"),
        (torch.rand(1, 14), "(1, 14)"),
        ((torch.rand(2, 7),), "tuple"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_what_is_no_matrix_of_two_rows_is_no_h(h, came):
    message = (
        f"Expected a backbone that turns pictures (2, 3, 32, 32) into h of shape (2, width), got {came}; "
        "end it with pooling and flattening."
    )
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        width_of(Counting(h), ModelSettings(backbone="custom"))
