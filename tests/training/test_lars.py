"""LARS against a loop in plain Python, and what its formula says of scales."""

import io

import pytest
import torch
from torch import nn

from nonneg.training.lars import LARS
from tests.references import lars as reference

SHAPES = ((4, 3), (3,), (2, 3, 2, 2), (1,), (), (1, 1), (5, 2))


def parameters(seed=0, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return [nn.Parameter(scale * torch.randn(s, generator=generator, dtype=torch.float64)) for s in SHAPES]


def gradients_of(step, zero=()):
    generator = torch.Generator().manual_seed(100 + step)
    made = [torch.randn(s, generator=generator, dtype=torch.float64) * 10 ** (step % 3 - 1) for s in SHAPES]
    return [g * 0 if i in zero else g for i, g in enumerate(made)]


@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("eta", [0.02, 0.5])
@pytest.mark.parametrize("zero", ["nothing", "weights", "gradients", "both"])
def test_steps_are_those_of_the_formulas(clip, momentum, weight_decay, eta, zero):
    ours = parameters()
    if zero in ("weights", "both"):
        with torch.no_grad():
            ours[0].zero_()
            ours[1].zero_()
    without_gradient = (0, 1, 2) if zero in ("gradients", "both") else ()
    optimiser = LARS(ours, 0.3, momentum, weight_decay, eta, clip)
    expected = [(p.flatten().tolist(), [0.0] * p.numel()) for p in ours]
    for number in range(5):
        lr = (0.3, 0.05, 2.0, 0.01, 0.3)[number]
        optimiser.param_groups[0]["lr"] = lr
        given = gradients_of(number, without_gradient)
        for p, gradient in zip(ours, given, strict=True):
            p.grad = gradient.clone()
        optimiser.step()
        expected = [
            reference.step(w, g.flatten().tolist(), v, g.ndim < 2, lr, momentum, weight_decay, eta, clip)
            for (w, v), g in zip(expected, given, strict=True)
        ]
        for p, gradient, (w, _) in zip(ours, given, expected, strict=True):
            torch.testing.assert_close(p.detach().flatten(), torch.tensor(w, dtype=torch.float64), rtol=1e-9, atol=0)
            assert torch.equal(p.grad, gradient)  # who looks at gradients after a step sees what there was


def one_step(weights, gradients, **how):
    """How far each parameter went."""
    ours = [nn.Parameter(w.detach().clone()) for w in weights]
    for p, gradient in zip(ours, gradients, strict=True):
        p.grad = gradient.clone()
    LARS(ours, **how).step()
    return [p.detach() - w.detach() for p, w in zip(ours, weights, strict=True)]


MATRICES = [i for i, shape in enumerate(SHAPES) if len(shape) > 1]
VECTORS = [i for i, shape in enumerate(SHAPES) if len(shape) < 2]


def test_the_scale_of_gradients_doesnt_matter_without_decay_and_clip_but_to_vectors():
    w, g = parameters(), gradients_of(0)
    how = {"lr": 0.3, "weight_decay": 0.0, "clip": False}
    one, other = one_step(w, g, **how), one_step(w, [1000 * x for x in g], **how)
    for i in MATRICES:
        torch.testing.assert_close(one[i], other[i])
        torch.testing.assert_close(one[i].norm(), 0.3 * 0.02 * w[i].detach().norm())
    for i in VECTORS:
        torch.testing.assert_close(1000 * one[i], other[i])


@pytest.mark.parametrize("clip", [True, False])
def test_weights_and_gradients_that_are_both_larger_take_a_step_as_much_larger(clip):
    w, g = parameters(), gradients_of(0)
    one = one_step(w, g, lr=0.3, weight_decay=0.01, clip=clip)
    other = one_step([7 * x for x in w], [7 * x for x in g], lr=0.3, weight_decay=0.01, clip=clip)
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(7 * a, b)


def test_no_clipped_step_is_longer_than_sgds_and_small_rates_stay_as_they_are():
    w, g = parameters(), gradients_of(0)
    tiny = [1e-6 * x for x in g]  # λ / lr is far above 1
    for step, gradient in zip(one_step(w, tiny, lr=0.3, weight_decay=0.0), tiny, strict=True):
        torch.testing.assert_close(step, -0.3 * gradient)
    # lr·λ/lr = λ where it is below 1, whatever lr is
    for i in MATRICES:
        slow, fast = (one_step(w, [100 * x for x in g], lr=lr, weight_decay=0.0)[i] for lr in (0.1, 1.0))
        torch.testing.assert_close(slow, fast)
        torch.testing.assert_close(slow.norm(), 0.02 * w[i].detach().norm())


def test_a_parameter_without_a_gradient_stays_and_has_no_velocity():
    ours = parameters()
    before = [p.detach().clone() for p in ours]
    optimiser = LARS(ours, 0.3)
    ours[0].grad = torch.ones_like(ours[0])
    optimiser.step()
    assert not torch.equal(ours[0], before[0])
    for p, old in zip(ours[1:], before[1:], strict=True):
        assert torch.equal(p, old)
    assert list(optimiser.state) == [ours[0]]
    LARS([nn.Parameter(torch.ones(2, 2))], 0.3).step()  # none at all has one


def test_a_closure_gives_the_loss():
    w = nn.Parameter(torch.ones(2, 2))
    optimiser = LARS([w], 0.1)

    def closure():
        optimiser.zero_grad()
        loss = (w**2).sum()
        loss.backward()
        return loss

    assert optimiser.step(closure) == 4
    assert (w < 1).all()


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_a_saved_state_goes_on_bit_for_bit_in_either_layout(layout):
    def begun():
        kernel = nn.Parameter(torch.randn(3, 2, 4, 4, generator=torch.Generator().manual_seed(0)))
        kernel.data = kernel.data.to(memory_format=layout)
        return kernel, LARS([kernel], 0.3, weight_decay=0.01)

    def steps(kernel, optimiser, numbers):
        for number in numbers:
            noise = torch.randn(3, 2, 4, 4, generator=torch.Generator().manual_seed(number))
            kernel.grad = noise.to(memory_format=layout)
            optimiser.step()

    whole, its = begun()
    steps(whole, its, range(6))
    first, its_first = begun()
    steps(first, its_first, range(3))
    file = io.BytesIO()
    torch.save({"kernel": first.detach(), "optimiser": its_first.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    second, its_second = begun()
    with torch.no_grad():
        second.copy_(saved["kernel"])
    its_second.load_state_dict(saved["optimiser"])
    assert its_second.state[second]["velocity"].is_contiguous(memory_format=layout)
    steps(second, its_second, range(3, 6))
    assert torch.equal(second, whole)
    # So that the equality says that the state was needed:
    third, its_third = begun()
    with torch.no_grad():
        third.copy_(saved["kernel"])
    steps(third, its_third, range(3, 6))
    assert not torch.equal(third, whole)
