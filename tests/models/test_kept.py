"""A model of which but some features are kept: exactly those columns, in their order; of kept ones, their columns."""

import json
import re

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from nonneg import activations
from nonneg._errors import UserError
from nonneg._settings import validated
from nonneg.models import Model, ModelSettings, load, save
from tests.finished_runs import array_file, finished_run


def custom(**values):
    """Around the mean over places: h has 3 columns."""
    backbone = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return Model(ModelSettings(**{"backbone": "custom", "projector": (6, 5), "image_size": 8, **values}), backbone)


@pytest.mark.parametrize("activation", activations.names())
@pytest.mark.parametrize("projector", [(6, 5), ()], ids=str)
def test_features_are_those_columns_and_h_is_whole(projector, activation):
    model = custom(projector=projector, activation=activation)
    short = model.shortened([2, 0])
    x = torch.rand(7, 3, 8, 8)
    h, z = short.both(x)
    assert torch.equal(h, model.encode(x))
    assert torch.equal(short.project(h), model.project(h)[:, [2, 0]])
    expected = model.features(x)[:, [2, 0]]
    # softplus and its like round by where in memory a number is
    torch.testing.assert_close(z, expected, rtol=1e-6, atol=1e-7)
    assert torch.equal(z == 0, expected == 0)
    assert (short.width, short.dimensions) == (3, 2)


def test_the_long_model_stays_as_it_is():
    model = custom()
    x = torch.rand(2, 3, 8, 8)
    before = model(x)
    short = model.shortened([1])
    nn.init.zeros_(short.projector[2].weight)
    assert torch.equal(model(x), before)
    assert (model.settings.kept, model.dimensions) == (None, 5)


def test_columns_of_columns_are_columns_of_the_first():
    model = custom()
    twice = model.shortened([4, 1, 3]).shortened([2, 0])
    assert twice.settings.kept == (3, 4)
    x = torch.rand(2, 3, 8, 8)
    assert torch.equal(twice(x), model(x)[:, [3, 4]])
    every = model.shortened(range(5))
    assert torch.equal(every(x), model(x))


def test_columns_may_be_a_tensor():
    assert custom().shortened(torch.tensor([3, 0])).settings == custom().shortened([3, 0]).settings


def test_gradients_reach_what_is_kept_alone():
    model = custom(activation="softplus").shortened([3])
    model(torch.rand(2, 3, 8, 8)).sum().backward()
    reached = model.projector[2].weight.grad.abs().sum(1) > 0
    assert reached.tolist() == [False, False, False, True, False]


def test_double_precision_and_autocast_will_do():
    model = custom().shortened([3, 0])
    assert model.double()(torch.rand(2, 3, 8, 8, dtype=torch.float64)).shape == (2, 2)
    with torch.autocast("cpu", torch.bfloat16):
        assert custom().shortened([3, 0])(torch.rand(2, 3, 8, 8)).shape == (2, 2)


def test_it_goes_through_a_file(tmp_path):
    model = Model(ModelSettings(projector=(8,))).eval().shortened([7, 2])
    assert not model.training
    save(model, tmp_path / "model.safetensors")
    loaded = load(tmp_path)
    assert loaded.settings == model.settings
    x = torch.rand(2, 3, 8, 8)
    assert torch.equal(loaded(x), model(x))
    assert loaded(x).shape == (2, 2)


def test_a_file_from_before_there_was_a_choice_keeps_all(tmp_path):
    model = finished_run(tmp_path / "run", array_file(tmp_path / "a.npz"))
    file = tmp_path / "run" / "model.safetensors"
    with safe_open(file, "pt") as stored:
        header = json.loads(stored.metadata()["nonneg"])
        tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 (it is no dict)
    del header["settings"]["kept"]
    save_file(tensors, file, {"nonneg": json.dumps(header)})
    x = torch.rand(2, 1, 8, 8)
    assert torch.equal(load(file)(x), model(x))


def test_settings_survive_a_file():
    settings = validated(ModelSettings, {"kept": [3, 0]})
    assert validated(ModelSettings, settings.model_dump(mode="json")) == settings
    assert ModelSettings().kept is None


# Refused


REFUSED = [
    ({"kept": []}, "Expected kept to be at least one column and none twice, got []."),
    ({"kept": [1, 1]}, "Expected kept to be at least one column and none twice, got [1, 1]."),
    ({"kept": [-1]}, "Expected kept to be greater than or equal to 0, got -1."),
    (
        {"kept": [0, 256]},
        "Expected kept to be columns below 256, the projector's dimensions, got [0, 256].",
    ),
    (
        {"kept": [5], "projector": [16, 5]},
        "Expected kept to be columns below 5, the projector's dimensions, got [5].",
    ),
]


@pytest.mark.parametrize(("values", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_settings_that_keep_what_is_not_there(values, message):
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        validated(ModelSettings, values)


def test_without_a_projector_the_backbone_knows_how_many_there_are():
    with pytest.raises(UserError, match=r"^Expected kept to be columns below 3, the width of h, got 3; keep others\.$"):
        custom(projector=(), kept=(0, 3))
    assert custom(projector=(), kept=(0, 2)).dimensions == 2


@pytest.mark.parametrize("columns", [[], [0, 0], [-1], [5], [0, 1, 2, 3, 4, 5]], ids=str)
def test_columns_that_are_not_there(columns):
    message = f"Expected different columns between 0 and 4, at least one, got {columns}; choose among the model's."
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        custom().shortened(columns)


def test_of_columns_those_of_the_long_model_are_not_there():
    with pytest.raises(UserError, match=r"between 0 and 1, at least one, got \[4\]"):
        custom().shortened([4, 1]).shortened([4])
