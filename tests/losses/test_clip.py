"""ClipLoss against its slow reference, its temperature, and its limits."""

import math

import pytest
import torch

from nonneg.losses import ClipLoss
from tests.losses.every_loss import assert_equal, batch, value_and_gradients
from tests.references import losses as slow


def fixed(temperature=0.07, **how):
    return ClipLoss(temperature, learnable=False, **how)


@pytest.mark.parametrize("temperature", [0.01, 0.07, 0.2, 5.0])
@pytest.mark.parametrize(("n", "d"), [(2, 1), (5, 3), (9, 20)])
def test_value_and_gradient_are_those_of_the_formula(n, d, temperature):
    image, text, _ = batch(n, d)
    actual = value_and_gradients(fixed(temperature, reduction="none"), image, text)
    assert_equal(actual, value_and_gradients(lambda *sides: slow.clip(*sides, temperature), image, text))


@pytest.mark.parametrize("tile", [1, 3, 7, 10, 1000, None])
def test_the_tile_changes_nothing(tile):
    image, text, _ = batch(10)
    actual = value_and_gradients(fixed(tile=tile, reduction="none"), image, text)
    assert_equal(actual, value_and_gradients(slow.clip, image, text))


def test_zero_rows_are_like_nothing_and_have_no_gradient():
    image, text, _ = batch(4)
    image[1] = text[3] = 0
    actual = value_and_gradients(fixed(reduction="none"), image, text)
    assert_equal(actual, value_and_gradients(slow.clip, image, text))
    assert not actual[1][1].any()
    assert not actual[2][3].any()


# The temperature


@pytest.mark.parametrize("temperature", [0.02, 0.07, 1.0])
def test_the_learnable_temperature_has_the_gradient_of_the_formula(temperature):
    image, text, _ = batch(6)
    loss = ClipLoss(temperature).double()
    loss(image, text).backward()
    log_scale = loss.log_scale.detach().clone().requires_grad_()
    slow.clip(image, text, torch.exp(-log_scale)).mean().backward()
    torch.testing.assert_close(loss.log_scale.grad, log_scale.grad, rtol=1e-10, atol=1e-12)
    assert loss.temperature == pytest.approx(temperature, rel=1e-6)


def test_below_the_lowest_temperature_the_loss_is_that_of_the_lowest_and_the_way_back_is_open():
    image, text = torch.eye(5, dtype=torch.float64), torch.eye(5, dtype=torch.float64).roll(1, 0)
    loss = ClipLoss(0.02).double()
    with torch.no_grad():
        loss.log_scale.fill_(math.log(1000))
    assert loss.temperature == pytest.approx(0.01)
    value = loss(image, text)
    assert value.item() == pytest.approx(fixed(0.01)(image, text).item())
    value.backward()
    # every pair is wrong, so a lower scale is better: d loss/d log scale = scale · (mean similarity of the softmax)
    assert loss.log_scale.grad.item() == pytest.approx(100.0)


def test_a_fixed_temperature_is_no_parameter_and_learns_nothing():
    loss = fixed(0.07)
    assert not list(loss.parameters())
    assert not loss.state_dict()
    assert loss.temperature == 0.07


def test_a_learnt_temperature_is_stored_and_loaded():
    first, second = ClipLoss(0.07), ClipLoss(0.5)
    second.load_state_dict(first.state_dict())
    assert second.temperature == first.temperature == pytest.approx(0.07)


# Limits


@pytest.mark.parametrize("n", [2, 9])
def test_rows_that_are_all_the_same_cost_the_logarithm_of_their_number(n):
    z = torch.ones(n, 4, dtype=torch.float64)
    value, *gradients = value_and_gradients(fixed(), z, z)
    assert value.item() == pytest.approx(math.log(n), abs=1e-12)
    assert_equal(tuple(gradients), (torch.zeros_like(z), torch.zeros_like(z)), 1e-14)


@pytest.mark.parametrize("temperature", [0.07, 0.2, 5.0])
@pytest.mark.parametrize("n", [2, 9])
def test_pairs_on_axes_of_their_own_cost_what_the_closed_form_says(n, temperature):
    z = torch.eye(n, dtype=torch.float64)
    expected = math.log1p((n - 1) * math.exp(-1 / temperature))
    assert fixed(temperature)(z, 4 * z).item() == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_one_side_alone_is_the_cross_entropy_of_its_rows():
    image, text, _ = batch(6)
    s = torch.nn.functional.normalize(image) @ torch.nn.functional.normalize(text).T / 0.2
    pairs = torch.arange(6)
    cross_entropy = torch.nn.functional.cross_entropy
    expected = cross_entropy(s, pairs, reduction="none"), cross_entropy(s.T, pairs, reduction="none")
    torch.testing.assert_close(fixed(0.2, reduction="none")(image, text), torch.cat(expected))


def test_it_says_how_it_is_set():
    assert repr(ClipLoss(0.2)) == "ClipLoss(temperature=0.2, learnable=True, reduction='mean')"
    assert repr(fixed(0.005)) == "ClipLoss(temperature=0.005, learnable=False, reduction='mean')"


def test_sides_of_different_precision_meet_in_the_finer_one():
    image, text = torch.rand(5, 4, dtype=torch.float64), torch.rand(5, 4)
    loss = ClipLoss(learnable=False)
    assert loss(image, text).dtype == torch.float64
    torch.testing.assert_close(loss(image, text), loss(image, text.double()))
