"""NonNegCrossEntropy against its slow reference, its two kinds of weights, and its limits."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from nonneg import activations
from nonneg.losses import NonNegCrossEntropy
from tests.losses.every_loss import assert_equal, quick, value_and_gradients
from tests.references import activations as formulas
from tests.references import losses as slow


def make(d, classes, **how):
    loss = NonNegCrossEntropy(d, classes, **how).double()
    with torch.no_grad():
        loss.weight.normal_()
    return loss


def value_and_all_gradients(loss, f, y):
    """The loss and its gradients with regard to the features and the weights."""
    return value_and_gradients(
        lambda f, w: torch.func.functional_call(loss, {"weight": w}, (f, y)), f, loss.weight.detach()
    )


@pytest.mark.parametrize("weights", ["free", "non-negative"])
@pytest.mark.parametrize("activation", activations.names())
@pytest.mark.parametrize(("n", "d", "classes"), [(2, 1, 2), (7, 5, 3)])
def test_value_and_gradients_are_those_of_the_formula(n, d, classes, activation, weights):
    f, y = torch.randn(n, d, dtype=torch.float64), torch.arange(n) % classes
    loss = make(d, classes, activation=activation, weights=weights, reduction="none")

    def formula(f, w):
        w_plus = formulas.rep_relu(w) if weights == "non-negative" else w
        return slow.non_neg_cross_entropy(formulas.FORMULAS[activation](f), y, w_plus)

    expected = value_and_gradients(formula, f, loss.weight.detach())
    assert_equal(value_and_all_gradients(loss, f, y), expected)


def test_non_negative_weights_that_are_off_still_learn():
    loss = make(3, 2, weights="non-negative")
    with torch.no_grad():
        loss.weight.fill_(-0.5)
    f = torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]], dtype=torch.float64)
    loss(f, torch.tensor([0, 1])).backward()
    # (p − 1) = ∓½ a row, the mean of two, times GELU's derivative at −½
    expected = torch.tensor([[-1.0, -1.0, 1.0], [1.0, 1.0, -1.0]], dtype=torch.float64) / 4
    expected *= formulas.gelu_derivative(torch.tensor(-0.5, dtype=torch.float64))
    torch.testing.assert_close(loss.weight.grad, expected)


def test_logits_are_what_the_loss_is_the_cross_entropy_of():
    f, y = torch.randn(7, 5, dtype=torch.float64), torch.arange(7) % 3
    for weights, w_plus in (("free", lambda w: w), ("non-negative", torch.relu)):
        loss = make(5, 3, weights=weights)
        torch.testing.assert_close(loss.logits(f), torch.relu(f) @ w_plus(loss.weight).T)
        torch.testing.assert_close(loss(f, y), F.cross_entropy(loss.logits(f), y))


@pytest.mark.parametrize(("weights", "lowest"), [("free", -0.05), ("non-negative", 0.0)])
def test_new_weights_are_spread_over_their_range(weights, lowest):
    weight = NonNegCrossEntropy(400, 30, weights=weights).weight
    assert lowest <= weight.min() < lowest + 0.001
    assert 0.049 < weight.max() <= 0.05
    assert weight.mean().item() == pytest.approx((lowest + 0.05) / 2, abs=0.002)


@quick
@given(st.integers(2, 6), st.integers(1, 7), st.integers(2, 5), st.randoms(use_true_random=False))
def test_the_order_of_columns_samples_and_classes_does_not_matter(n, d, classes, random):
    torch.manual_seed(random.randrange(2**32))
    columns, samples, renamed = (torch.tensor(random.sample(range(k), k)) for k in (d, n, classes))
    f, y = torch.randn(n, d, dtype=torch.float64), torch.randint(classes, (n,))
    loss, moved = make(d, classes), make(d, classes)
    value, of_f, of_w = value_and_all_gradients(loss, f, y)
    with torch.no_grad():
        moved.weight[renamed] = loss.weight[:, columns]
    actual = value_and_all_gradients(moved, f[samples][:, columns], renamed[y][samples])
    expected_of_w = torch.empty_like(of_w)
    expected_of_w[renamed] = of_w[:, columns]
    assert_equal(actual, (value, of_f[samples][:, columns], expected_of_w))


@quick
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 10))
def test_longer_features_are_as_good_as_longer_weights(seed, scale):
    torch.manual_seed(seed)
    f, y = torch.randn(5, 4, dtype=torch.float64), torch.arange(5) % 3
    loss, longer = make(4, 3, activation="relu"), make(4, 3, activation="relu")
    with torch.no_grad():
        longer.weight.copy_(scale * loss.weight)
    assert_equal((longer(f, y),), (loss(scale * f, y),))


def test_a_dimension_that_is_off_gives_its_weights_no_gradient():
    f, y = torch.rand(5, 4, dtype=torch.float64) + 0.1, torch.arange(5) % 3
    f[:, 2] = -1
    _, of_f, of_w = value_and_all_gradients(make(4, 3), f, y)
    assert not of_w[:, 2].any()
    assert of_w[:, [0, 1, 3]].all()
    assert of_f[:, 2].all()  # rep_relu: it learns all the same


@pytest.mark.parametrize("classes", [1, 3, 10])
def test_features_that_are_all_off_cost_the_logarithm_of_the_number_of_classes(classes):
    f, y = -torch.rand(4, 6, dtype=torch.float64), torch.zeros(4, dtype=torch.int64)
    assert make(6, classes)(f, y).item() == pytest.approx(math.log(classes), abs=1e-12)


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_classes_on_axes_of_their_own_cost_what_the_closed_form_says(scale):
    loss = make(4, 4)
    with torch.no_grad():
        loss.weight.copy_(torch.eye(4))
    value = loss(scale * torch.eye(4, dtype=torch.float64), torch.arange(4))
    assert value.item() == pytest.approx(math.log1p(3 * math.exp(-scale)), rel=1e-12)


def test_it_says_how_it_is_set():
    said = repr(NonNegCrossEntropy(4, 3, activation="exp", weights="non-negative"))
    assert "num_features=4, num_classes=3, weights='non-negative'" in said
    assert "NonNegative('exp')" in said
