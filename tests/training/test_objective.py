"""The module that is trained: a chunked gradient is the whole one, and a frozen backbone doesn't move at all."""

import pytest
import torch
from torch import nn

from nonneg import models, training
from nonneg.data import Batch
from nonneg.models import Model, ModelSettings
from nonneg.training.methods import Shape
from nonneg.training.objective import Objective
from nonneg.training.recipe import Recipe
from tests.training import tiny


def built(chunk_size=None, freeze=False, backbone="custom", method="simclr"):
    torch.manual_seed(1)
    own = tiny.backbone() if backbone == "custom" else None
    model = Model(ModelSettings(backbone=backbone, projector=(16, 8), image_size=8), own)
    return Objective(model, Recipe(method={"name": method}).method.build(Shape(8, 4)), chunk_size, freeze)


def batch(n=12, dtype=torch.float64):
    views = tuple(torch.rand(n, 3, 8, 8, dtype=dtype, generator=torch.Generator().manual_seed(i)) for i in (0, 1))
    return Batch(views, torch.arange(n) % 4)


@pytest.mark.parametrize("method", ["simclr", "supcon", "ce", "nce"])
@pytest.mark.parametrize("chunk_size", [1, 5, 12, 100])
def test_a_chunked_gradient_is_the_whole_one(method, chunk_size):
    whole, parts = built(method=method).double(), built(chunk_size, method=method).double()
    seen = []
    parts.model.backbone.register_forward_pre_hook(lambda module, given: seen.append(len(given[0])))
    losses = [objective(batch()) for objective in (whole, parts)]
    for loss in losses:
        loss.backward()
    torch.testing.assert_close(*losses, rtol=1e-12, atol=0)
    for (name, p), q in zip(whole.named_parameters(), parts.parameters(), strict=True):
        assert p.grad.abs().sum() > 0, name
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-9, atol=1e-12, msg=name)
    assert max(seen) <= chunk_size


def test_a_chunked_run_ends_at_the_weights_of_a_whole_one(tmp_path):
    runs = [
        training.train(
            tiny.custom(chunk_size=size, hardware={"precision": "float64"}),
            tmp_path / str(size),
            data=tiny.data(),
            backbone=tiny.backbone(),
        )
        for size in (None, 5)
    ]
    first, second = (models.load(run.path, tiny.backbone()).state_dict() for run in runs)
    for name, tensor in first.items():
        torch.testing.assert_close(tensor, second[name], rtol=1e-8, atol=1e-10, msg=name)


@pytest.mark.parametrize("freeze", [True, False])
def test_a_frozen_backbone_has_no_gradient_and_its_statistics_stand_still(freeze):
    objective = built(freeze=freeze, backbone="small", method="ce").train()
    before = {name: value.clone() for name, value in objective.state_dict().items()}
    optimiser = torch.optim.SGD(objective.parameters(), 0.1, weight_decay=0.1)
    objective(batch(dtype=torch.float32)).backward()
    optimiser.step()
    moved = {name for name, value in objective.state_dict().items() if not torch.equal(value, before[name])}
    head = {"model.projector", "method.classifier"}
    assert {name for name in moved if name.startswith(tuple(head))} != set()
    assert any(name.startswith("model.backbone") for name in moved) != freeze
    assert any("running_mean" in name for name in moved) != freeze
    assert objective.method.training
    assert objective.model.projector.training
    norms = [module for module in objective.modules() if isinstance(module, nn.BatchNorm2d)]
    assert all(norm.training != freeze for norm in norms)
    assert not any(module.training for module in objective.eval().modules())


def test_through_a_run_a_frozen_backbone_is_that_of_the_run_before(tmp_path):
    before = training.train(tiny.recipe(epochs=1), tmp_path / "before", data=tiny.data())
    how = {"method": {"name": "ce"}, "start_from": str(before.path), "model": {"projector": [6]}}
    runs = {
        freeze: training.train(
            tiny.recipe(freeze_backbone=freeze, **how), tmp_path / f"frozen {freeze}", data=tiny.data()
        )
        for freeze in (True, False)
    }
    source = models.load(before.path).backbone.state_dict()
    for freeze, run in runs.items():
        after = models.load(run.path).backbone.state_dict()
        same = [torch.equal(value, source[name]) for name, value in after.items()]
        assert all(same) if freeze else not any(same)


def test_a_backbone_is_frozen_when_a_run_goes_on_too(tmp_path):
    before = training.train(tiny.recipe(epochs=1), tmp_path / "before", data=tiny.data())
    recipe = tiny.recipe(
        freeze_backbone=True, method={"name": "ce"}, start_from=str(before.path), model={"projector": [6]}
    )
    whole = training.train(recipe, tmp_path / "whole", data=tiny.data())
    with pytest.raises(tiny.Killed):
        training.train(recipe, tmp_path / "run", data=tiny.data(), watcher=tiny.Recorder(6, tiny.kill))
    assert tiny.weights(training.resume(tmp_path / "run", data=tiny.data())) == tiny.weights(whole)
