"""Mean, sum and none of every loss: one and the same loss a row, with an exact gradient in each."""

import pytest
import torch
from torch.autograd import gradcheck

from tests.losses.every_loss import CASES, assert_equal, batch, value_and_gradients

WITH_PARAMETERS = [name for name, case in CASES.items() if list(case.make().parameters())]


@pytest.mark.parametrize("name", CASES)
def test_the_rows_and_any_weighting_of_them_are_those_of_the_formula(name):
    case = CASES[name]
    arguments = case.arguments(*batch(8))
    loss = case.make(reduction="none")
    actual = value_and_gradients(loss, *arguments)
    assert_equal(actual, value_and_gradients(lambda *z: case.rows(loss, *z), *arguments))


@pytest.mark.parametrize("name", CASES)
def test_mean_and_sum_are_those_of_the_rows(name):
    case = CASES[name]
    arguments = case.arguments(*batch(8))
    rows = case.make(reduction="none")
    for reduction in ("mean", "sum"):
        actual = value_and_gradients(case.make(reduction=reduction), *arguments)
        assert actual[0].shape == ()
        assert_equal(actual, value_and_gradients(lambda *z, how=reduction: getattr(rows(*z), how)(), *arguments))


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_the_parameters_have_the_gradient_of_the_formula(name):
    case = CASES[name]
    arguments = case.arguments(*batch(8))
    loss, reference = case.make().double(), case.make().double()
    loss(*arguments).backward()
    case.rows(reference, *arguments).mean().backward()
    for parameter, expected in zip(loss.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, expected.grad, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", CASES)
def test_the_gradient_passes_gradcheck(name, reduction):
    case = CASES[name]
    loss = case.make(reduction=reduction)
    leaves = [x.requires_grad_() if x.is_floating_point() else x for x in case.arguments(*batch(4))]
    assert gradcheck(loss, leaves)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.labelled])
def test_only_one_side_may_ask_for_a_gradient(name):
    case = CASES[name]
    z1, z2, _ = batch(5)
    _, first, second = value_and_gradients(case.make(), z1, z2)
    assert_equal(value_and_gradients(lambda z: case.make()(z, z2), z1)[1:], (first,))
    assert_equal(value_and_gradients(lambda z: case.make()(z1, z), z2)[1:], (second,))


@pytest.mark.parametrize("name", CASES)
def test_the_input_is_left_as_it_was(name):
    case = CASES[name]
    arguments = case.arguments(*batch(5))
    copies = [x.clone() for x in arguments]
    value_and_gradients(case.make(), *arguments)
    assert all(torch.equal(x, copy) for x, copy in zip(arguments, copies, strict=True))
