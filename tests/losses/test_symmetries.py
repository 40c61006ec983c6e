"""What every loss of samples against samples must not care about: the order of columns and samples, dead columns."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.losses.every_loss import CASES, assert_equal, batches, quick, value_and_gradients

CONTRASTIVE = [name for name in CASES if "CrossEntropy" not in name]
orders = st.randoms(use_true_random=False)


def run(name, z1, z2, y):
    """The loss, and its gradient with regard to both views together; a view that the loss doesn't take gets zeros."""
    case = CASES[name]
    if case.labelled:
        n = len(z1)
        value, g = value_and_gradients(case.make(), torch.cat([z1, z2]), torch.cat([y, y]))
        return value, g[:n], g[n:]
    return value_and_gradients(case.make(), z1, z2)


@pytest.mark.parametrize("name", CONTRASTIVE)
@quick
@given(zs=batches, random=orders)
def test_the_order_of_the_columns_does_not_matter(name, zs, random):
    z1, z2, y = zs
    value, g1, g2 = run(name, z1, z2, y)
    order = random.sample(range(z1.shape[1]), z1.shape[1])
    assert_equal(run(name, z1[:, order], z2[:, order], y), (value, g1[:, order], g2[:, order]))


@pytest.mark.parametrize("name", CONTRASTIVE)
@quick
@given(zs=batches, random=orders)
def test_the_order_of_the_samples_does_not_matter(name, zs, random):
    z1, z2, y = zs
    value, g1, g2 = run(name, z1, z2, y)
    order = random.sample(range(len(z1)), len(z1))
    assert_equal(run(name, z1[order], z2[order], y[order]), (value, g1[order], g2[order]))


@pytest.mark.parametrize("name", CONTRASTIVE)
@quick
@given(zs=batches)
def test_the_two_sides_may_be_swapped(name, zs):
    z1, z2, y = zs
    value, g1, g2 = run(name, z1, z2, y)
    assert_equal(run(name, z2, z1, y), (value, g2, g1))


@pytest.mark.parametrize("name", CONTRASTIVE)
@quick
@given(zs=batches, place=st.integers(0, 7))
def test_a_dead_column_changes_nothing_and_gets_no_gradient(name, zs, place):
    z1, z2, y = zs
    value, g1, g2 = run(name, z1, z2, y)
    place = min(place, z1.shape[1])
    wider = [torch.cat([z[:, :place], torch.zeros(len(z), 1), z[:, place:]], dim=1) for z in (z1, z2)]
    of_wider, *gradients = run(name, *wider, y)
    assert_equal((of_wider, *(torch.cat([g[:, :place], g[:, place + 1 :]], dim=1) for g in gradients)), (value, g1, g2))
    assert not any(g[:, place].any() for g in gradients)


@pytest.mark.parametrize("name", CONTRASTIVE)
@quick
@given(zs=batches, seed=st.integers(0, 2**32 - 1))
def test_turning_all_rows_together_changes_nothing(name, zs, seed):
    z1, z2, y = zs
    value, g1, g2 = run(name, z1, z2, y)
    d = z1.shape[1]
    turn, _ = torch.linalg.qr(torch.randn(d, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)))
    assert_equal(run(name, z1 @ turn, z2 @ turn, y), (value, g1 @ turn, g2 @ turn), 1e-8)


@pytest.mark.parametrize("name", CONTRASTIVE)
@quick
@given(zs=batches)
def test_the_length_of_rows_matters_only_where_they_are_not_normalised(name, zs):
    z1, z2, y = zs
    value, g1, g2 = run(name, z1, z2, y)
    scale = torch.logspace(-2, 2, len(z1), dtype=torch.float64)[:, None]
    scaled, s1, s2 = run(name, scale * z1, z2 / scale**2, y)
    if "not normalised" in name or name == "Spectral":
        assert abs(scaled - value) > 1e-6
    else:
        assert_equal((scaled, s1 * scale, s2 / scale**2), (value, g1, g2))
