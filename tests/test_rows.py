"""Rows of unit length, bounded and in full precision: values, gradients, extremes."""

import pytest
import torch
from torch.autograd import gradcheck

from nonneg import _rows
from tests.losses.every_loss import assert_equal, value_and_gradients


def rows(dtype=torch.float64):
    z = torch.randn(5, 4, dtype=torch.float64).to(dtype)
    z[2] = 0
    return z


def test_unit_rows_have_the_value_and_gradient_of_z_over_its_norm():
    z = rows()

    def formula(z):
        return torch.stack([3 * row / row.norm() if row.any() else 0 * row for row in z])

    assert_equal(value_and_gradients(lambda z: _rows.unit_rows(z, 3.0), z), value_and_gradients(formula, z))


def test_unit_rows_pass_gradcheck():
    assert gradcheck(lambda z: _rows.unit_rows(z, 0.5), rows()[:2].requires_grad_())


@pytest.mark.parametrize("scale", [1e-30, 1e-11, 1.0, 1e30, 3e38])
def test_the_direction_of_a_row_survives_any_length_that_is_not_zero(scale):
    z = torch.tensor([[0.6, -0.8, 0.0]]) * torch.tensor(scale)
    expected = torch.tensor([[0.6, -0.8, 0.0]]) if scale > 1e-12 else torch.zeros(1, 3)  # too short is zero
    torch.testing.assert_close(_rows.unit_rows(z), expected)


def test_the_gradient_of_a_row_too_short_to_have_a_direction_is_zero():
    _, gradient = value_and_gradients(_rows.unit_rows, torch.tensor([[0.0, 0.0], [1e-13, 0.0], [0.6, 0.8]]))
    assert not gradient[:2].any()
    assert gradient[2].any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bounded_leaves_all_of_float16_and_no_fourth_power_overflows(dtype):
    largest = torch.finfo(dtype).max
    z = torch.tensor([[-largest, -65504.0, 0.0, 1e-30, 65504.0, largest]], dtype=dtype)
    bounded = _rows.bounded(z)
    assert torch.equal(bounded[:, 1:-1], z[:, 1:-1])
    assert (bounded.abs() >= 65504).sum() == 4
    assert (1e15 * bounded**4).isfinite().all()


def test_full_precision_is_float32_of_halves_and_leaves_the_rest():
    for dtype in (torch.float16, torch.bfloat16):
        z = rows(dtype)
        value, gradient = value_and_gradients(_rows.full_precision, z)
        assert value.dtype == torch.float32
        assert torch.equal(value, z.float())
        assert torch.equal(gradient, torch.linspace(1, 2, z.numel()).reshape(z.shape).to(dtype))
    for dtype in (torch.float32, torch.float64):
        z = rows(dtype)
        assert _rows.full_precision(z) is z


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_gradient_beyond_half_precision_comes_back_as_its_end_and_nan_as_nan(dtype):
    z = torch.zeros(4, dtype=dtype, requires_grad=True)
    largest = torch.finfo(dtype).max
    _rows.full_precision(z).backward(torch.tensor([3.4e38, -torch.inf, torch.nan, 2.0]))
    torch.testing.assert_close(z.grad, torch.tensor([largest, -largest, torch.nan, 2.0], dtype=dtype), equal_nan=True)


@pytest.mark.parametrize("backward", [True, False], ids=["backward inside", "backward outside"])
def test_products_keep_their_precision_under_autocast(backward):
    x, y = torch.randn(6, 5), torch.randn(6, 5)
    weights = torch.randn(6, 6)
    for function, formula in (
        (lambda x, y: _rows.product(x, y.T) * weights, lambda x, y: x @ y.T * weights),
        (_rows.dot_rows, lambda x, y: torch.stack([a @ b for a, b in zip(x, y, strict=True)])),
    ):
        expected = value_and_gradients(formula, x, y)
        with torch.autocast("cpu", torch.bfloat16):
            leaves = [z.clone().requires_grad_() for z in (x, y)]
            value = function(*leaves)
        incoming = torch.linspace(1, 2, value.numel()).reshape(value.shape)
        with torch.autocast("cpu", torch.bfloat16, enabled=backward):
            gradients = torch.autograd.grad(value, leaves, incoming)
        assert_equal((value.detach(), *gradients), expected, 1e-5)


def test_product_passes_gradcheck():
    x, y = (torch.randn(4, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert gradcheck(lambda x, y: _rows.product(x, y.T), (x, y))


def test_infinity_is_not_hidden_by_the_bound():
    z = torch.tensor([[torch.inf, -torch.inf, 1e30, torch.nan]])
    assert torch.isnan(_rows.bounded(z)).tolist() == [[True, True, False, True]]
