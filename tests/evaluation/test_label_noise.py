"""As many labels are wrong as was said, each other class as likely; the probe is fitted and chosen on them alone."""

import math

import pytest
import torch

from nonneg._errors import UserError
from nonneg.evaluation.features import Features
from nonneg.evaluation.label_noise import label_noise, measure, noisy_labels
from nonneg.evaluation.linear_probe import fit_probe, linear_probe
from tests.evaluation.test_few_shot import part, subject


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.9, 1.0])
def test_exactly_the_share_of_labels_is_another_class(share):
    y = torch.tensor([0, 1, 4])[torch.arange(101) % 3]
    noisy = noisy_labels(y, share)
    assert int((noisy != y).sum()) == round(share * 101)
    assert set(noisy.tolist()) <= {0, 1, 4}
    assert noisy.dtype == y.dtype


def test_every_other_class_and_every_sample_is_as_likely():
    y = torch.arange(6000) % 4
    noisy = noisy_labels(y, 0.5)
    counts = torch.zeros(4, 4)
    for old, new in zip(y.tolist(), noisy.tolist(), strict=True):
        counts[old, new] += 1
    # 1500 a class, of which 750 ± 27 stay, as a half is wrong in all, and 250 ± 15 go to each of the three others.
    assert (counts.diagonal() - 750).abs().max() < 4 * 27
    assert (counts[~torch.eye(4, dtype=torch.bool)] - 250).abs().max() < 4 * 15


def test_a_seed_is_a_seed_and_what_is_wrong_stays_wrong_in_more_noise():
    y = torch.arange(300) % 5
    assert torch.equal(noisy_labels(y, 0.3, seed=4), noisy_labels(y, 0.3, seed=4))
    assert not torch.equal(noisy_labels(y, 0.3, seed=4), noisy_labels(y, 0.3, seed=5))
    little, much = noisy_labels(y, 0.3), noisy_labels(y, 0.7)
    wrong = little != y
    assert torch.equal(much[wrong], little[wrong])
    assert torch.equal(y, torch.arange(300) % 5), "the given labels are left alone"


def test_it_is_the_probe_on_the_noisy_labels():
    train, test = part(200, 0.8, 0), part(80, 0.8, 1)
    for share in (0.0, 0.3, 0.7):
        found = label_noise(train.z, train.labels, test.z, test.labels, share, seed=5)
        noisy = noisy_labels(train.labels, share, seed=5)
        assert float(found.double().mean()) == linear_probe(train.z, noisy, test.z, test.labels, seed=5)


def test_as_long_as_most_labels_are_right_all_is_found_and_beyond_it_nothing():
    """Of 4 one-hot classes at 30%, 70% are right and 10% each other one; at 90%, 10% right and 30% each other one."""
    train, test = part(400, 0.0, 0), part(40, 0.0, 1)
    for share, expected in ((0.3, 1.0), (0.5, 1.0), (0.9, 0.0)):
        assert label_noise(train.z, train.labels, test.z, test.labels, share).double().mean() == expected


def test_labels_that_say_nothing_leave_chance():
    """At 3/4 wrong of 4 classes a label is every class with the same probability."""
    train, test = part(2000, 0.5, 0), part(2000, 0.5, 1)
    found = [label_noise(train.h, train.labels, test.h, test.labels, 0.75, seed).double().mean() for seed in range(8)]
    assert abs(float(torch.stack(found).mean()) - 0.25) < 0.12
    x = torch.randn(2000, 5)  # and features that say nothing leave it at any share
    chance = label_noise(x, train.labels, torch.randn(2000, 5), test.labels, 0.1).double().mean()
    assert abs(float(chance) - 0.25) < 4 * math.sqrt(0.25 * 0.75 / 2000)


def test_a_subject_is_measured_on_h_and_z_at_every_share():
    given, told = subject(), []
    found = measure(given, lambda *n: told.append(n))
    shares = ("10%", "30%", "50%", "70%", "90%")
    assert list(found) == [f"{name}/{share}" for name in ("h", "z") for share in shares]
    assert told == [(done, 10) for done in range(1, 11)]
    for name, share, x, x_test in (
        ("h/30%", 0.3, given.train.h, given.test.h),
        ("z/90%", 0.9, given.train.z, given.test.z),
    ):
        correct = label_noise(x, given.train.labels, x_test, given.test.labels, share)
        assert found[name].value == float(correct.double().mean())
        assert found[name].low <= found[name].value <= found[name].high
        assert (found[name].n, found[name].seed) == (80, 0)


def test_nothing_that_is_fitted_or_chosen_depends_on_the_test_part_or_on_clean_labels(monkeypatch):
    fitted = []

    def recording(x, y, **how):
        fitted.append((fit_probe(x, y, **how), y))
        return fitted[-1][0]

    monkeypatch.setitem(measure.__globals__, "fit_probe", recording)
    given = subject()
    measure(given, lambda *_: None)
    before = fitted.copy()
    fitted.clear()
    leak = part(80, 0.0, 7)
    measure(subject(test=Features(-leak.h, -leak.z, leak.labels.flip(0), leak.numbers)), lambda *_: None)
    assert len(before) == len(fitted) == 10
    for (one, y), (other, y_other) in zip(before, fitted, strict=True):
        assert one.strength == other.strength
        assert torch.equal(one.weight, other.weight)
        assert torch.equal(y, y_other)
    wrong = [int((y != given.train.labels).sum()) for _, y in before]
    assert wrong == 2 * [20, 60, 100, 140, 180], "all that a fit is given is noisy"


def test_what_is_no_share_and_labels_of_one_class_are_refused():
    for share in (-0.1, 1.1, math.nan):
        with pytest.raises(UserError, match=rf"^Expected a share of wrong labels between 0 and 1, got {share}; 10% is"):
            noisy_labels(torch.arange(3), share)
    with pytest.raises(UserError, match=r"^Expected labels of at least two classes, got one"):
        noisy_labels(torch.zeros(3, dtype=torch.int64), 0.1)
    with pytest.raises(UserError, match=r"^Expected labelled data for this measurement, got synthetic without labels"):
        measure(subject(labels=False), lambda *_: None)
