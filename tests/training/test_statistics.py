"""What is said of features is what the metrics say of all of them, and the model is left as it was."""

import math

import pytest
import torch

from nonneg import metrics
from nonneg.data import Files, Images
from nonneg.models import Model, ModelSettings
from nonneg.training import statistics
from nonneg.training.methods import Shape
from nonneg.training.recipe import DataSettings, Recipe
from tests.data import pictures
from tests.training import tiny

CPU = torch.device("cpu")


def model(activation="rep_relu", backbone="small"):
    torch.manual_seed(2)
    own = tiny.backbone() if backbone == "custom" else None
    return Model(ModelSettings(backbone=backbone, projector=(6,), image_size=8, activation=activation), own)


def method(name="simclr"):
    torch.manual_seed(3)
    return Recipe(method={"name": name}).method.build(Shape(6, 4))


def describe(model, method, sample, **settings):
    return statistics.describe(model, method, sample, CPU, DataSettings(workers=0, **settings))


@pytest.mark.parametrize("activation", ["rep_relu", "identity"])
def test_they_are_the_metrics_of_all_features(activation):
    sample, made = tiny.pictures(40, seed=4), model(activation).eval()
    with torch.no_grad():
        z = made.features(sample.pixels.float() / 255)
    found = describe(made, method(), sample)
    assert found == {
        "sparsity": pytest.approx(metrics.sparsity(z)),
        "alive": metrics.alive(z),
        "consistency": pytest.approx(metrics.class_consistency(z, sample.labels)),
    }


@pytest.mark.parametrize("name", ["ce", "nce"])
def test_a_method_that_predicts_has_its_accuracy_by_hand(name):
    sample, made, predicting = tiny.pictures(40, seed=4), model().eval(), method(name)
    right = 0
    for pixels, label in zip(sample.pixels, sample.labels, strict=True):
        z = made.features(pixels[None].float() / 255)
        scores = predicting.predict(z)[0].tolist()
        right += scores.index(max(scores)) == int(label)
    assert 0 < right < 40
    assert describe(made, predicting, sample)["accuracy"] == right / 40


def test_without_labels_there_is_nothing_to_be_consistent_with():
    assert describe(model(), method(), tiny.pictures(labelled=False)).keys() == {"sparsity", "alive"}


def test_with_every_dimension_dead_consistency_is_left_out():
    made = model("relu")
    torch.nn.init.constant_(made.projector[-1].weight, 0)
    torch.nn.init.constant_(made.projector[-1].bias, -1)
    assert describe(made, method(), tiny.pictures()) == {"sparsity": 1.0, "alive": 0.0}


def test_features_that_are_no_numbers_have_no_statistics():
    made = model()
    torch.nn.init.constant_(made.projector[-1].bias, math.nan)
    found = describe(made, method("ce"), tiny.pictures())
    assert found.keys() == {"sparsity", "alive"}
    assert all(math.isnan(value) for value in found.values())


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_left_as_it_was(training):
    made = model().train(training)
    before = {key: value.clone() for key, value in made.state_dict().items()}
    describe(made, method(), tiny.pictures())
    assert all(module.training == training for module in made.modules())
    assert all(torch.equal(value, before[key]) for key, value in made.state_dict().items())
    assert all(p.grad is None for p in made.parameters())


def test_a_model_in_training_is_described_as_it_will_be_used():
    made, sample = model().train(), tiny.pictures(40)
    in_use = describe(made, method(), sample)
    with torch.no_grad():
        assert in_use["sparsity"] == pytest.approx(metrics.sparsity(made.eval().features(sample.pixels / 255)))
        assert in_use["sparsity"] != metrics.sparsity(made.train().features(sample.pixels / 255))


def test_weights_in_float64_are_described_in_float64():
    made = model().double()
    assert describe(made, method("ce").double(), tiny.pictures())["sparsity"] > 0


def test_labels_go_with_their_pictures_where_files_are_left_out(tmp_path):
    bad = pictures.files(tmp_path, 12, bad=(1, 4, 5))
    kept = [i for i in range(12) if i not in (1, 4, 5)]
    left = Files(tuple(bad.paths[i] for i in kept), bad.labels[kept] % 4)
    made, predicting = model(), method("ce")
    skipped = describe(made, predicting, Files(bad.paths, bad.labels % 4), on_bad_file="skip")
    assert skipped == describe(made, predicting, left)


def test_the_sample_of_a_run_is_at_most_a_thousand_of_the_test_pictures_evenly():
    assert statistics.SAMPLE == 1000
    many = Images(torch.zeros(2500, 1, 8, 8, dtype=torch.uint8), torch.arange(2500))
    assert many.thinned(statistics.SAMPLE).labels[[0, 1, -1]].tolist() == [0, 2, 2497]
