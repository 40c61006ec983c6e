"""Bad input to a measurement gets one line: what was expected, what came, the way out."""

import numpy as np
import pytest
import torch

from nonneg import metrics, selection

pytestmark = pytest.mark.usefixtures("bad_input")

Z, Y = torch.rand(6, 4), torch.tensor([0, 1, 0, 1, 0, 1])

OF_FEATURES = {
    "sparsity": metrics.sparsity,
    "alive": metrics.alive,
    "correlation": metrics.correlation,
    "effective_rank": metrics.effective_rank,
    "class_consistency": lambda z: metrics.class_consistency(z, Y),
    "retrieval": lambda z: metrics.retrieval(z, Y, k=2),
    "knn_accuracy (training)": lambda z: metrics.knn_accuracy(z, Y, Z, Y, k=2),
    "knn_accuracy (test)": lambda z: metrics.knn_accuracy(Z, Y, z, Y, k=2),
    "sepin (z1)": lambda z: metrics.sepin(z, Z, k=(1,)),
    "sepin (z2)": lambda z: metrics.sepin(Z, z, k=(1,)),
    "expected_activation": selection.expected_activation,
}
OF_LABELS = {
    "class_consistency": lambda y: metrics.class_consistency(Z, y),
    "retrieval": lambda y: metrics.retrieval(Z, y, k=2),
    "knn_accuracy (training)": lambda y: metrics.knn_accuracy(Z, y, Z, Y, k=2),
    "knn_accuracy (test)": lambda y: metrics.knn_accuracy(Z, Y, Z, y, k=2),
}


@pytest.mark.parametrize("name", OF_FEATURES)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_nan_and_infinity_are_named_with_their_place(name, value):
    z = Z.clone()
    z[2, 1] = value
    with pytest.raises(ValueError, match=rf"Expected finite .*, got {value} at \[2, 1\] and 1 such values in all"):
        OF_FEATURES[name](z)


@pytest.mark.parametrize("name", OF_FEATURES)
@pytest.mark.parametrize(
    ("z", "message"),
    [
        (torch.rand(6), r"of shape \(samples, dimensions\), got \(6,\)"),
        (torch.rand(6, 2, 2), r"of shape \(samples, dimensions\), got \(6, 2, 2\)"),
        (torch.ones(6, 4, dtype=torch.int64), "of a floating-point type, got int64"),
        (torch.rand(0, 4), r"at least one sample and one dimension, got an empty \(0, 4\)"),
        (np.empty((6, 0)), r"at least one sample and one dimension, got an empty \(6, 0\)"),
    ],
    ids=["1-D", "3-D", "integers", "no sample", "no dimension"],
)
def test_features_that_are_no_matrix_of_floats(name, z, message):
    with pytest.raises(ValueError, match=message):
        OF_FEATURES[name](z)


@pytest.mark.parametrize("name", OF_LABELS)
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (Y[:5], r"Expected 6 .*labels, one a sample, got shape \(5,\)"),
        (Y.float(), "labels of an integer type, got float32; number the classes from 0"),
        (Y.bool(), "labels of an integer type, got bool"),
        (Y - 1, "labels of at least 0, got -1; number the classes from 0"),
    ],
    ids=["too few", "floats", "booleans", "negative"],
)
def test_labels_that_are_no_class_numbers(name, y, message):
    with pytest.raises(ValueError, match=message):
        OF_LABELS[name](y)


@pytest.mark.parametrize("name", ["correlation", "effective_rank", "class_consistency"])
def test_no_alive_dimension(name):
    with pytest.raises(
        ValueError, match=r"at least one alive dimension, got none.*\(collapse\); train with nonneg.rep"
    ):
        OF_FEATURES[name](torch.zeros(6, 4))


@pytest.mark.parametrize("k", [0, 6])
def test_more_neighbours_than_others(k):
    with pytest.raises(ValueError, match=f"Expected k between 1 and 5, the number of other samples, got {k}"):
        metrics.retrieval(Z, Y, k=k)


def test_more_neighbours_than_training_samples():
    with pytest.raises(ValueError, match="Expected k between 1 and 6, the number of training samples, got 7"):
        metrics.knn_accuracy(Z, Y, Z, Y, k=7)


def test_training_and_test_of_different_width():
    with pytest.raises(ValueError, match=r"Expected features of 4 dimensions, got 3"):
        metrics.knn_accuracy(Z, Y, Z[:, :3], Y, k=2)


@pytest.mark.parametrize("temperature", [0, -1.0, float("nan"), float("inf")])
def test_temperature(temperature):
    with pytest.raises(ValueError, match=f"Expected a temperature above 0, got {temperature}"):
        metrics.sepin(Z, Z, k=(1,), temperature=temperature)
    with pytest.raises(ValueError, match=f"Expected a temperature above 0, got {temperature}"):
        metrics.knn_accuracy(Z, Y, Z, Y, k=2, temperature=temperature)


def test_sepin_of_more_dimensions_than_there_are():
    with pytest.raises(ValueError, match="Expected k between 1 and 4, the number of dimensions, got 10"):
        metrics.sepin(Z, Z)


def test_views_of_different_shape():
    with pytest.raises(ValueError, match=r"same shape, got \(6, 4\) and \(5, 4\); row i of both must belong together"):
        metrics.sepin(Z, Z[:5], k=(1,))


def test_one_pair_has_no_negative():
    with pytest.raises(ValueError, match="at least 2 samples, got 1; a contrast needs a negative"):
        metrics.sepin(Z[:1], Z[:1], k=(1,))
