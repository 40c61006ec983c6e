"""In half precision and under autocast every loss is that of float64, and finite for any finite input."""

import pytest
import torch

from nonneg.losses import InfoNCE, Spectral
from tests.losses.every_loss import CASES, D, batch, value_and_gradients

HALF = [torch.float16, torch.bfloat16]
N = 8


def extreme(dtype):
    """Batches (2N, D) that a model in trouble may put out, by name."""
    largest, smallest = torch.finfo(dtype).max, torch.finfo(dtype).smallest_normal
    signs = torch.randn(2 * N, D).sign()
    some_zero = torch.randn(2 * N, D)
    some_zero[[0, 3, N, N + 1]] = 0
    mixed = torch.randn(2 * N, D)
    mixed[0], mixed[1], mixed[2], mixed[3] = 0, largest, signs[2] * smallest / 8, signs[3] * largest
    mixed[N + 1, 2], mixed[N + 2, 4] = largest, smallest / 4
    return {
        "some rows zero": some_zero,
        "all rows zero": torch.zeros(2 * N, D),
        "largest": torch.full((2 * N, D), largest),
        "largest, signed": signs * largest,
        "up to the largest": (torch.rand(2 * N, D) * 2 - 1) * largest,
        "subnormal": signs * smallest / 8,
        "down to the smallest": torch.rand(2 * N, D) * smallest / 4,
        "mixed": mixed,
    }


# which blocks are under autocast: (forward, backward)
WAYS = {"no autocast": (False, False), "backward outside": (True, False), "backward inside": (True, True)}
ways = pytest.mark.parametrize(("forward", "backward"), WAYS.values(), ids=WAYS)


def run(loss, arguments, dtype=torch.bfloat16, forward=False, backward=False):
    """The loss and its gradients with regard to its inputs and its parameters."""
    leaves = [x.detach().clone().requires_grad_() if x.is_floating_point() else x for x in arguments]
    with torch.autocast("cpu", dtype, enabled=forward):
        value = loss(*leaves)
    with torch.autocast("cpu", dtype, enabled=backward):
        value.backward()
    return value.detach(), [x.grad for x in [*leaves, *loss.parameters()] if x.requires_grad]


@ways
@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", CASES)
def test_value_and_gradients_are_finite_for_any_finite_input(name, dtype, forward, backward):
    case = CASES[name]
    for kind, z in extreme(dtype).items():
        for of in (dtype, torch.float32):  # autocast hands on float32 too, after a norm for example
            arguments = case.arguments(*z.to(dtype).to(of).chunk(2), torch.arange(N) // 2)
            value, gradients = run(case.make(), arguments, dtype, forward, backward)
            assert value.isfinite(), kind
            assert all(g.isfinite().all() for g in gradients), kind


@ways
@pytest.mark.parametrize("of", [*HALF, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", CASES)
def test_nothing_is_lost_but_what_the_input_has_lost(name, dtype, of, forward, backward):
    case = CASES[name]
    arguments = case.arguments(*(x.to(of) if x.is_floating_point() else x for x in batch(N)))
    value, gradients = run(case.make(), arguments, dtype, forward, backward)
    assert value.dtype == (of if of == torch.float64 else torch.float32)

    exact = case.make().double()
    expected, exactly = run(exact, [x.double() if x.is_floating_point() else x for x in arguments])
    torch.testing.assert_close(value.double(), expected, rtol=2e-6, atol=2e-6)
    for gradient, e in zip(gradients, exactly, strict=True):
        accuracy = 2 * torch.finfo(gradient.dtype).eps if gradient.dtype in HALF else 2e-5
        torch.testing.assert_close(gradient.double(), e, rtol=accuracy, atol=accuracy * float(e.abs().max()))


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", CASES)
def test_a_loss_whose_parameters_are_in_half_precision_is_the_same(name, dtype):
    case = CASES[name]
    arguments = case.arguments(*(x.to(dtype) if x.is_floating_point() else x for x in batch(N)))
    value, gradients = run(case.make().to(dtype), arguments)
    exact = case.make().to(dtype).double()
    expected, exactly = run(exact, [x.double() if x.is_floating_point() else x for x in arguments])
    torch.testing.assert_close(value.double(), expected, rtol=2e-6, atol=2e-6)
    for gradient, e in zip(gradients, exactly, strict=True):
        accuracy = 2 * torch.finfo(dtype).eps
        torch.testing.assert_close(gradient.double(), e, rtol=accuracy, atol=accuracy * float(e.abs().max()))


def test_a_gradient_beyond_float16_comes_back_as_its_largest():
    z1, z2, _ = batch(N)
    for loss, scale in ((InfoNCE(0.01), 1e-6), (Spectral(), 1e3)):
        halves = [(scale * z).half() for z in (z1, z2)]
        exact = value_and_gradients(loss, *(z.double() for z in halves))
        largest = torch.finfo(torch.float16).max
        beyond = torch.stack(exact[1:]).abs() > largest
        assert beyond.any()
        actual = torch.stack(value_and_gradients(loss, *halves)[1:])
        assert torch.equal(actual[beyond], torch.stack(exact[1:])[beyond].sign().half() * largest)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_fourth_powers_of_many_large_features_are_summed_without_overflow(dtype):
    z = torch.full((1024, 256), torch.finfo(dtype).max, dtype=dtype).requires_grad_()
    value = Spectral()(*z.chunk(2))
    value.backward()
    assert value.isfinite()
    assert z.grad.isfinite().all()
