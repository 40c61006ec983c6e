"""Each method is its loss, by hand, on the model's features; what predicts, predicts by its logits."""

import pytest
import torch
from torch.nn import functional as F

from nonneg import training
from nonneg._errors import UserError
from nonneg._settings import validated
from nonneg.data import Batch
from nonneg.losses import InfoNCE, NonNegCrossEntropy, Spectral, SupervisedInfoNCE
from nonneg.models import Model, ModelSettings
from nonneg.training.methods import Shape
from nonneg.training.recipe import Recipe
from tests.training import tiny

SHAPE = Shape(dimensions=8, classes=4)


def built(**settings):
    torch.manual_seed(1)
    return validated(Recipe, {"method": settings}).method.build(SHAPE)


@pytest.fixture
def features():
    settings = ModelSettings(backbone="custom", image_size=8, projector=(8,), activation="rep_relu")
    return Model(settings, tiny.backbone()).features


@pytest.fixture
def batch():
    views = tuple(torch.rand(10, 3, 8, 8, generator=torch.Generator().manual_seed(i)) for i in range(2))
    return Batch(views, torch.tensor([0, 1, 2, 3, 0, 1, 2, 3, 0, 0]))


@pytest.mark.parametrize(
    ("settings", "loss"),
    [
        ({}, InfoNCE(0.2)),
        ({"temperature": 0.5}, InfoNCE(0.5)),
        ({"loss": "spectral"}, Spectral()),
    ],
)
def test_simclr_is_its_loss_of_the_two_views(settings, loss, features, batch):
    x1, x2 = batch.views
    found = built(name="simclr", **settings)(features, batch._replace(labels=None))
    torch.testing.assert_close(found, loss(features(x1), features(x2)))
    assert abs(found - loss(features(x1), features(x2.flip(0)))) > 1e-4


@pytest.mark.parametrize("temperature", [0.2, 0.5])
def test_supcon_is_its_loss_of_both_views_with_the_label_of_each(temperature, features, batch):
    z = torch.cat([features(x) for x in batch.views])
    found = built(name="supcon", temperature=temperature)(features, batch)
    torch.testing.assert_close(found, SupervisedInfoNCE(temperature)(z, torch.cat([batch.labels] * 2)))
    wrong = SupervisedInfoNCE(temperature)(z, batch.labels.repeat_interleave(2))
    assert abs(found - wrong) > 1e-3


def test_ce_is_cross_entropy_of_a_linear_layer(features, batch):
    method = built(name="ce")
    z = features(batch.views[0])
    scores = z @ method.classifier.weight.T + method.classifier.bias
    torch.testing.assert_close(method.predict(z), scores)
    torch.testing.assert_close(method(features, batch), F.cross_entropy(scores, batch.labels))


@pytest.mark.parametrize("weights", ["free", "non-negative"])
def test_nce_is_its_loss_with_the_models_own_activation(weights, batch):
    model = Model(
        ModelSettings(backbone="custom", image_size=8, projector=(8,), activation="softplus"), tiny.backbone()
    )
    method = built(name="nce", weights=weights)
    torch.manual_seed(1)
    loss = NonNegCrossEntropy(8, 4, "identity", weights)
    assert torch.equal(method.loss.weight, loss.weight)
    z = model.features(batch.views[0])
    torch.testing.assert_close(method(model.features, batch), loss(z, batch.labels))
    torch.testing.assert_close(method.predict(z), loss.logits(z))
    torch.testing.assert_close(method.predict(z), z @ method.loss.weight.T)  # non-negative as they were drawn


@pytest.mark.parametrize(
    ("name", "views", "needs_labels", "predicts", "parameters"),
    [
        ("simclr", 2, False, False, 0),
        ("supcon", 2, True, False, 0),
        ("ce", 1, True, True, 8 * 4 + 4),
        ("nce", 1, True, True, 8 * 4),
    ],
)
def test_what_a_method_says_of_itself(name, views, needs_labels, predicts, parameters):
    method = built(name=name)
    assert (method.views, method.needs_labels, method.predicts) == (views, needs_labels, predicts)
    assert sum(p.numel() for p in method.parameters()) == parameters
    if not predicts:
        with pytest.raises(TypeError, match=f"^{type(method).__name__} predicts no classes"):
            method.predict(torch.zeros(2, 8))


@pytest.mark.parametrize("name", ["supcon", "ce", "nce"])
def test_labels_that_are_not_there_are_missed_before_a_folder_is_made(name, tmp_path):
    recipe = tiny.custom(method={"name": name})
    with pytest.raises(UserError) as caught:
        training.train(recipe, tmp_path / "run", data=tiny.data(labelled=False), backbone=tiny.backbone())
    assert str(caught.value) == (
        f"Expected labelled data for the method {name}, got tiny, which has no labels; choose method.name=simclr or "
        "other data."
    )
    assert list(tmp_path.iterdir()) == []


def test_simclr_needs_none(tmp_path):
    run = training.train(
        tiny.custom(epochs=1), tmp_path / "run", data=tiny.data(labelled=False), backbone=tiny.backbone()
    )
    assert run.is_done()
    assert not run.metrics.exists()
