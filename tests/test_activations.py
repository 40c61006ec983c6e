"""The activations: values and derivatives, in every dtype and shape, compiled, scripted and exported."""

import copy
import io
import pickle
import shutil
import warnings

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

import nonneg
from nonneg import activations
from nonneg.activations import NonNegative
from tests.references.activations import FORMULAS, gelu_derivative

NAMES = activations.names()
FUNCTIONS = ["relu", "rep_relu", "softplus", "sigmoid", "exp"]
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
SHAPES = [(), (0,), (3, 0), (5,), (2, 3, 4)]


def values(dtype=torch.float64):
    """From far below zero to far above, finer around it, and the ends of the dtype."""
    ends = torch.tensor([torch.finfo(dtype).min, torch.finfo(dtype).max, -0.0], dtype=dtype)
    return torch.cat([torch.linspace(-20, 20, 161, dtype=dtype), torch.linspace(-1, 1, 41, dtype=dtype), ends])


def derivative(function, z):
    z = z.detach().clone().requires_grad_()
    return torch.autograd.grad(function(z).sum(), z)[0]


@pytest.mark.parametrize("name", NAMES)
def test_value_and_derivative_are_those_of_the_formula(name):
    z = values()[:-3]
    z = z[(z != 0) & (z != 11)]  # where relu, and where exp's limit, has no derivative
    module = NonNegative(name)
    torch.testing.assert_close(module(z), FORMULAS[name](z), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(derivative(module, z), derivative(FORMULAS[name], z), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_function_and_the_module_of_a_name_are_the_same(name):
    z = values()
    assert torch.equal(getattr(nonneg, name)(z), NonNegative(name)(z))
    assert torch.equal(getattr(activations, name)(z), NonNegative(name)(z))


@pytest.mark.parametrize("name", NAMES)
def test_is_non_negative_is_true_of_those_that_never_go_below_zero(name):
    assert activations.is_non_negative(name) == bool((NonNegative(name)(values()) >= 0).all())
    assert NonNegative(name).is_non_negative == activations.is_non_negative(name)
    assert (name in activations.names(non_negative=True)) == activations.is_non_negative(name)
    assert (name in activations.names(non_negative=False)) != activations.is_non_negative(name)


# rep_relu


@pytest.mark.parametrize("dtype", DTYPES)
def test_rep_relu_is_relu_to_the_bit(dtype):
    z = values(dtype)
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    assert torch.equal(nonneg.rep_relu(z).view(bits), torch.relu(z).view(bits))
    assert nonneg.rep_relu(z.requires_grad_()).dtype == dtype


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("of", [torch.float16, torch.bfloat16, torch.float32])
def test_rep_relu_is_relu_to_the_bit_under_autocast(dtype, of):
    z = values(of).requires_grad_()
    with torch.autocast("cpu", dtype):
        result, expected = nonneg.rep_relu(z), torch.relu(z)
        (inside,) = torch.autograd.grad(result.sum(), z, retain_graph=True)
    assert result.dtype == expected.dtype
    assert torch.equal(result, expected)
    assert torch.equal(inside, derivative(nonneg.rep_relu, z))


@pytest.mark.parametrize("dtype", DTYPES)
def test_rep_relu_has_the_derivative_of_gelu(dtype):
    z = values(dtype)
    expected = gelu_derivative(z.double())
    expected[-3:] = torch.tensor([0.0, 1.0, 0.5])  # at the ends of the dtype the formula has 0·∞
    tolerance = {torch.float64: 1e-13, torch.float32: 1e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}[dtype]
    torch.testing.assert_close(derivative(nonneg.rep_relu, z).double(), expected, rtol=tolerance, atol=tolerance / 8)


def test_rep_relu_multiplies_the_gradient_that_comes():
    z = values()[:-3].requires_grad_()
    incoming = torch.randn_like(z)
    (gradient,) = torch.autograd.grad(nonneg.rep_relu(z), z, incoming)
    torch.testing.assert_close(gradient, incoming * gelu_derivative(z.detach()), rtol=1e-12, atol=1e-14)


def test_rep_relu_keeps_one_tensor_its_input():
    kept = []
    z = torch.randn(4, 5, requires_grad=True)
    with saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x):
        nonneg.rep_relu(z)
    assert [x.data_ptr() for x in kept] == [z.data_ptr()]


def test_rep_relu_takes_a_view_that_is_not_contiguous():
    z = torch.randn(6, 5, dtype=torch.float64).T[::2]
    assert torch.equal(nonneg.rep_relu(z), torch.relu(z))
    torch.testing.assert_close(derivative(lambda x: nonneg.rep_relu(x.T), z), gelu_derivative(z))


# Types and shapes


def test_exp_is_finite_in_every_dtype_and_stops_at_eleven():
    for dtype in DTYPES:
        z = torch.cat([values(dtype), torch.tensor([-torch.inf, torch.inf], dtype=dtype)])
        result = nonneg.exp(z)
        assert result.isfinite().all()
        assert torch.equal(result[z >= 11], torch.tensor(11.0, dtype=dtype).exp().expand(int((z >= 11).sum())))
        assert derivative(nonneg.exp, z).isfinite().all()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_every_shape_comes_back_with_the_same_values(name, shape):
    z = torch.randn(shape, dtype=torch.float64)
    result, gradient = NonNegative(name)(z), derivative(NonNegative(name), z)
    assert result.shape == gradient.shape == z.shape
    torch.testing.assert_close(result, FORMULAS[name](z))
    torch.testing.assert_close(gradient, derivative(FORMULAS[name], z))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_every_dtype_is_kept_and_is_the_formula_to_its_accuracy(name, dtype):
    z = values(dtype)[:-3]
    result = NonNegative(name)(z)
    assert result.dtype == dtype
    tolerance = 8 * torch.finfo(dtype).eps
    torch.testing.assert_close(result.double(), FORMULAS[name](z.double()), rtol=tolerance, atol=tolerance)


# Compiled, scripted, exported, stored


needs_compiler = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=needs_compiler)])
def test_rep_relu_compiles_to_relu_with_the_derivative_of_gelu(backend):
    torch.compiler.reset()
    compiled = torch.compile(nonneg.rep_relu, backend=backend, fullgraph=True)
    z = values(torch.float32)[:-3].requires_grad_()
    result = compiled(z)
    (gradient,) = torch.autograd.grad(result.sum(), z)
    assert torch.equal(result, torch.relu(z))
    torch.testing.assert_close(gradient, derivative(nonneg.rep_relu, z))


@pytest.mark.parametrize("name", NAMES)
def test_torchscript_gives_the_same_values(name):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"`torch\.jit\.(script|save|load)` is (deprecated|not supported)")
        scripted = torch.jit.script(NonNegative(name))
        stored = io.BytesIO()
        torch.jit.save(scripted, stored)
        stored.seek(0)
        loaded = torch.jit.load(stored)
    z = values(torch.float32)
    assert torch.equal(scripted(z), NonNegative(name)(z))
    assert torch.equal(loaded(z), NonNegative(name)(z))


@pytest.mark.parametrize("name", NAMES)
def test_torch_export_gives_the_same_values_for_any_number_of_rows(name):
    rows = torch.export.Dim("rows")
    program = torch.export.export(NonNegative(name), (torch.randn(4, 3),), dynamic_shapes=({0: rows},))
    z = torch.randn(7, 3)
    assert torch.equal(program.module()(z), NonNegative(name)(z))


class EveryActivation(nn.Module):
    """All in one, since an export to ONNX takes seconds."""

    def __init__(self):
        super().__init__()
        self.activations = nn.ModuleList(NonNegative(name) for name in NAMES)

    def forward(self, z):
        return [activation(z) for activation in self.activations]


def test_onnx_gives_the_same_values():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own exporter
        program = torch.onnx.export(EveryActivation().eval(), (torch.randn(4, 3),), dynamo=True, verbose=False)
    stored = io.BytesIO()
    program.save(stored)
    session = onnxruntime.InferenceSession(stored.getvalue(), providers=["CPUExecutionProvider"])
    z = torch.randn(4, 3) * 5
    results = session.run(None, {session.get_inputs()[0].name: z.numpy()})
    for name, result in zip(NAMES, results, strict=True):
        np.testing.assert_allclose(result, NonNegative(name)(z), rtol=2e-6, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("name", NAMES)
def test_a_module_copies_pickles_and_says_its_name(name):
    z = values()
    module = NonNegative(name)
    for again in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(again(z), module(z))
    assert repr(module) == f"NonNegative('{name}')"
    assert not module.state_dict()


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [("relu6", "relu"), ("rep-relu", "rep_relu"), ("RepReLU", "rep_relu"), ("soft_plus", "softplus"), ("", "")],
)
def test_an_unknown_name_is_told_the_known_ones_and_the_nearest(wrong, nearest):
    for ask in (NonNegative, activations.is_non_negative):
        with pytest.raises(ValueError, match="Expected an activation out of rep_relu, relu, softplus") as error:
            ask(wrong)
        assert f"got {wrong!r}; did you mean '{nearest}" in str(error.value)
