"""The wording of every check: what was expected, what came, the way out; and that the bounds themselves pass."""

import math
import re

import pytest
import torch

from nonneg import _checks

Z = torch.zeros(3, 2)

REFUSED = [
    (
        lambda: _checks.float_matrix(torch.zeros(3)),
        "Expected features of shape (samples, dimensions), got (3,); flatten or stack them.",
    ),
    (
        lambda: _checks.float_matrix(torch.zeros(3, 2, 4), "z"),
        "Expected z of shape (samples, dimensions), got (3, 2, 4); flatten or stack them.",
    ),
    (
        lambda: _checks.float_matrix(torch.zeros(3, 2, dtype=torch.int64)),
        "Expected features of a floating-point type, got int64; convert them with .float().",
    ),
    (
        lambda: _checks.float_matrix(torch.zeros(0, 2)),
        "Expected features with at least one sample and one dimension, got an empty (0, 2).",
    ),
    (
        lambda: _checks.float_matrix(torch.zeros(3, 0)),
        "Expected features with at least one sample and one dimension, got an empty (3, 0).",
    ),
    (
        lambda: _checks.same_shape(Z, torch.zeros(4, 2)),
        "Expected z1 and z2 of the same shape, got (3, 2) and (4, 2); row i of both must belong together.",
    ),
    (
        lambda: _checks.same_shape(Z, torch.zeros(3), ("image", "text")),
        "Expected text of shape (samples, dimensions), got (3,); flatten or stack them.",
    ),
    (
        lambda: _checks.finite(torch.tensor([[0.0, 1.0], [math.nan, math.inf]])),
        "Expected finite features, got nan at [1, 0] and 2 such values in all; look for a diverged model or a division "
        "by zero.",
    ),
    (
        lambda: _checks.finite(torch.tensor([0.0, -math.inf]), "z"),
        "Expected finite z, got -inf at [1] and 1 such values in all; look for a diverged model or a division by zero.",
    ),
    (
        lambda: _checks.non_negative(torch.tensor([[0.5, -0.3125]])),
        "Expected non-negative features, got a minimum of -0.312; apply nonneg.rep_relu first.",
    ),
    (
        lambda: _checks.labels(torch.tensor([0, 1]), 3),
        "Expected 3 labels, one a sample, got shape (2,).",
    ),
    (
        lambda: _checks.labels(torch.zeros(3, 1, dtype=torch.int64), 3),
        "Expected 3 labels, one a sample, got shape (3, 1).",
    ),
    (
        lambda: _checks.labels(torch.zeros(3), 3),
        "Expected labels of an integer type, got float32; number the classes from 0.",
    ),
    (
        lambda: _checks.labels(torch.zeros(3, dtype=torch.complex64), 3),
        "Expected labels of an integer type, got complex64; number the classes from 0.",
    ),
    (
        lambda: _checks.labels(torch.tensor([True, False, True]), 3),
        "Expected labels of an integer type, got bool; number the classes from 0.",
    ),
    (
        lambda: _checks.labels(torch.tensor([0, -1, 2]), 3),
        "Expected labels of at least 0, got -1; number the classes from 0.",
    ),
    (
        lambda: _checks.labels_below(torch.tensor([0, 3]), 3),
        "Expected labels below 3, the number of classes, got 3; raise num_classes to 4 or number the classes from 0.",
    ),
    (
        lambda: _checks.at_least_two(1),
        "Expected at least 2 samples, got 1; a contrast needs a negative.",
    ),
    *[
        (
            lambda value=value: _checks.temperature(value),
            f"Expected a temperature above 0, got {value}; 0.2 is usual for features, 0.07 for pairs.",
        )
        for value in (0, 0.0, -0.5, math.nan, math.inf)
    ],
    (lambda: _checks.tile(0), "Expected tile of at least 1, or None to have it chosen, got 0."),
    (lambda: _checks.positive(0, "chunk_size"), "Expected chunk_size of at least 1, got 0."),
    (
        lambda: _checks.width(Z, 5),
        "Expected features of 5 dimensions, got 2; both must come from the same model.",
    ),
    (
        lambda: _checks.some_positive(0),
        "Expected at least two rows with the same label, got none; no row has a positive.",
    ),
    (lambda: _checks.neighbours(0, 9), "Expected k between 1 and 9, the number of other samples, got 0."),
    (lambda: _checks.neighbours(10, 9), "Expected k between 1 and 9, the number of other samples, got 10."),
    (lambda: _checks.dimensions(5, 4), "Expected k between 1 and 4, the number of dimensions, got 5."),
    (
        lambda: _checks.some_alive(0),
        "Expected at least one alive dimension, got none: every feature of every sample is zero (collapse); train with "
        "nonneg.rep_relu or a lower learning rate.",
    ),
    (
        lambda: _checks.choice("men", ("mean", "sum"), "reduction"),
        "Expected reduction to be one of mean, sum, got 'men'.",
    ),
]

ACCEPTED = [
    lambda: _checks.float_matrix(torch.zeros(1, 1, dtype=torch.float16)),
    lambda: _checks.same_shape(Z, Z.bfloat16()),
    lambda: _checks.finite(torch.tensor([torch.finfo(torch.float32).max, -torch.finfo(torch.float32).max, 1e-45])),
    lambda: _checks.non_negative(torch.tensor([[0.0, -0.0]])),
    lambda: _checks.labels(torch.tensor([0, 5, 5]), 3),
    lambda: _checks.labels(torch.tensor([0, 255, 5], dtype=torch.uint8), 3),
    lambda: _checks.labels_below(torch.tensor([0, 2]), 3),
    lambda: _checks.at_least_two(2),
    lambda: _checks.temperature(1e-9),
    lambda: _checks.tile(None),
    lambda: _checks.tile(1),
    lambda: _checks.positive(1, "chunk_size"),
    lambda: _checks.width(Z, 2),
    lambda: _checks.some_positive(1),
    lambda: _checks.neighbours(9, 9),
    lambda: _checks.neighbours(1, 9),
    lambda: _checks.dimensions(4, 4),
    lambda: _checks.some_alive(1),
    lambda: _checks.choice("sum", ("mean", "sum"), "reduction"),
]


@pytest.mark.parametrize(("check", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_a_refusal_says_what_was_expected_what_came_and_the_way_out(check, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check()


@pytest.mark.parametrize("check", ACCEPTED)
def test_the_bound_itself_passes(check):
    check()
