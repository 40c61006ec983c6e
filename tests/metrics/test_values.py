"""Every measurement equals its slow, obvious reference, on any array type, and changes only with what it should."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nonneg import metrics
from tests.metrics.features import labelled, sparse
from tests.references import metrics as reference

quick = settings(max_examples=40, deadline=None)


def _of(name, z, y):
    """The measurement and its reference, given features and labels, whatever else they need."""
    k = min(3, len(z) - 1)
    return {
        "sparsity": (lambda: metrics.sparsity(z), lambda: reference.sparsity(z)),
        "alive": (lambda: metrics.alive(z), lambda: reference.alive(z)),
        "class_consistency": (lambda: metrics.class_consistency(z, y), lambda: reference.class_consistency(z, y)),
        "entropy": (
            lambda: float(metrics.class_profile(z, y).entropy.nanmean()),
            lambda: reference.mean_entropy(z, y),
        ),
        "correlation": (lambda: metrics.correlation(z), lambda: reference.correlation(z)),
        "effective_rank": (lambda: metrics.effective_rank(z), lambda: reference.effective_rank(z)),
        "precision": (
            lambda: metrics.retrieval(z, y, k)["precision"],
            lambda: reference.retrieval(z, y, k)["precision"],
        ),
        "map": (lambda: metrics.retrieval(z, y, k)["map"], lambda: reference.retrieval(z, y, k)["map"]),
        "knn_accuracy": (
            lambda: metrics.knn_accuracy(z[1:], y[1:], z[:1], y[:1], k),
            lambda: reference.knn_accuracy(z[1:], y[1:], z[:1], y[:1], k, 0.07),
        ),
    }[name]


NAMES = [
    "sparsity",
    "alive",
    "class_consistency",
    "entropy",
    "correlation",
    "effective_rank",
    "precision",
    "map",
    "knn_accuracy",
]
# All-zero rows tie, and so do all in one dimension: which one is nearest is anyone's guess.
BY_NEIGHBOURS = {"precision", "map", "knn_accuracy"}


@pytest.mark.parametrize("name", NAMES)
@quick
@given(data=st.data())
def test_equals_the_reference(name, data):
    z, y = data.draw(labelled(dimensions=(2, 6), signed=True if name in BY_NEIGHBOURS else None))
    ours, theirs = _of(name, z, y)
    assert ours() == pytest.approx(theirs(), abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
@quick
@given(data=st.data())
def test_order_of_columns_and_samples_is_nothing(name, data):
    z, y = data.draw(labelled(dimensions=(2, 6), signed=True))
    columns = data.draw(st.permutations(range(z.shape[1])))
    rows = np.arange(len(z)) if name == "knn_accuracy" else np.array(data.draw(st.permutations(range(len(z)))))
    expected = _of(name, z, y)[0]()
    assert _of(name, z[rows][:, columns], y[rows])[0]() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", sorted({*NAMES} - {"correlation", "effective_rank"}))
@quick
@given(data=st.data(), scale=st.floats(1e-3, 1e3))
def test_scale_of_a_row_is_nothing(name, data, scale):
    z, y = data.draw(labelled(dimensions=(2, 6), signed=True))
    scales = np.where(np.arange(len(z)) % 2, scale, 1.0)[:, None]
    assert _of(name, z * scales, y)[0]() == pytest.approx(_of(name, z, y)[0](), abs=1e-9)


@pytest.mark.parametrize("name", ["correlation", "effective_rank"])
def test_scale_of_a_row_is_something_where_columns_are_compared(name):
    z, y = sparse()
    scales = np.where(np.arange(len(z)) % 2, 10.0, 1.0)[:, None]
    assert abs(_of(name, z * scales, y)[0]() - _of(name, z, y)[0]()) > 0.01


@pytest.mark.parametrize("name", NAMES)
@quick
@given(data=st.data())
def test_a_dead_column_changes_sparsity_alone(name, data):
    z, y = data.draw(labelled(dimensions=(2, 6), signed=True))
    wider = np.concatenate([z, np.zeros((len(z), 1))], 1)
    before, after = _of(name, z, y)[0](), _of(name, wider, y)[0]()
    if name == "sparsity":
        d = z.shape[1]
        assert after == pytest.approx((before * d + 1) / (d + 1))
    else:
        assert after == pytest.approx(before, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_any_float_type_tensor_or_array_gives_a_python_float(name, dtype):
    z, y = sparse()
    exact = torch.tensor(z).to(dtype)
    expected = _of(name, exact.double().numpy(), y)[1]()
    value = _of(name, exact, torch.tensor(y))[0]()
    assert type(value) is float
    assert value == pytest.approx(expected, abs=2e-6)
    if dtype in (torch.float32, torch.float64):
        assert _of(name, exact.numpy(), y)[0]() == value


def test_features_that_carry_a_gradient_are_measured():
    z, y = sparse()
    assert metrics.class_consistency(torch.tensor(z, requires_grad=True), y) == metrics.class_consistency(z, y)


def test_activity_is_relative_to_the_row_and_safe_from_overflow():
    row = torch.tensor([[1.0, 0.9e-5, 1.1e-5, 0.0]])
    assert metrics.sparsity(row) == metrics.sparsity(row * 1e30) == metrics.sparsity(row * 1e-6) == 0.5
    assert metrics.sparsity(torch.zeros(3, 4)) == 1.0
    assert metrics.alive(torch.zeros(3, 4)) == 0.0


def test_many_pieces_give_what_one_gives(monkeypatch):
    from nonneg.metrics import _rows

    z, y = sparse()
    whole = {name: _of(name, z, y)[0]() for name in NAMES}
    monkeypatch.setattr(_rows, "_PIECE", 30)
    assert {name: _of(name, z, y)[0]() for name in NAMES} == pytest.approx(whole, abs=1e-12)


def test_profile_names_each_dimension():
    z = torch.tensor([[1.0, 0.0, 0.0], [1.0, 2.0, 0.0], [1.0, 2.0, 0.0], [0.0, 2.0, 0.0]])
    profile = metrics.class_profile(z, torch.tensor([5, 5, 1, 1]))
    assert profile.of_class.tolist() == [5, 1, -1]
    assert profile.samples.tolist() == [3, 3, 0]
    torch.testing.assert_close(profile.consistency, torch.tensor([2 / 3, 2 / 3, torch.nan]).double(), equal_nan=True)
    expected = -(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3))
    torch.testing.assert_close(
        profile.entropy, torch.tensor([expected, expected, torch.nan], dtype=torch.float64), equal_nan=True
    )


def test_correlation_matrix_is_of_the_alive_columns():
    z, _ = sparse()
    z[:, 3] = 0
    matrix = metrics.correlation_matrix(z)
    assert matrix.shape == (11, 11)
    np.testing.assert_allclose(np.diag(matrix), 1)
    assert metrics.correlation(z) == pytest.approx((np.abs(matrix.numpy()).sum() - 11) / 110)


def test_one_alive_column_correlates_with_nothing():
    assert metrics.correlation(torch.tensor([[1.0, 0.0], [2.0, 0.0]])) == 0.0


def test_effective_rank_of_known_spectra():
    assert metrics.effective_rank(torch.eye(7)[:, :5]) == pytest.approx(5)
    assert metrics.effective_rank(torch.ones(9, 4)) == pytest.approx(1, abs=1e-6)
    low = torch.randn(200, 3) @ torch.randn(3, 50)
    assert metrics.effective_rank(low) < 3.001  # what rounding leaves of the other 47 doesn't count
    assert metrics.effective_rank(low * 1e30) == pytest.approx(metrics.effective_rank(low), rel=1e-4)


def test_a_sample_alone_in_its_class_counts_as_a_miss():
    z = torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.2, 1.0]])
    assert metrics.retrieval(z, torch.tensor([0, 0, 1]), k=1) == {
        "precision": pytest.approx(2 / 3),
        "map": pytest.approx(2 / 3),
    }


def test_nearer_neighbours_weigh_more():
    train = torch.tensor([[1.0, 0.0], [0.5, 1.0], [0.5, 1.1]])
    labels = torch.tensor([1, 0, 0])
    query, answer = torch.tensor([[1.0, 0.0]]), torch.tensor([1])
    assert metrics.knn_accuracy(train, labels, query, answer, k=3) == 1.0
    assert metrics.knn_accuracy(train, labels, query, answer, k=3, temperature=100.0) == 0.0
