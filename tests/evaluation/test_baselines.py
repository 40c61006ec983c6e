"""Other features are what their formulas say, fitted on the training part alone, and measured as by hand."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from nonneg import _seeds, metrics
from nonneg.data import load
from nonneg.evaluation import sparse_autoencoder
from nonneg.evaluation.baselines import OF_H, OF_PIXELS, measure, measurements, nmf, pca, random_relu, raw, sae
from nonneg.evaluation.features import Features
from nonneg.evaluation.linear_probe import linear_probe
from nonneg.evaluation.sparse_autoencoder import sparse_codes
from nonneg.evaluation.subject import Subject
from tests.data.pictures import files
from tests.finished_runs import array_file, finished_run

PROPERTIES = {"sparsity", "alive", "correlation", "effective_rank"}
LABELLED = {"probe", "knn", "precision", "map", "consistency"}


@pytest.fixture
def hasty(monkeypatch):
    """For tests that an autoencoder takes part in, however well it fits."""
    monkeypatch.setattr(sparse_autoencoder, "_STEPS", 20)


def mixed(n=200, d=6, width=20, seed=0):
    """Non-negative codes, mostly zero, times parts that share no column: x = codes·parts, and both of them."""
    draw = torch.Generator().manual_seed(seed)
    codes = torch.rand(n, d, generator=draw) * (torch.rand(n, d, generator=draw) < 0.3)
    parts = torch.zeros(d, width)
    for k in range(d):
        parts[k, k::d] = 1.0
    parts = F.normalize(parts, dim=1)
    return codes @ parts, codes


def of_classes(n, seed=0, noise=0.1, classes=4, width=24):
    """h of classes of which each has a direction of its own."""
    draw = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % classes
    centres = F.one_hot(torch.arange(classes).repeat_interleave(width // classes), classes).T.float()
    return centres[y] + noise * torch.rand(n, width, generator=draw), y


def features(h, y, d=8):
    return Features(h, torch.rand(len(h), d), y, torch.arange(len(h)))


def values(found):
    return {name: result.value for name, result in found.items()}


def quiet(done, of):
    pass


def test_pca_is_the_singular_vectors_of_the_centred_training_part():
    x, x_test = mixed()[0], mixed(30, seed=1)[0]
    mean = x.mean(0)
    directions = np.linalg.svd((x - mean).numpy().astype(float))[2][:3]
    found = pca(x, x_test, d=3)
    for codes, part in zip(found, (x, x_test), strict=True):
        np.testing.assert_allclose(codes.abs(), np.abs((part - mean).numpy() @ directions.T), atol=1e-5)


def test_nmf_finds_planted_parts_and_codes_with_exact_zeros():
    x, codes = mixed()
    x_test, codes_test = mixed(50, seed=1)
    found, found_test = nmf(x, x_test, d=6)
    nearest = (F.normalize(found, dim=0).T @ F.normalize(codes, dim=0)).argmax(0)
    assert sorted(nearest.tolist()) == list(range(6))
    assert (found.T[nearest].T - codes).abs().max() < 0.02
    assert (found_test.T[nearest].T - codes_test).abs().max() < 0.02
    assert float((found_test == 0).float().mean()) > 0.6


def test_nmf_lifts_columns_that_are_negative_in_training_and_no_others():
    x, x_test = mixed()[0], mixed(30, seed=1)[0]
    down = torch.linspace(0, 3, 20)
    assert torch.allclose(nmf(x - down, x_test - down, d=6)[1], nmf(x, x_test, d=6)[1], atol=1e-3)
    below = x_test - down
    below[:, 3] = -99.0
    at_zero = x_test.clone()
    at_zero[:, 3] = 0.0
    assert torch.allclose(nmf(x - down, below, d=6)[1], nmf(x, at_zero, d=6)[1], atol=1e-3)


def test_random_features_are_the_relu_of_a_gaussian_projection():
    x = torch.randn(400, 50)
    draw = torch.randn(50, 300, generator=_seeds.generator(3, "random projection")) / math.sqrt(50)
    found, found_test = random_relu(x, x[:7], d=300, seed=3)
    assert torch.allclose(found, (x @ draw).clamp_min(0), atol=1e-6)
    assert torch.allclose(found_test, found[:7])
    assert abs(metrics.sparsity(found) - 0.5) < 0.01
    assert abs(float((x @ draw).var()) - 1) < 0.05


def test_a_sparse_autoencoder_gives_each_direction_dimensions_of_its_own():
    x, y = of_classes(400, noise=0.02)
    x_test, y_test = of_classes(80, seed=1, noise=0.02)
    codes, codes_test = sparse_codes(x, x_test, d=32, k=1)
    assert set((codes > 0).sum(1).tolist()) == {1}
    assert metrics.class_consistency(codes_test, y_test) == 1.0
    assert set(codes.argmax(1)[y == 0].tolist()) == set(codes_test.argmax(1)[y_test == 0].tolist())


@pytest.mark.parametrize("k", [1, 3])
def test_no_more_of_it_is_on_than_was_asked_for(k):
    x, x_test = mixed()[0], mixed(30, seed=1)[0]
    for codes in sparse_codes(x, x_test, d=12, k=k):
        assert codes.shape[1] == 12
        assert int((codes > 0).sum(1).max()) == k
        assert (codes >= 0).all()


def test_a_sixteenth_of_it_is_on(hasty):
    x = mixed()[0]
    assert [int((sae(x, x, d)[0] > 0).sum(1).max()) for d in (8, 64)] == [1, 4]


@pytest.mark.parametrize("method", OF_H.values(), ids=OF_H)
def test_a_method_learns_from_the_training_part_alone_and_repeats_itself(hasty, method):
    x, x_test = mixed()[0], mixed(30, seed=1)[0]
    train, test = method(x, x_test, 6, 0)
    again, of_others = method(x, torch.cat([x_test[:9], 40 * torch.rand(500, 20)]), 6, 0)
    assert torch.equal(train, again)
    assert torch.allclose(test[:9], of_others[:9], atol=1e-3)


def test_a_method_that_learned_from_the_test_part_would_be_seen():
    with pytest.raises(AssertionError):
        test_a_method_learns_from_the_training_part_alone_and_repeats_itself(
            None, lambda x, x_test, d, seed: pca(torch.cat([x, x_test]), x_test, d, seed)
        )


@pytest.mark.parametrize("method", [sae, random_relu])
def test_a_seed_makes_other_features(hasty, method):
    x = mixed()[0]
    assert not torch.allclose(method(x, x, 6, 0)[0], method(x, x, 6, 1)[0])


@pytest.mark.parametrize(("n", "width", "d", "expected"), [(50, 5, 8, 5), (3, 20, 8, 3), (50, 20, 8, 8)])
def test_there_are_as_many_dimensions_as_can_be(n, width, d, expected):
    x = torch.rand(n, width)
    for method in (pca, nmf):
        assert [codes.shape[1] for codes in method(x, x, d)] == [expected] * 2
    assert [codes.shape[1] for codes in random_relu(x, x, d)] == [d] * 2
    assert raw(x, x, d)[0] is x


def test_measurements_are_those_by_hand():
    (x, y), (x_test, y_test) = of_classes(120, noise=4.0), of_classes(60, seed=1, noise=4.0)
    train, test = (Features(z, z, labels, labels) for z, labels in ((x, y), (x_test, y_test)))
    retrieval = metrics.retrieval(x_test, y_test, k=10)
    found = measurements(train, test, seed=3)
    assert values(found) == pytest.approx(
        {
            "probe": linear_probe(x, y, x_test, y_test, seed=3),
            "knn": metrics.knn_accuracy(x, y, x_test, y_test, k=20),
            "precision": retrieval["precision"],
            "map": retrieval["map"],
            "consistency": metrics.class_consistency(x_test, y_test),
            "sparsity": metrics.sparsity(x_test),
            "alive": metrics.alive(x_test),
            "correlation": metrics.correlation(x_test),
            "effective_rank": metrics.effective_rank(x_test),
        }
    )
    assert found["probe"].low < found["probe"].value < found["probe"].high
    assert all(result.n == 60 for result in found.values())


def test_planted_classes_are_dimensions_of_the_autoencoder_but_not_of_h_or_its_principal_components():
    (h, y), (h_test, y_test) = of_classes(200, noise=0.02), of_classes(80, seed=1, noise=0.02)
    found = values(measure(Subject("planted", features(h, y, 16), features(h_test, y_test, 16)), quiet))
    for name in ("raw_h", "pca_h"):
        assert found[f"{name}/consistency"] == pytest.approx(0.25, abs=0.01)
        assert found[f"{name}/probe"] == found[f"{name}/precision"] == 1.0
    assert found["sae_h/consistency"] > 0.9
    assert found["raw_h/alive"] == 24
    assert found["nmf_h/alive"] == found["pca_h/alive"] == 16


def test_each_is_the_measurement_of_its_method(hasty):
    (h, y), (h_test, y_test) = of_classes(90, noise=1.0), of_classes(45, seed=1, noise=1.0)
    subject = Subject("planted", features(h, y), features(h_test, y_test), seed=4)
    told = []
    found = measure(subject, lambda *n: told.append(n))
    assert told == [(done, 5) for done in range(1, 6)]
    assert set(found) == {f"{name}/{key}" for name in OF_H for key in PROPERTIES | LABELLED}
    for name, method in OF_H.items():
        z, z_test = method(h, h_test, 8, 4)
        expected = measurements(Features(h, z, y, y), Features(h_test, z_test, y_test, y_test), 4)
        assert {key: found[f"{name}/{key}"] for key in expected} == expected
    assert measure(subject, quiet) == found


def test_shuffled_labels_give_chance(hasty):
    (h, y), (h_test, y_test) = of_classes(200), of_classes(1600, seed=1)
    mixed_up = [labels[torch.randperm(len(labels))] for labels in (y, y_test)]
    found = values(measure(Subject("planted", features(h, mixed_up[0]), features(h_test, mixed_up[1])), quiet))
    for name in OF_H:
        for key in ("probe", "knn"):
            assert abs(found[f"{name}/{key}"] - 0.25) < 4 * math.sqrt(0.25 * 0.75 / 1600), f"{name}/{key}"


def test_a_run_is_measured_on_its_pixels_too(hasty, tmp_path):
    data = load(array_file(tmp_path / "data.npz", n=60, n_test=45))
    finished_run(tmp_path / "run", f"npz:{tmp_path / 'data.npz'}")
    subject = Subject.of_run(tmp_path / "run")
    found = measure(subject, quiet)
    assert {name.split("/")[0] for name in found} == {*OF_H, *OF_PIXELS}
    x, x_test = (part.pixels.reshape(len(part), -1) / 255.0 for part in (data.train, data.test))
    z, z_test = pca(x, x_test, 12, 0)
    by_hand = linear_probe(z, data.train.labels, z_test, data.test.labels)
    assert found["pca_pixels/probe"].value == by_hand
    assert found["pca_pixels/alive"].value == found["nmf_pixels/alive"].value == 12


def test_pictures_that_are_files_have_none_of_pixels(hasty, tmp_path):
    files(tmp_path / "pets" / "train" / "cat", 12, bad=(2,))
    files(tmp_path / "pets" / "train" / "dog", 12)
    files(tmp_path / "pets" / "test" / "dog", 6)
    finished_run(tmp_path / "run", f"folder:{tmp_path / 'pets'}", channels=3, on_bad_file="skip")
    found = measure(Subject.of_run(tmp_path / "run"), quiet)
    assert {name.split("/")[0] for name in found} == set(OF_H)


def test_without_labels_it_is_what_needs_none(hasty):
    h = of_classes(40)[0]
    found = measure(Subject("planted", features(h, None), features(h, None)), quiet)
    assert set(found) == {f"{name}/{key}" for name in OF_H for key in PROPERTIES}


@pytest.mark.parametrize("value", [0.0, 1.5])
def test_constant_features_give_numbers_only_where_something_is_alive(hasty, value):
    h, y = torch.full((40, 6), value), torch.arange(40) % 4
    found = measure(Subject("planted", features(h, y), features(h, y)), quiet)
    alive = {name.split("/")[0] for name in found}
    assert alive == ({"raw_h", "nmf_h", "random_h"} if value else set())
    assert all(math.isfinite(result.value) for result in found.values())


def test_what_does_not_belong_together_is_refused():
    x = torch.rand(10, 4)
    with pytest.raises(ValueError, match=r"^Expected features of 4 dimensions, got 3"):
        sparse_codes(x, x[:, 1:], d=4, k=1)
    with pytest.raises(ValueError, match=r"^Expected k between 1 and 4, the number of dimensions, got 5"):
        sparse_codes(x, x, d=4, k=5)
