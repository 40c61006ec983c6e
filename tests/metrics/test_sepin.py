"""SEPIN by zeros equals the loop that recomputes the loss without each column."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nonneg import metrics
from nonneg.metrics import _rows
from tests.references import metrics as reference

KINDS = {
    "dense": lambda z: z,
    "relu": lambda z: np.maximum(z, 0),
    "sparse": lambda z: np.maximum(z - 1, 0),
    "nearly one-hot": lambda z: np.eye(z.shape[1])[np.abs(z).argmax(1)] + np.maximum(z - 1.5, 0) * 1e-2,
    "one-hot": lambda z: np.eye(z.shape[1])[np.abs(z).argmax(1)],
}


def _views(kind, n=20, d=7, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d))
    return KINDS[kind](z), KINDS[kind](z + 0.3 * rng.normal(size=(n, d)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("temperature", [0.01, 0.05, 0.2, 1.0])
def test_equals_the_loop(kind, temperature):
    z1, z2 = _views(kind)
    scores = metrics.sepin_scores(z1, z2, temperature)
    np.testing.assert_allclose(scores, reference.sepin_scores(z1, z2, temperature), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_tiles_give_what_one_piece_gives(kind, monkeypatch):
    z1, z2 = _views(kind)
    whole = metrics.sepin_scores(z1, z2)
    for piece in (20, 100, 260):
        monkeypatch.setattr(_rows, "_PIECE", piece)
        torch.testing.assert_close(metrics.sepin_scores(z1, z2), whole, atol=1e-6, rtol=0)


@settings(max_examples=25, deadline=None)
@given(data=st.data(), seed=st.integers(0, 1000), kind=st.sampled_from(["dense", "relu", "sparse"]))
def test_only_the_order_of_columns_moves_the_scores(data, seed, kind):
    z1, z2 = _views(kind, n=8, d=5, seed=seed)
    scores = metrics.sepin_scores(z1, z2)
    columns, rows = data.draw(st.permutations(range(5))), data.draw(st.permutations(range(8)))
    moved = metrics.sepin_scores(z1[rows][:, columns], z2[rows][:, columns])
    torch.testing.assert_close(moved, scores[columns], atol=1e-6, rtol=0)
    torch.testing.assert_close(metrics.sepin_scores(z2, z1), scores, atol=1e-6, rtol=0)
    torch.testing.assert_close(metrics.sepin_scores(3 * z1, z2), scores, atol=1e-6, rtol=0)
    dead = np.zeros((8, 1))
    wider = metrics.sepin_scores(np.concatenate([z1, dead], 1), np.concatenate([z2, dead], 1))
    torch.testing.assert_close(wider, torch.cat([scores, scores.new_zeros(1)]), atol=1e-6, rtol=0)


def test_one_hot_by_class_has_the_known_value():
    classes, each, temperature = 4, 3, 0.2
    z = torch.eye(classes).repeat(each, 1)
    same, other = math.exp(1 / temperature), 1.0
    n = classes * each
    before = math.log((2 * each - 1) * same + (2 * n - 2 * each) * other) - 1 / temperature
    after = math.log(2 * n - 1)  # an all-zero row is equally unlike everything
    expected = (after - before) / classes
    scores = metrics.sepin_scores(z, z, temperature)
    torch.testing.assert_close(scores, torch.full((classes,), expected, dtype=torch.float64), atol=1e-6, rtol=0)


def test_at_k_is_the_mean_of_the_largest():
    z1, z2 = _views("sparse")
    scores = sorted(metrics.sepin_scores(z1, z2).tolist(), reverse=True)
    values = metrics.sepin(z1, z2, k=(1, 3))
    assert values == pytest.approx({1: scores[0], 3: np.mean(scores[:3]), "all": np.mean(scores)})
    assert {type(value) for value in values.values()} == {float}


def test_a_copied_column_tells_nothing_new():
    z1, z2 = _views("relu")
    doubled = metrics.sepin_scores(np.concatenate([z1, z1], 1), np.concatenate([z2, z2], 1))
    assert doubled.max() < metrics.sepin_scores(z1, z2).max() / 2
    torch.testing.assert_close(doubled[:7], doubled[7:], atol=1e-7, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_any_float_type(dtype):
    z1, z2 = (torch.tensor(z).to(dtype) for z in _views("relu"))
    expected = reference.sepin_scores(z1.double().numpy(), z2.double().numpy(), 0.2)
    np.testing.assert_allclose(metrics.sepin_scores(z1, z2), expected, atol=1e-5)
