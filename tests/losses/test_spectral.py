"""Spectral against its slow reference, against the matrix factorisation that it is, and its limits."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nonneg.losses import Spectral
from tests.alive import Alive
from tests.losses.every_loss import assert_equal, batch, batches, quick, value_and_gradients
from tests.references import losses as slow


@pytest.mark.parametrize(("n", "d"), [(2, 1), (2, 3), (2, 4), (2, 5), (5, 3), (9, 17), (9, 18), (9, 19), (9, 40)])
def test_value_and_gradient_are_those_of_the_formula(n, d):
    z1, z2, _ = batch(n, d)
    actual = value_and_gradients(Spectral(reduction="none"), z1, z2)
    assert_equal(actual, value_and_gradients(slow.spectral, z1, z2))


@quick
@given(batches)
def test_more_columns_than_rows_and_fewer_are_summed_differently_to_the_same_end(zs):
    z1, z2, _ = zs
    n, d = z1.shape
    value, *gradients = value_and_gradients(Spectral(), z1, z2)
    for width in (d + 1, 2 * n + d + 1):
        wider = [torch.cat([z, torch.zeros(n, width - d)], dim=1) for z in (z1, z2)]
        of_wider, *of_wider_gradients = value_and_gradients(Spectral(), *wider)
        assert_equal((of_wider, *(g[:, :d] for g in of_wider_gradients)), (value, *gradients))


@pytest.mark.parametrize(("n", "d"), [(4, 60), (60, 4)])
def test_the_smaller_of_the_two_square_matrices_is_made_and_the_larger_one_never(n, d):
    z1, z2, _ = batch(n, d)
    with Alive() as alive:
        value_and_gradients(Spectral(), z1, z2)
    assert alive.largest <= 2 * n * d < max(2 * n, d) ** 2


@quick
@given(batches, st.floats(0.1, 3))
def test_scaled_features_scale_the_pull_by_the_square_and_the_push_by_the_fourth_power(zs, scale):
    z1, z2, _ = zs
    pull = -2 * (z1 * z2).sum(1).mean()
    push = Spectral()(z1, z2) - pull
    torch.testing.assert_close(
        Spectral()(scale * z1, scale * z2), scale**2 * pull + scale**4 * push, rtol=1e-10, atol=1e-10
    )


# Spectral contrastive learning is matrix factorisation


def world(points, sources, seed=0):
    """(P, Ā): the chance of every pair of views of one source, and D^−½ P D^−½, by random augmentations A(x|x̄)."""
    generator = torch.Generator().manual_seed(seed)
    augment = torch.rand(sources, points, dtype=torch.float64, generator=generator) ** 3
    augment /= augment.sum(1, keepdim=True)
    chance = torch.rand(sources, dtype=torch.float64, generator=generator) + 0.1
    chance /= chance.sum()
    pairs = augment.T @ torch.diag(chance) @ augment
    views = pairs.sum(1)
    return pairs, pairs / torch.sqrt(torch.outer(views, views))


def features(points, d, signed):
    f = torch.randn(points, d, dtype=torch.float64)
    return f if signed else f.relu()


def factorisation_error(pairs, graph, f):
    """‖Ā − FFᵀ‖², row x of F being √P(x)·f(x)."""
    scaled = pairs.sum(1).sqrt()[:, None] * f
    return (graph - scaled @ scaled.T).square().sum()


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "non-negative"])
def test_the_expected_loss_is_the_error_of_the_factorisation_in_a_world_of_60_points(signed):
    pairs, graph = world(points=60, sources=17)
    views = pairs.sum(1)
    f = features(60, 9, signed)

    def expected_loss(f):
        s = f @ f.T
        return -2 * (pairs * s).sum() + (torch.outer(views, views) * s.square()).sum()

    loss, loss_gradient = value_and_gradients(expected_loss, f)
    error, error_gradient = value_and_gradients(lambda f: factorisation_error(pairs, graph, f), f)
    assert_equal((loss + graph.square().sum(), loss_gradient), (error, error_gradient))


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "non-negative"])
def test_a_batch_is_an_unbiased_sample_of_that_error(signed):
    points = 5
    pairs, graph = world(points, sources=3)
    f = features(points, 4, signed)

    def mean_over_all_batches(f):
        """Every draw of two samples with two views each, (a, b) and (c, d), weighted by its chance."""
        total = torch.zeros((), dtype=torch.float64)
        for a, b, c, d in itertools.product(range(points), repeat=4):
            total = total + pairs[a, b] * pairs[c, d] * Spectral()(f[[a, c]], f[[b, d]])
        return total

    loss, loss_gradient = value_and_gradients(mean_over_all_batches, f)
    error, error_gradient = value_and_gradients(lambda f: factorisation_error(pairs, graph, f), f)
    assert_equal((loss + graph.square().sum(), loss_gradient), (error, error_gradient))


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "non-negative"])
def test_a_batch_of_many_samples_is_the_mean_of_its_pairs_of_samples(signed):
    """So that what holds for two samples holds for any number."""
    z1, z2 = features(6, 4, signed), features(6, 4, signed)
    of_pairs = [Spectral()(z1[[i, j]], z2[[i, j]]) for i, j in itertools.combinations(range(6), 2)]
    torch.testing.assert_close(Spectral()(z1, z2), torch.stack(of_pairs).mean(), rtol=1e-12, atol=1e-12)


# Limits


@pytest.mark.parametrize("n", [2, 7])
def test_rows_that_are_all_the_same_unit_row_cost_minus_one(n):
    z = torch.zeros(n, 4, dtype=torch.float64)
    z[:, 1] = 1
    assert Spectral()(z, z).item() == pytest.approx(-1, abs=1e-12)


@pytest.mark.parametrize("n", [2, 7])
def test_samples_on_axes_of_their_own_cost_minus_two(n):
    z = torch.eye(n, dtype=torch.float64)
    assert Spectral()(z, z).item() == pytest.approx(-2, abs=1e-12)


def test_zero_rows_cost_nothing():
    z = torch.zeros(4, 3, dtype=torch.float64)
    value, *gradients = value_and_gradients(Spectral(), z, z)
    assert value == 0
    assert not any(g.any() for g in gradients)


def test_it_says_how_it_is_set():
    assert repr(Spectral(reduction="sum")) == "Spectral(reduction='sum')"
