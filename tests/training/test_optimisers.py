"""Which parameters decay, and the learning rate over a run."""

import csv
import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from nonneg import training
from nonneg._errors import UserError
from nonneg._settings import validated
from nonneg.training.lars import LARS
from nonneg.training.optimisers import AdamWSettings, LARSSettings, SGDSettings, learning_rate
from tests.training import tiny

KINDS = {"lars": LARSSettings, "adamw": AdamWSettings, "sgd": SGDSettings}


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4, 2))


@pytest.mark.parametrize("name", KINDS)
def test_matrices_and_kernels_decay_and_biases_and_norms_do_not(name):
    module = network()
    before = {key: p.detach().clone() for key, p in module.named_parameters()}
    optimiser = KINDS[name](lr=0.5, weight_decay=0.1).build(module)
    for p in module.parameters():
        p.grad = torch.zeros_like(p)
    optimiser.step()
    for key, p in module.named_parameters():
        expected = before[key] * (1 - 0.5 * 0.1) if key in ("0.weight", "3.weight") else before[key]
        torch.testing.assert_close(p.detach(), expected, msg=key)


def test_settings_reach_their_optimisers():
    module = network()
    lars = LARSSettings(lr=0.3, momentum=0.8, weight_decay=0.2, eta=0.1, clip=False).build(module)
    assert isinstance(lars, LARS)
    assert lars.defaults == {"lr": 0.3, "momentum": 0.8, "weight_decay": 0.2, "eta": 0.1, "clip": False}
    adamw = AdamWSettings(lr=0.3, betas=(0.5, 0.6)).build(module)
    assert isinstance(adamw, torch.optim.AdamW)
    assert [(g["lr"], g["betas"]) for g in adamw.param_groups] == [(0.3, (0.5, 0.6))] * 2
    sgd = SGDSettings(lr=0.3, momentum=0.8, nesterov=True).build(module)
    assert isinstance(sgd, torch.optim.SGD)
    assert [(g["lr"], g["momentum"], g["nesterov"]) for g in sgd.param_groups] == [(0.3, 0.8, True)] * 2


def test_lars_is_the_reference_recipes_by_default():
    defaults = LARSSettings()
    assert (defaults.lr, defaults.weight_decay, defaults.eta, defaults.clip) == (0.4, 1e-4, 0.02, True)


@pytest.mark.parametrize(
    ("name", "values", "line"),
    [
        ("lars", {"lr": 0}, "Expected lr to be greater than 0, got 0."),
        ("lars", {"eta": -1}, "Expected eta to be greater than 0, got -1."),
        ("sgd", {"momentum": 1}, "Expected momentum to be less than 1, got 1."),
        ("sgd", {"weight_decay": -1}, "Expected weight_decay to be greater than or equal to 0, got -1."),
        ("adamw", {"lr": math.inf}, "Expected lr to be a finite number, got inf."),
        ("adamw", {"beta": 1}, "Expected a key that a recipe knows, got 'beta'; did you mean 'betas'?"),
        ("adamw", {"betas": [0.9]}, "Expected betas to have at least 2 values, got 1."),
    ],
)
def test_what_makes_no_sense_is_refused(name, values, line):
    with pytest.raises(UserError) as caught:
        validated(KINDS[name], values)
    assert str(caught.value) == line


# The learning rate


def rates(steps, warm_up, peak=1.0, final=0.0):
    return [learning_rate(step, steps, warm_up, peak, final) for step in range(steps + 1)]


@pytest.mark.parametrize("peak", [1.0, 0.3])
@pytest.mark.parametrize("final", [0.0, 0.1])
@pytest.mark.parametrize("warm_up", [0, 1, 4, 10])
def test_it_rises_in_a_line_to_its_peak_and_falls_to_its_end(peak, final, warm_up):
    found = rates(10, warm_up, peak, final * peak)
    assert found[:warm_up] == pytest.approx([peak * (i + 1) / warm_up for i in range(warm_up)])
    assert max(found) == pytest.approx(peak)
    assert all(rate > 0 for rate in found[:10])  # no step is lost
    if warm_up < 10:
        assert found[warm_up] == pytest.approx(peak)
        assert found[10] == pytest.approx(final * peak)  # where a next step would be
        falling = found[warm_up:]
        assert all(later < earlier for earlier, later in pairwise(falling))


def test_the_fall_is_half_a_cosine():
    found = rates(8, 0, final=0.2)
    for step, rate in enumerate(found):
        assert rate == pytest.approx(0.2 + 0.8 * math.cos(math.pi * step / 16) ** 2)


@pytest.mark.parametrize(("warm_up_epochs", "warm_up"), [(0, 0), (0.5, 2), (1, 4), (2.25, 9), (3, 12)])
def test_a_run_warms_up_in_epochs_or_parts_of_them_to_a_peak_for_its_batch(warm_up_epochs, warm_up, tmp_path):
    recipe = tiny.custom(
        optimiser={"name": "sgd", "lr": 0.8},
        schedule={"warm_up_epochs": warm_up_epochs, "final": 0.25},
        hardware={"accelerator": "cpu"},
    )
    run = training.train(recipe, tmp_path / "run", data=tiny.data(), backbone=tiny.backbone())
    with run.log.open() as file:
        found = [float(row["learning_rate"]) for row in csv.DictReader(file)]
    peak = 0.8 * 16 / 256
    expected = [learning_rate(step, 12, warm_up, peak, 0.25 * peak) for step in (3, 7, 11)]
    assert found == pytest.approx(expected, rel=1e-4)


def test_a_warm_up_longer_than_the_run_is_refused():
    with pytest.raises(UserError, match=r"^Expected a recipe whose warm_up_epochs \(4\) are no more than its epochs"):
        tiny.recipe(schedule={"warm_up_epochs": 4})
