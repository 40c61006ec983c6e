"""The tiled log Σ exp against the whole matrix, and that the whole matrix is never made."""

import math

import pytest
import torch
from torch.autograd import gradcheck

from nonneg.losses import ClipLoss, InfoNCE, SupervisedInfoNCE
from nonneg.losses._logsumexp import cross_logsumexp, self_logsumexp
from tests.alive import Alive
from tests.losses.every_loss import assert_equal, batch, value_and_gradients

TILES = [1, 2, 3, 7, 8, 9, 100, None]


def log2_sum_exp2(s, dim):
    return torch.logsumexp(s * math.log(2), dim) / math.log(2)


def whole_self(x):
    return log2_sum_exp2((x @ x.T).fill_diagonal_(-torch.inf), 1)


def whole_cross(x, y):
    s = x @ y.T
    return torch.cat([log2_sum_exp2(s, 1), log2_sum_exp2(s, 0)])


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize(("n", "d"), [(2, 1), (8, 3), (15, 20)])
def test_a_matrix_against_itself(n, d, tile):
    x, _, _ = batch(n, d)
    assert_equal(value_and_gradients(lambda x: self_logsumexp(x, tile), x), value_and_gradients(whole_self, x))


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 1), (8, 3), (15, 20)])
def test_a_matrix_against_another(n, d, tile):
    x, y, _ = batch(n, d)
    actual = value_and_gradients(lambda x, y: torch.cat(cross_logsumexp(x, y, tile)), x, y)
    assert_equal(actual, value_and_gradients(whole_cross, x, y))


@pytest.mark.parametrize("of", [0, 1])
def test_one_direction_of_two_may_be_all_that_is_used(of):
    x, y, _ = batch(5)
    actual = value_and_gradients(lambda x, y: cross_logsumexp(x, y, 2)[of], x, y)
    assert_equal(actual, value_and_gradients(lambda x, y: whole_cross(x, y).chunk(2)[of], x, y))


def test_gradcheck_passes():
    x, y, _ = (z.requires_grad_() if z.is_floating_point() else z for z in batch(5, 3))
    assert gradcheck(lambda x: self_logsumexp(x, 2), (x,))
    assert gradcheck(lambda x, y: cross_logsumexp(x, y, 2), (x, y))


@pytest.mark.parametrize("shift", [-2000.0, 0.0, 2000.0])
def test_sums_beyond_the_range_of_floats_are_exact(shift):
    """2^2000 is no float64; a column of constants adds the shift to every similarity."""
    x, y, _ = batch(6, 3)
    one = torch.ones(6, 1, dtype=torch.float64)
    shifted = torch.cat(cross_logsumexp(torch.cat([x, shift * one], 1), torch.cat([y, one], 1), 4))
    torch.testing.assert_close(shifted - shift, torch.cat(cross_logsumexp(x, y, 4)), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("tile", [1, 2, None])
def test_a_row_without_another_has_nothing_to_sum(tile):
    assert self_logsumexp(torch.ones(1, 3), tile).tolist() == [-math.inf]


# Memory

N, DIM, TILE = 40, 8, 16


def whole_infonce(z1, z2):
    s = torch.cat([z1, z2]) @ torch.cat([z1, z2]).T
    return torch.nn.functional.cross_entropy(s, torch.arange(2 * N).roll(N))


def whole_supervised(z, y):
    s = z @ z.T
    return (s.logsumexp(1) - s.mean(1)).mean()


def whole_clip(image, text):
    s = image @ text.T
    return (s.logsumexp(0) + s.logsumexp(1)).mean() - 2 * s.diagonal().mean()


@pytest.mark.parametrize(
    ("loss", "whole"),
    [
        (InfoNCE(tile=TILE), whole_infonce),
        (InfoNCE(normalize=False, tile=TILE), whole_infonce),
        (SupervisedInfoNCE(tile=TILE), whole_supervised),
        (ClipLoss(tile=TILE), whole_clip),
    ],
    ids=["InfoNCE", "InfoNCE, not normalised", "SupervisedInfoNCE", "ClipLoss"],
)
def test_nothing_larger_than_a_tile_or_the_features_is_ever_made(loss, whole):
    z1, z2, _ = batch(N, DIM)
    labelled = isinstance(loss, SupervisedInfoNCE)
    arguments = (torch.cat([z1, z2]), torch.arange(2 * N) % 5) if labelled else (z1, z2)
    features = N * DIM if isinstance(loss, ClipLoss) else 2 * N * DIM
    with Alive() as tiled:
        value_and_gradients(loss, *arguments)
    with Alive() as at_once:
        value_and_gradients(whole, *arguments)
    assert tiled.largest <= max(TILE * TILE, features)
    assert at_once.largest >= N * N > max(TILE * TILE, features)


def test_the_memory_at_any_moment_grows_with_the_features_and_not_with_their_square():
    """A few copies of the features and a few tiles, for 4 times the rows 4 times that."""
    d, tile = 4, 64
    for n in (64, 256):
        z1, z2, _ = (z.float() for z in batch(n, d))
        with Alive() as alive:
            value_and_gradients(InfoNCE(tile=tile), z1, z2)
        assert alive.peak <= 4 * (7 * 2 * n * d + 3 * tile * tile)
    with Alive() as at_once:
        value_and_gradients(lambda z1, z2: (torch.cat([z1, z2]) @ torch.cat([z1, z2]).T).logsumexp(1).mean(), z1, z2)
    assert at_once.peak > 4 * (7 * 2 * n * d + 3 * tile * tile)
