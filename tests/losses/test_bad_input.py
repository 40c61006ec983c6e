"""Bad input to a loss gets one clear line: what was expected, what came, the way out."""

import re

import pytest
import torch

from nonneg.losses import ClipLoss, InfoNCE, NonNegCrossEntropy, Spectral, SupervisedInfoNCE, chunked
from tests.losses.every_loss import CASES, batch

pytestmark = pytest.mark.usefixtures("bad_input")

Z, Y = torch.rand(4, 3), torch.tensor([0, 1, 0, 1])

PAIRS = {"InfoNCE": (InfoNCE, "z1", "z2"), "Spectral": (Spectral, "z1", "z2"), "ClipLoss": (ClipLoss, "image", "text")}
LABELLED = {
    "SupervisedInfoNCE": (SupervisedInfoNCE, "z"),
    "NonNegCrossEntropy": (lambda **how: NonNegCrossEntropy(3, 2, **how), "f"),
}
WITH_REDUCTION = [make for make, *_ in (*PAIRS.values(), *LABELLED.values())]
WITH_TEMPERATURE = [InfoNCE, SupervisedInfoNCE, ClipLoss]


def refused(message):
    return pytest.raises(ValueError, match=re.escape(message))


BAD_FEATURES = {
    "1-D": (torch.rand(4), "of shape (samples, dimensions), got (4,); flatten or stack them"),
    "3-D": (torch.rand(4, 3, 2), "of shape (samples, dimensions), got (4, 3, 2); flatten or stack them"),
    "no sample": (torch.rand(0, 3), "with at least one sample and one dimension, got an empty (0, 3)"),
    "no dimension": (torch.rand(4, 0), "with at least one sample and one dimension, got an empty (4, 0)"),
    "integers": (torch.ones(4, 3).long(), "of a floating-point type, got int64; convert them with .float()"),
    "booleans": (torch.ones(4, 3).bool(), "of a floating-point type, got bool; convert them with .float()"),
}
bad_features = pytest.mark.parametrize(("z", "message"), BAD_FEATURES.values(), ids=BAD_FEATURES)


@bad_features
@pytest.mark.parametrize(("make", "first", "second"), PAIRS.values(), ids=PAIRS)
def test_features_of_either_side_that_are_no_matrix_of_floats(make, first, second, z, message):
    with refused(f"Expected {first} {message}"):
        make()(z, Z)
    with refused(f"Expected {second} {message}"):
        make()(Z, z)


@bad_features
@pytest.mark.parametrize(("make", "name"), LABELLED.values(), ids=LABELLED)
def test_labelled_features_that_are_no_matrix_of_floats(make, name, z, message):
    with refused(f"Expected {name} {message}"):
        make()(z, Y)


@pytest.mark.parametrize("other", [torch.rand(5, 3), torch.rand(4, 2)], ids=["rows", "columns"])
@pytest.mark.parametrize(("make", "first", "second"), PAIRS.values(), ids=PAIRS)
def test_sides_of_different_shapes(make, first, second, other):
    with refused(
        f"Expected {first} and {second} of the same shape, got (4, 3) and {tuple(other.shape)}; "
        "row i of both must belong together"
    ):
        make()(Z, other)


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: InfoNCE()(Z[:1], Z[:1]), "samples"),
        (lambda: Spectral()(Z[:1], Z[:1]), "samples"),
        (lambda: ClipLoss()(Z[:1], Z[:1]), "pairs"),
        (lambda: SupervisedInfoNCE()(Z[:1], Y[:1]), "rows"),
        (lambda: NonNegCrossEntropy(3, 2)(Z[:1], Y[:1]), "samples"),
    ],
    ids=[*PAIRS, *LABELLED],
)
def test_one_sample_alone(call, what):
    with refused(f"Expected at least 2 {what}, got 1; a contrast needs a negative"):
        call()


@pytest.mark.parametrize("temperature", [0.0, 0, -0.2, float("nan"), float("inf")])
@pytest.mark.parametrize("make", WITH_TEMPERATURE)
def test_a_temperature_that_does_not_divide(make, temperature):
    with refused(f"Expected a temperature above 0, got {temperature}; 0.2 is usual"):
        make(temperature)


@pytest.mark.parametrize("tile", [0, -1])
@pytest.mark.parametrize("make", WITH_TEMPERATURE)
def test_a_tile_without_a_row(make, tile):
    with refused(f"Expected tile of at least 1, or None to have it chosen, got {tile}"):
        make(tile=tile)


@pytest.mark.parametrize("make", WITH_REDUCTION)
def test_an_unknown_reduction(make):
    with refused("Expected reduction to be one of mean, sum, none, got 'average'"):
        make(reduction="average")


def test_a_learnable_temperature_below_where_it_stops():
    with refused("Expected a learnable temperature of at least 0.01, got 0.005"):
        ClipLoss(0.005)
    assert ClipLoss(0.01).temperature == pytest.approx(0.01)
    assert ClipLoss(0.005, learnable=False).temperature == 0.005


BAD_LABELS = {
    "floats": (Y.float(), "Expected labels of an integer type, got float32; number the classes from 0"),
    "booleans": (Y.bool(), "Expected labels of an integer type, got bool; number the classes from 0"),
    "negative": (torch.tensor([0, 1, -3, 1]), "Expected labels of at least 0, got -3; number the classes from 0"),
    "too few": (Y[:3], "Expected 4 labels, one a sample, got shape (3,)"),
    "too many": (Y.repeat(2), "Expected 4 labels, one a sample, got shape (8,)"),
    "none": (Y[:0], "Expected 4 labels, one a sample, got shape (0,)"),
    "a column": (Y[:, None], "Expected 4 labels, one a sample, got shape (4, 1)"),
}


@pytest.mark.parametrize(("y", "message"), BAD_LABELS.values(), ids=BAD_LABELS)
@pytest.mark.parametrize(("make", "name"), LABELLED.values(), ids=LABELLED)
def test_labels_that_are_not_one_class_a_sample(make, name, y, message):
    with refused(message):
        make()(Z, y)


def test_a_batch_in_which_no_row_has_a_positive():
    with refused("Expected at least two rows with the same label, got none; no row has a positive"):
        SupervisedInfoNCE()(Z, torch.arange(4))


def test_a_label_beyond_the_classes():
    with refused("Expected labels below 2, the number of classes, got 2"):
        NonNegCrossEntropy(3, 2)(Z, torch.tensor([0, 1, 2, 1]))


def test_features_of_another_width_than_the_class_weights():
    with refused("Expected features of 5 dimensions, got 3"):
        NonNegCrossEntropy(5, 2)(Z, Y)
    with refused("Expected features of 5 dimensions, got 3"):
        NonNegCrossEntropy(5, 2).logits(Z)


def test_class_weights_that_cannot_be():
    with refused("Expected num_features of at least 1, got 0"):
        NonNegCrossEntropy(0, 2)
    with refused("Expected num_classes of at least 1, got 0"):
        NonNegCrossEntropy(3, 0)
    with refused("Expected weights to be one of free, non-negative, got 'nonneg'"):
        NonNegCrossEntropy(3, 2, weights="nonneg")
    with refused("got 'softplu'; did you mean 'softplus'?"):
        NonNegCrossEntropy(3, 2, activation="softplu")


@pytest.mark.parametrize("name", CASES)
def test_a_nan_is_not_hidden(name):
    """Looking for one would wait for the device in every step; the loss shows it."""
    z1, z2, y = batch(4)
    z1[2, 1] = torch.nan
    assert CASES[name].make()(*CASES[name].arguments(z1, z2, y)).isnan()


@pytest.mark.parametrize("size", [0, -4])
def test_chunks_without_a_sample(size):
    with refused(f"Expected chunk_size of at least 1, got {size}"):
        chunked(torch.nn.Linear(3, 2), size)
