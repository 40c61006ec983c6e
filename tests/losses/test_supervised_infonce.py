"""SupervisedInfoNCE against its slow reference, what lone rows do, and its limits."""

import math

import pytest
import torch
from hypothesis import given

from nonneg.losses import InfoNCE, SupervisedInfoNCE
from tests.losses.every_loss import assert_equal, batch, batches, quick, value_and_gradients
from tests.references import losses as slow

LABELS = {
    "pairs": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
    "uneven classes": [0, 1, 0, 0, 1, 1, 0, 2, 2, 0],
    "one class": [3] * 10,
    "some rows alone": [0, 1, 2, 0, 3, 1, 4, 5, 1, 6],
    "numbers far apart": [0, 10**12, 0, 7, 7, 10**12, 7, 0, 10**12, 7],
}


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("temperature", [0.01, 0.2, 5.0])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_value_and_gradient_are_those_of_the_formula(labels, temperature, normalize):
    z, y = batch(10)[0], torch.tensor(labels)
    actual = value_and_gradients(SupervisedInfoNCE(temperature, normalize, reduction="none"), z, y)
    expected = value_and_gradients(lambda *zy: slow.supervised_infonce(*zy, temperature, normalize), z, y)
    assert_equal(actual, expected)


@pytest.mark.parametrize("d", [1, 2, 30])
@pytest.mark.parametrize("tile", [1, 3, 7, 11, 1000, None])
def test_neither_the_tile_nor_the_width_changes_anything(tile, d):
    z, y = batch(11, d)[0], torch.arange(11) % 3
    actual = value_and_gradients(SupervisedInfoNCE(tile=tile, reduction="none"), z, y)
    assert_equal(actual, value_and_gradients(slow.supervised_infonce, z, y))


@quick
@given(batches)
def test_two_views_labelled_by_sample_are_infonce(zs):
    z1, z2, _ = zs
    y = torch.arange(len(z1))
    value, g = value_and_gradients(SupervisedInfoNCE(), torch.cat([z1, z2]), torch.cat([y, y]))
    assert_equal((value, *g.chunk(2)), value_and_gradients(InfoNCE(), z1, z2))


def test_the_names_of_the_classes_do_not_matter():
    z, y = batch(8)[0], torch.tensor([0, 1, 2, 0, 1, 2, 0, 0])
    renamed = torch.tensor([9, 4, 300])[y]
    for of_type in (renamed, renamed.to(torch.int32), renamed.to(torch.int16)):
        assert torch.equal(SupervisedInfoNCE()(z, of_type), SupervisedInfoNCE()(z, y))
    assert torch.equal(SupervisedInfoNCE()(z, y.to(torch.uint8)), SupervisedInfoNCE()(z, y))


def test_a_row_alone_in_its_class_is_a_negative_that_the_mean_leaves_out():
    z, y = batch(7)[0], torch.tensor([0, 1, 0, 2, 1, 3, 0])
    rows = SupervisedInfoNCE(reduction="none")(z, y)
    alone = torch.tensor([3, 5])
    assert not rows[alone].any()
    torch.testing.assert_close(SupervisedInfoNCE()(z, y), rows.sum() / 5)
    assert (SupervisedInfoNCE(reduction="sum")(z, y) - rows.sum()).abs() < 1e-12
    _, gradient = value_and_gradients(SupervisedInfoNCE(), z, y)
    assert gradient[alone].any(dim=1).all()  # as negatives of the others
    without = torch.tensor([0, 1, 2, 4, 6])
    assert SupervisedInfoNCE()(z[without], y[without]) < SupervisedInfoNCE()(z, y)


@pytest.mark.parametrize("n", [2, 9])
def test_rows_that_are_all_the_same_cost_the_logarithm_of_their_number(n):
    z, y = torch.ones(n, 4, dtype=torch.float64), torch.zeros(n, dtype=torch.int64)
    value, gradient = value_and_gradients(SupervisedInfoNCE(), z, y)
    assert value.item() == pytest.approx(math.log(n - 1), abs=1e-12)
    assert_equal((gradient,), (torch.zeros_like(z),), 1e-15)


@pytest.mark.parametrize("temperature", [0.05, 0.2, 5.0])
@pytest.mark.parametrize(("classes", "each"), [(2, 2), (3, 4)])
def test_classes_on_axes_of_their_own_cost_what_the_closed_form_says(classes, each, temperature):
    z, y = torch.eye(classes, dtype=torch.float64).repeat(each, 1), torch.arange(classes).repeat(each)
    others = (classes - 1) * each
    expected = math.log(each - 1 + others * math.exp(-1 / temperature))
    assert SupervisedInfoNCE(temperature)(z, y).item() == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_it_says_how_it_is_set():
    expected = "SupervisedInfoNCE(temperature=0.5, normalize=False, reduction='sum')"
    assert repr(SupervisedInfoNCE(0.5, normalize=False, reduction="sum")) == expected
