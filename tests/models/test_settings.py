"""Settings of a model: what they refuse, in which words, and that they survive a file."""

import re

import pytest
import torchvision

from nonneg import activations
from nonneg._errors import UserError
from nonneg._settings import validated
from nonneg.models import ModelSettings
from nonneg.models.settings import RESNETS


def test_the_resnets_are_those_of_torchvision():
    known = torchvision.models.list_models(torchvision.models)
    assert sorted(RESNETS) == sorted(name for name in known if re.match(r"(wide_)?res(net|next)\d", name))


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"backbone": "resnet50", "small_images": False, "projector": [], "image_size": 224},
        {"backbone": "timm:vit_tiny_patch16_224", "channels": 1, "mean": [0.5], "std": [0.25]},
        *[{"activation": name} for name in activations.names()],
    ],
    ids=str,
)
def test_settings_survive_a_file(values):
    settings = validated(ModelSettings, values)
    assert validated(ModelSettings, settings.model_dump(mode="json")) == settings
    assert ModelSettings.model_validate_json(settings.model_dump_json()) == settings


def test_they_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        ModelSettings().backbone = "resnet18"


REFUSED = [
    ({"bakbone": "small"}, "Expected a key that a recipe knows, got 'bakbone'; did you mean 'backbone'?"),
    (
        {"backbone": "resnet17"},
        "Expected backbone to be small, medium, a ResNet of torchvision, timm:NAME or custom "
        "(did you mean 'resnet18'?), got 'resnet17'.",
    ),
    (
        {"backbone": "timm:"},
        "Expected backbone to be small, medium, a ResNet of torchvision, timm:NAME or custom "
        "(did you mean 'timm:NAME'?), got 'timm:'.",
    ),
    (
        {"activation": "rep-relu"},
        "Expected activation to be one of rep_relu, relu, softplus, sigmoid, exp, identity, gelu, leaky_relu "
        "(did you mean 'rep_relu'?), got 'rep-relu'.",
    ),
    ({"projector": [2048, 0]}, "Expected projector to be greater than 0, got 0."),
    ({"stem_padding": 4}, "Expected stem_padding to be less than or equal to 3, got 4."),
    ({"stem_padding": -1}, "Expected stem_padding to be greater than or equal to 0, got -1."),
    ({"channels": 0}, "Expected channels to be greater than 0, got 0."),
    ({"image_size": 7}, "Expected image_size to be greater than or equal to 8, got 7."),
    ({"mean": [0.5], "std": [0.2]}, "Expected mean to be 3 numbers, one a channel, got [0.5]."),
    ({"mean": [0.5] * 3, "std": [0.2]}, "Expected std to be 3 numbers, one a channel, got [0.2]."),
    ({"mean": [0.5] * 3, "std": [0.2, 0, 0.2]}, "Expected std to be above 0 in every channel, got [0.2, 0, 0.2]."),
    ({"mean": [0.5] * 3}, "Expected std to be given if and only if mean is, got None."),
    ({"std": [0.5] * 3}, "Expected std to be given if and only if mean is, got [0.5, 0.5, 0.5]."),
    ({"mean": [0.5, 0.5, float("nan")], "std": [1] * 3}, "Expected mean to be a finite number, got nan."),
]


@pytest.mark.parametrize(("values", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_a_refusal_says_what_was_expected_and_what_came(values, message):
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        validated(ModelSettings, values)
