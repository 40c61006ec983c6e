"""All of the stored tensors go into the model, or none does and what doesn't fit is named."""

import re

import pytest
import torch
from torch import nn

from nonneg._errors import UserError
from nonneg.models._weights import check, fill


@pytest.fixture
def model():
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))


def other(model):
    """The same names and shapes, other values."""
    return {name: torch.rand(tensor.shape).to(tensor.dtype) for name, tensor in model.state_dict().items()}


def test_weights_and_buffers_are_copied_and_take_the_models_types(model):
    tensors = other(model)
    tensors["1.num_batches_tracked"] = torch.tensor(7)
    doubles = {name: tensor.double() for name, tensor in tensors.items()}
    fill(model, doubles, "here")
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, tensors[name])
        assert tensor.dtype == tensors[name].dtype
        assert tensor.data_ptr() != doubles[name].data_ptr()


REFUSED = [
    ({"0.bias": None}, "missing: 0.bias"),
    ({"2.weight": torch.rand(1)}, "unknown: 2.weight"),
    ({"0.bias": torch.rand(4)}, "of another shape: 0.bias (4,) for (3,)"),
    ({"1.weight": torch.rand(3, 1)}, "of another shape: 1.weight (3, 1) for (3,)"),
    (
        {"0.bias": None, "x": torch.rand(1), "0.weight": torch.rand(3, 3)},
        "missing: 0.bias; unknown: x; of another shape: 0.weight (3, 3) for (3, 2)",
    ),
    ({f"x{i}": torch.rand(1) for i in range(5)}, "unknown: x0, x1, x2 and 2 more"),
]


@pytest.mark.parametrize("how", [fill, check])
@pytest.mark.parametrize(("change", "problem"), REFUSED, ids=[problem for _, problem in REFUSED])
def test_what_does_not_fit_is_named_and_nothing_is_copied(model, change, problem, how):
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    tensors = {name: tensor for name, tensor in (other(model) | change).items() if tensor is not None}
    with pytest.raises(
        UserError,
        match=f"^Expected here to hold this model's weights, got {re.escape(problem)}; "
        "check its settings or its backbone.$",
    ):
        how(model, tensors, "here")
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_a_check_of_what_fits_copies_nothing(model):
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    check(model, other(model), "here")
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
