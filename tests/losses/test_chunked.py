"""Chunked encoders: the gradient of the whole batch for the memory of a chunk."""

import copy

import pytest
import torch
from torch import nn

from nonneg.losses import ClipLoss, InfoNCE, Spectral, chunked
from tests.alive import Alive

SIZES = [1, 3, 4, 10, 100]  # of 10 samples


def encoder(*between, d=6):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(5, d), *between, nn.ReLU(), nn.Linear(d, 4)).double()


def samples(n=10):
    return torch.randn(n, 5, dtype=torch.float64)


def by_hand(model, size):
    """The chunks one after the other, keeping everything."""
    return lambda x: torch.cat([model(part) for part in torch.split(x, size)])


def gradients(loss, model, encode, *views):
    """The loss of views that go through `encode`, and the gradients of the model's parameters and of the views."""
    views = [x.clone().requires_grad_() for x in views]
    model.zero_grad()
    value = loss(*(encode(x) for x in views))
    value.backward()
    return value.detach(), *(p.grad for p in model.parameters()), *(x.grad for x in views)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("loss", [InfoNCE(), Spectral(), ClipLoss(learnable=False)], ids=repr)
def test_the_gradient_is_that_of_the_whole_batch(loss, size):
    model = encoder()
    views = samples(), samples()
    actual = gradients(loss, model, chunked(model, size), *views)
    torch.testing.assert_close(actual, gradients(loss, model, model, *views), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("size", SIZES)
def test_so_it_is_with_batch_norm_in_evaluation(size):
    model = encoder(nn.BatchNorm1d(6))
    by_hand(model, 5)(samples())
    model.eval()
    views = samples(), samples()
    actual = gradients(InfoNCE(), model, chunked(model, size), *views)
    torch.testing.assert_close(actual, gradients(InfoNCE(), model, model, *views), rtol=1e-10, atol=1e-10)


def test_views_that_ask_for_no_gradient_train_the_encoder_all_the_same():
    model, expected = encoder(), encoder()
    x1, x2 = samples(), samples()
    InfoNCE()(*(chunked(model, 3)(x) for x in (x1, x2))).backward()
    InfoNCE()(expected(x1), expected(x2)).backward()
    for p, q in zip(model.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("size", [1, 4, 10])
def test_two_encoders_both_get_the_gradient_of_the_whole_batch(size):
    image, text = encoder(), encoder(d=3)
    models = nn.ModuleList([image, text])
    loss = ClipLoss().double()

    def run(image_encoder, text_encoder, x, y):
        models.zero_grad()
        loss.zero_grad()
        loss(image_encoder(x), text_encoder(y)).backward()
        return tuple(p.grad for p in [*models.parameters(), *loss.parameters()])

    x, y = samples(), samples()
    actual = run(chunked(image, size), chunked(text, size), x, y)
    torch.testing.assert_close(actual, run(image, text, x, y), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("size", SIZES)
def test_dropout_is_that_of_the_chunks_one_after_the_other(size):
    model = encoder(nn.Dropout(0.5))
    views = samples(), samples()
    torch.manual_seed(5)
    actual = gradients(InfoNCE(), model, chunked(model, size), *views)
    after = torch.rand(3)
    torch.manual_seed(5)
    expected = gradients(InfoNCE(), model, by_hand(model, size), *views)
    torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-10)
    assert torch.equal(after, torch.rand(3))  # the second pass leaves the random state where the first one left it


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("given", [lambda model: model, lambda model: model.forward], ids=["module", "method"])
def test_batch_norm_in_training_counts_each_chunk_once(given, affine, momentum):
    model = encoder(nn.BatchNorm1d(6, affine=affine, momentum=momentum))
    expected = copy.deepcopy(model)
    views = samples(), samples()
    actual = gradients(InfoNCE(), model, chunked(given(model), 4), *views)
    torch.testing.assert_close(
        actual, gradients(InfoNCE(), expected, by_hand(expected, 4), *views), rtol=1e-10, atol=1e-10
    )
    norm, norm_expected = model[1], expected[1]
    assert norm.num_batches_tracked == norm_expected.num_batches_tracked == 6
    torch.testing.assert_close(norm.running_mean, norm_expected.running_mean, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(norm.running_var, norm_expected.running_var, rtol=1e-12, atol=1e-12)
    assert norm.momentum == momentum
    assert "1.num_batches_tracked" in model.state_dict()


def test_batch_norm_without_statistics_works_too():
    model = encoder(nn.BatchNorm1d(6, track_running_stats=False))
    views = samples(), samples()
    actual = gradients(InfoNCE(), model, chunked(model, 4), *views)
    torch.testing.assert_close(actual, gradients(InfoNCE(), model, by_hand(model, 4), *views), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "wrap", [lambda model: model.forward, lambda model: lambda x: model(x)], ids=["method", "lambda"]
)
def test_an_encoder_that_is_a_function_gets_the_gradient_too(wrap):
    model = encoder(nn.Dropout(0.3))
    views = samples(), samples()
    torch.manual_seed(5)
    actual = gradients(InfoNCE(), model, chunked(wrap(model), 4), *views)
    torch.manual_seed(5)
    expected = gradients(InfoNCE(), model, by_hand(model, 4), *views)
    torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-10)


# Memory


def test_activations_of_one_chunk_are_alive_at_once():
    n, width, size, layers = 32, 100, 4, 4
    hidden = [m for _ in range(layers - 1) for m in (nn.Linear(width, width), nn.GELU())]
    model = nn.Sequential(nn.Linear(5, width), nn.GELU(), *hidden, nn.Linear(width, 4))
    model.requires_grad_(False)  # the gradients of the weights are as large either way
    views = [torch.randn(n, 5).requires_grad_() for _ in range(2)]
    peaks = {}
    for name, encode in {"chunked": chunked(model, size), "plain": model}.items():
        with Alive() as alive:
            InfoNCE()(*(encode(x) for x in views)).backward()
        peaks[name] = alive.peak
    activations = 4 * layers * width  # bytes of a sample that GELU keeps
    small = 4 * (10 * 2 * n * 5 + 2 * (2 * n) ** 2)  # the samples, the features, the similarities
    bound = 2 * size * activations + small
    assert peaks["chunked"] <= bound
    assert peaks["plain"] >= 2 * n * activations > 1.5 * bound


# Autocast


@pytest.mark.parametrize("inside", [True, False], ids=["backward inside", "backward outside"])
def test_under_autocast_the_second_pass_makes_the_values_of_the_first(inside):
    model = encoder().float()
    made = []
    model[0].register_forward_hook(lambda module, inputs, output: made.append(output.detach()))
    encode = chunked(model, 4)
    x1, x2 = samples().float(), samples().float()
    with torch.autocast("cpu", torch.bfloat16):
        value = InfoNCE()(encode(x1), encode(x2))
        if inside:
            value.backward()
    if not inside:
        value.backward()
    first, second = made[:6], made[6:]
    assert {x.dtype for x in made} == {torch.bfloat16}
    for output in second:
        assert sum(torch.equal(output, other) for other in first) == 1
    assert len(first) == len(second) == 6

    actual = [p.grad for p in model.parameters()]
    model.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        value = InfoNCE()(*(by_hand(model, 4)(x) for x in (x1, x2)))
        if inside:
            value.backward()
    if not inside:
        value.backward()
    torch.testing.assert_close(actual, [p.grad for p in model.parameters()], rtol=2e-2, atol=1e-3)


def test_without_gradients_it_is_the_encoder():
    model, x = encoder(), samples()
    with torch.no_grad():
        torch.testing.assert_close(chunked(model, 3)(x), model(x))
