"""Expected activation against its definition, and what selection gives and refuses."""

import numpy as np
import pytest
import torch

from nonneg import selection
from tests.metrics.features import sparse
from tests.references.metrics import unit_rows


def test_expected_activation_is_the_mean_of_unit_rows():
    z, _ = sparse()
    np.testing.assert_allclose(selection.expected_activation(z), unit_rows(z).mean(0), rtol=1e-12)


def test_selection_is_by_expected_activation_most_first():
    z, _ = sparse()
    expected = np.argsort(-unit_rows(z).mean(0))
    assert selection.select(z, 5).tolist() == expected[:5].tolist()
    assert sorted(selection.select(z, 12).tolist()) == list(range(12))


def test_scale_of_rows_and_order_of_samples_are_nothing():
    z, _ = sparse()
    scaled = (z * np.linspace(0.1, 9, len(z))[:, None])[::-1].copy()
    np.testing.assert_allclose(selection.expected_activation(scaled), selection.expected_activation(z))


def test_order_of_columns_moves_with_them():
    z, _ = sparse()
    columns = np.random.default_rng(0).permutation(12)
    assert columns[selection.select(z[:, columns], 4)].tolist() == selection.select(z, 4).tolist()


def test_negative_features_are_refused_unless_meant():
    z = torch.tensor([[-0.31, 1.0], [0.2, 0.1]])
    with pytest.raises(ValueError, match=r"non-negative features, got a minimum of -0.31; apply nonneg.rep_relu first"):
        selection.select(z, 1)
    expected = unit_rows(z.numpy()).mean(0)
    np.testing.assert_allclose(selection.expected_activation(z, allow_negative=True), expected, rtol=1e-6)


@pytest.mark.parametrize("m", [0, 13])
def test_more_dimensions_than_there_are(m):
    with pytest.raises(ValueError, match=f"Expected m between 1 and 12, the number of dimensions, got {m}"):
        selection.select(sparse()[0], m)
