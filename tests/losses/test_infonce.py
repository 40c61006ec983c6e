"""InfoNCE against its slow reference, its symmetries and its limits."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nonneg.losses import InfoNCE
from tests.losses.every_loss import assert_equal, batch, batches, quick, value_and_gradients
from tests.references import losses as slow


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("temperature", [0.01, 0.2, 5.0])
@pytest.mark.parametrize(("n", "d"), [(2, 1), (5, 3), (9, 20)])
def test_value_and_gradient_are_those_of_the_formula(n, d, temperature, normalize):
    z1, z2, _ = batch(n, d)
    actual = value_and_gradients(InfoNCE(temperature, normalize, reduction="none"), z1, z2)
    expected = value_and_gradients(lambda *z: slow.infonce(*z, temperature, normalize), z1, z2)
    assert_equal(actual, expected)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("tile", [1, 3, 7, 10, 20, 1000, None])
def test_the_tile_changes_nothing(tile, normalize):
    z1, z2, _ = batch(10)
    actual = value_and_gradients(InfoNCE(normalize=normalize, tile=tile, reduction="none"), z1, z2)
    assert_equal(actual, value_and_gradients(lambda *z: slow.infonce(*z, normalize=normalize), z1, z2))


def test_two_tiles_of_the_chosen_size_are_the_whole():
    z1, z2, _ = batch(600, 4)
    expected = value_and_gradients(whole_matrix, z1, z2)
    assert_equal(value_and_gradients(InfoNCE(), z1, z2), expected)


def whole_matrix(z1, z2):
    x = torch.nn.functional.normalize(torch.cat([z1, z2]))
    s = (x @ x.T / 0.2).fill_diagonal_(-torch.inf)
    return torch.nn.functional.cross_entropy(s, torch.arange(len(x)).roll(len(z1)))


def test_zero_rows_are_like_nothing_and_have_no_gradient():
    z1, z2, _ = batch(4)
    z1[1] = z2[3] = 0
    actual = value_and_gradients(InfoNCE(reduction="none"), z1, z2)
    assert_equal(actual, value_and_gradients(slow.infonce, z1, z2))
    assert not actual[1][1].any()
    assert not actual[2][3].any()


# Symmetries


@quick
@given(batches, st.booleans())
def test_the_views_may_be_swapped(zs, normalize):
    z1, z2, _ = zs
    value, g1, g2 = value_and_gradients(InfoNCE(normalize=normalize), z1, z2)
    assert_equal(value_and_gradients(InfoNCE(normalize=normalize), z2, z1), (value, g2, g1))


@quick
@given(batches)
def test_the_length_of_rows_does_not_matter_where_they_are_normalised(zs):
    z1, z2, _ = zs
    scale = torch.logspace(-6, 6, len(z1), dtype=torch.float64)[:, None]
    value, g1, g2 = value_and_gradients(InfoNCE(), z1, z2)
    scaled = value_and_gradients(InfoNCE(), scale * z1, z2 / scale)
    assert_equal((scaled[0], scaled[1] * scale, scaled[2] / scale), (value, g1, g2))


@quick
@given(batches, st.floats(0.1, 3))
def test_the_length_of_rows_is_a_temperature_where_they_are_not_normalised(zs, scale):
    z1, z2, _ = zs
    value, g1, g2 = value_and_gradients(InfoNCE(0.2 / scale**2, normalize=False), z1, z2)
    assert_equal(
        value_and_gradients(InfoNCE(0.2, normalize=False), scale * z1, scale * z2),
        (value, g1 / scale, g2 / scale),
        1e-9,
    )


# Limits


@pytest.mark.parametrize("row", [torch.ones(5), torch.zeros(5)], ids=["ones", "zeros"])
@pytest.mark.parametrize("n", [2, 7])
def test_rows_that_are_all_the_same_cost_the_logarithm_of_their_number(n, row):
    z = row.double().repeat(n, 1)
    value, *gradients = value_and_gradients(InfoNCE(), z, z)
    assert value.item() == pytest.approx(math.log(2 * n - 1), abs=1e-12)
    assert_equal(tuple(gradients), (torch.zeros_like(z), torch.zeros_like(z)), 1e-15)


@pytest.mark.parametrize("temperature", [0.01, 0.2, 5.0])
@pytest.mark.parametrize("n", [2, 7])
def test_samples_on_axes_of_their_own_cost_what_the_closed_form_says(n, temperature):
    z = torch.eye(n, dtype=torch.float64)
    expected = math.log1p((2 * n - 2) * math.exp(-1 / temperature))
    assert InfoNCE(temperature)(3 * z, z).item() == pytest.approx(expected, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("temperature", [0.05, 0.5])
def test_two_opposite_samples_cost_what_the_closed_form_says(temperature):
    z = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)
    expected = math.log1p(2 * math.exp(-2 / temperature))
    assert InfoNCE(temperature)(z, z).item() == pytest.approx(expected, rel=1e-6, abs=1e-13)


def test_huge_similarities_that_rounding_reorders_give_a_finite_gradient():
    for tile in (7, None):
        z = ((torch.rand(74, 33) * 2 - 1) * 65504).requires_grad_()
        value = InfoNCE(normalize=False, tile=tile)(*z.chunk(2))
        value.backward()
        assert value.isfinite()
        # at most every row's pull towards one other, and the others' towards it
        assert z.grad.abs().max() <= 2 * 65504 / 0.2


def test_it_says_how_it_is_set():
    assert repr(InfoNCE(0.5, normalize=False)) == "InfoNCE(temperature=0.5, normalize=False, reduction='mean')"
