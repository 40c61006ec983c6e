"""The linear probe finds the minimum that scikit-learn finds, with the strength that does best on held-out samples."""

import math
import sys

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn import functional as F

from nonneg import _seeds
from nonneg.evaluation.linear_probe import LinearProbe, fit_probe, linear_probe


def clouds(n=400, d=6, classes=4, noise=1.0, seed=0):
    """Overlapping classes, in columns of different scales."""
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(classes, d, generator=torch.Generator().manual_seed(99)).double()
    y = torch.arange(n) % classes
    x = centres[y] + noise * torch.randn(n, d, generator=generator).double()
    return x * torch.logspace(-2, 2, d), y


def objective(weight, bias, standard, y, strength):
    scores = standard @ weight.T + bias
    picked = scores[np.arange(len(y)), y]
    return float((np.log(np.exp(scores).sum(1)) - picked).mean() + strength / 2 * (weight**2).sum())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("strength", [1e-4, 1e-2, 1.0])
def test_it_is_the_minimum_that_scikit_learn_finds(strength, dtype):
    x, y = clouds()
    probe = fit_probe(x.to(dtype), y, (strength,))
    standard = ((x - x.mean(0)) / x.std(0, correction=0)).numpy()
    theirs = LogisticRegression(C=1 / (strength * len(x)), max_iter=10_000, tol=1e-10).fit(standard, y.numpy())
    best = objective(theirs.coef_, theirs.intercept_, standard, y.numpy(), strength)
    ours = objective(probe.weight.double().numpy(), probe.bias.double().numpy(), standard, y.numpy(), strength)
    assert best - 1e-6 < ours < best + 1e-5
    probabilities = torch.softmax(probe.scores(x.to(dtype)), 1)
    assert np.abs(probabilities.numpy() - theirs.predict_proba(standard)).max() < 5e-3
    assert probe.weight.dtype == dtype
    assert probe.strength == strength


def test_with_many_columns_the_minimum_is_the_same(monkeypatch):
    x, y = clouds()
    turned = fit_probe(x, y, (1e-2,))
    monkeypatch.setattr(sys.modules["nonneg.evaluation.linear_probe"], "_MOST_TURNED", 5)
    plain = fit_probe(x, y, (1e-2,))
    assert not torch.equal(plain.weight, turned.weight)
    torch.testing.assert_close(plain.weight, turned.weight, rtol=0, atol=1e-3)


def test_the_strength_is_the_best_on_a_held_out_tenth_and_the_fit_is_on_everything():
    x, y = clouds(n=300, d=200, noise=6.0)
    strengths = (1e-6, 1e-2, 1.0, 30.0)
    probe = fit_probe(x, y, strengths, seed=3)
    order = torch.randperm(300, generator=_seeds.generator(3, "held out"))
    held, rest = order[:30], order[30:]
    standard = (x - x[rest].mean(0)) / x[rest].std(0, correction=0)
    hits = {}
    for strength in strengths:
        model = LogisticRegression(C=1 / (strength * 270), max_iter=10_000).fit(standard[rest], y[rest])
        hits[strength] = round(30 * model.score(standard[held], y[held]))
    assert max(hits.values()) > max(hits[1e-6], hits[30.0]) + 1, "the data don't tell strengths apart"
    assert hits[probe.strength] >= max(hits.values()) - 1  # a sample on the border may fall to either side
    assert torch.allclose(probe.mean, x.mean(0))
    best = fit_probe(x, y, (probe.strength,))
    assert torch.allclose(probe.scores(x), best.scores(x), atol=0.05)


def test_among_equals_the_strongest_is_chosen():
    x = torch.eye(2).repeat(50, 1)
    assert fit_probe(x, torch.arange(2).repeat(50), (1e-6, 1e-2, 1e-4)).strength == 1e-2


def test_scales_dead_columns_and_the_order_of_columns_change_nothing():
    x, y = clouds()
    scores = fit_probe(x, y, (1e-3,)).scores(x)
    scaled = x * torch.tensor([1e-6, 1.0, 1e6, -3.0, 0.5, 7.0])
    with_dead = torch.cat([x, torch.zeros(400, 1), torch.full((400, 1), 0.1)], 1)
    shuffled = x[:, torch.tensor([3, 1, 5, 0, 4, 2])]
    for other in (scaled, with_dead, shuffled, x + 100):
        assert torch.allclose(fit_probe(other, y, (1e-3,)).scores(other), scores, atol=1e-2)


def test_a_column_that_is_constant_but_for_rounding_is_not_blown_up():
    """A test sample that differs there would drown everything else."""
    x, y = clouds(n=1200)
    constant = torch.full((1200, 1), 0.1)
    constant[::2] = torch.nextafter(constant[::2], torch.ones(()))
    x = torch.cat([x.float(), constant], 1)
    assert x.std(0)[-1] > 0
    probe = fit_probe(x, y, (1e-3,))
    test = x.clone()
    test[:, -1] = 0.2
    assert torch.allclose(probe.scores(test), probe.scores(x), atol=1e-3)


def test_separable_classes_are_all_found_and_shuffled_ones_by_chance():
    x, y = clouds(noise=0.05)
    x_test, y_test = clouds(noise=0.05, seed=1)
    assert linear_probe(x, y, x_test, y_test) == 1.0
    x_test, y_test = clouds(n=2000, seed=1)
    shuffled = y[torch.randperm(400)]
    chance = linear_probe(x, shuffled, x_test, y_test[torch.randperm(2000)])
    assert abs(chance - 0.25) < 4 * math.sqrt(0.25 * 0.75 / 2000)


def test_the_accuracy_is_the_share_of_the_test_samples():
    x, y = clouds()
    x_test, y_test = clouds(seed=1)
    probe = fit_probe(x, y)
    hits = [int(probe.scores(row[None]).argmax()) == int(label) for row, label in zip(x_test, y_test, strict=True)]
    assert 0.3 < linear_probe(x, y, x_test, y_test) == sum(hits) / len(hits) < 1
    assert linear_probe(x, y, x_test, y_test) == linear_probe(x, y, x_test, y_test)


def test_a_class_that_is_only_in_the_test_part_is_never_right():
    x = torch.eye(3).repeat(10, 1)
    y = torch.arange(3).repeat(10)
    assert linear_probe(x[y < 2], y[y < 2], x, y) == pytest.approx(2 / 3)


def test_top_k_counts_the_k_highest_scores():
    identity = LinearProbe(torch.eye(4), torch.zeros(4), torch.zeros(4), torch.ones(4), 0.0)
    x = torch.tensor([[4.0, 3.0, 2.0, 1.0]]).repeat(4, 1)
    y = torch.arange(4)
    assert [identity.accuracy(x, y, top) for top in (1, 2, 3, 9)] == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_handful_of_samples_will_do(n):
    x = F.one_hot(torch.arange(n), 3).double()
    assert linear_probe(x, torch.arange(n), x, torch.arange(n)) == 1.0


def test_what_does_not_belong_together_is_refused():
    x, y = clouds(n=20)
    with pytest.raises(ValueError, match=r"^Expected features of 6 dimensions, got 5"):
        linear_probe(x, y, x[:, :5], y)
    with pytest.raises(ValueError, match=r"^Expected 20 test labels, one a sample, got shape \(19,\)"):
        linear_probe(x, y, x, y[:-1])
    x[3, 2] = torch.nan
    with pytest.raises(ValueError, match=r"^Expected finite training features, got nan at \[3, 2\]"):
        linear_probe(x, y, x, y)
