"""Few-shot probes are those on the labelled samples alone, which are drawn class by class; test data has no say."""

import itertools
import math

import pytest
import torch
from torch.nn import functional as F

from nonneg._errors import UserError
from nonneg.evaluation.features import Features
from nonneg.evaluation.few_shot import DRAWS, few_shot, labelled, measure
from nonneg.evaluation.linear_probe import fit_probe, linear_probe
from nonneg.evaluation.subject import Subject


def part(n, noise, seed, classes=4):
    """z is the class, one-hot, in noise; h is z turned, in columns of its own."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % classes
    z = F.one_hot(y, classes) + noise * torch.randn(n, classes, generator=generator)
    return Features(z @ torch.ones(classes, 6).tril() + 1, z, y, torch.arange(n))


def subject(n=200, n_test=80, noise=0.8, labels=True, **changes):
    train, test = part(n, noise, 0), part(n_test, noise, 1)
    if not labels:
        train = Features(train.h, train.z, None, train.numbers)
    return Subject("synthetic", changes.get("train", train), changes.get("test", test))


@pytest.mark.parametrize("share", [0.01, 0.05, 0.1, 0.5, 1.0])
def test_each_class_keeps_its_share_of_labels_and_at_least_one(share):
    y = torch.tensor([0] * 150 + [1] * 40 + [3] * 7)[torch.randperm(197)]
    chosen = labelled(y, share).tolist()
    assert chosen == sorted(set(chosen))
    for label, count in ((0, 150), (1, 40), (3, 7)):
        assert sum(int(y[i]) == label for i in chosen) == max(1, round(share * count))
    assert len(labelled(y, 1.0)) == 197


def test_draws_differ_a_seed_is_a_seed_and_a_larger_share_holds_a_smaller_one():
    y = torch.arange(400) % 4
    draws = {tuple(labelled(y, 0.1, draw, seed).tolist()) for draw in range(5) for seed in (0, 1)}
    assert len(draws) == 10
    assert torch.equal(labelled(y, 0.1, 2, seed=7), labelled(y, 0.1, 2, seed=7))
    shares = [set(labelled(y, share).tolist()) for share in (0.01, 0.05, 0.1, 1.0)]
    assert shares == sorted(shares, key=len)
    assert all(small < large for small, large in itertools.pairwise(shares))


def test_every_sample_of_a_class_is_as_likely():
    y = torch.arange(20) % 2
    counts = torch.stack([torch.bincount(labelled(y, 0.3, draw), minlength=20) for draw in range(1000)]).sum(0)
    assert (counts - 300).abs().max() < 4.5 * math.sqrt(1000 * 0.3 * 0.7)


def test_it_is_the_mean_of_probes_on_the_labelled_samples_alone():
    train, test = part(200, 0.8, 0), part(80, 0.8, 1)
    each = few_shot(train.z, train.labels, test.z, test.labels, share=0.1, draws=2, seed=5)
    accuracies = []
    for draw in range(2):
        chosen = labelled(train.labels, 0.1, draw, seed=5)
        x, y = train.z[chosen], train.labels[chosen]
        accuracies.append(linear_probe(x, y, test.z, test.labels, seed=5))
    assert len(set(accuracies)) > 1
    assert float(each.mean()) == pytest.approx(sum(accuracies) / 2)
    assert set(each.tolist()) == {0.0, 0.5, 1.0}


def test_classes_that_stand_apart_are_all_found_and_shuffled_ones_by_chance():
    train, test = part(400, 0.01, 0), part(2000, 0.01, 1)
    for share in (0.02, 0.1):
        assert few_shot(train.z, train.labels, test.z, test.labels, share).min() == 1
    noise, noise_test = part(400, 50.0, 2), part(2000, 50.0, 3)  # hardly a trace of the class
    shuffled = train.labels[torch.randperm(400)]
    chance = float(few_shot(noise.z, shuffled, noise_test.z, test.labels[torch.randperm(2000)], 0.1, draws=2).mean())
    assert abs(chance - 0.25) < 4 * math.sqrt(0.25 * 0.75 / 2000)


def test_more_labels_find_more():
    train, test = part(1000, 0.6, 0), part(400, 0.6, 1)
    few, more = (float(few_shot(train.z, train.labels, test.z, test.labels, s).mean()) for s in (0.01, 0.2))
    assert more > few + 0.05


def test_a_subject_is_measured_on_h_and_z_at_every_share():
    given, told = subject(), []
    found = measure(given, lambda *n: told.append(n))
    assert list(found) == ["h/1%", "h/5%", "h/10%", "z/1%", "z/5%", "z/10%"]
    assert told == [(done, 6) for done in range(1, 7)]
    for name, x, x_test in (("h/5%", given.train.h, given.test.h), ("z/10%", given.train.z, given.test.z)):
        share = {"h/5%": 0.05, "z/10%": 0.1}[name]
        expected = few_shot(x, given.train.labels, x_test, given.test.labels, share)
        assert found[name].value == pytest.approx(float(expected.mean()))
        assert found[name].low < found[name].value < found[name].high
        assert (found[name].n, found[name].seed) == (80, 0)


def test_nothing_that_is_fitted_or_chosen_depends_on_the_test_part(monkeypatch):
    fitted = []

    def recording(x, y, **how):
        fitted.append(fit_probe(x, y, **how))
        return fitted[-1]

    monkeypatch.setitem(measure.__globals__, "fit_probe", recording)
    monkeypatch.setitem(measure.__globals__, "SHARES", (0.1,))
    measure(subject(), lambda *_: None)
    before = fitted.copy()
    fitted.clear()
    leak = part(80, 0.0, 7)
    found = measure(subject(test=Features(-leak.h, -leak.z, leak.labels.flip(0), leak.numbers)), lambda *_: None)
    assert len(before) == len(fitted) == 2 * DRAWS
    for one, other in zip(before, fitted, strict=True):
        assert one.strength == other.strength
        assert torch.equal(one.weight, other.weight)
    assert found["z/10%"].value < 0.5, "the test part was looked at in the end"


@pytest.mark.parametrize("share", [0, -0.1, 1.1, math.nan])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(UserError, match=rf"^Expected a share of labels above 0 and at most 1, got {share}; 1% is 0.01"):
        labelled(torch.arange(3), share)


def test_data_without_labels_is_refused():
    with pytest.raises(UserError, match=r"^Expected labelled data for this measurement, got synthetic without labels"):
        measure(subject(labels=False), lambda *_: None)
