"""What is asked of an input, one wording each: what was expected, what came, and the way out."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor


def float_matrix(z: Tensor, name: str = "features") -> None:
    """A matrix (samples, dimensions) of floats with something in it."""
    if z.ndim != 2:
        raise ValueError(
            f"Expected {name} of shape (samples, dimensions), got {tuple(z.shape)}; flatten or stack them."
        )
    if not z.is_floating_point():
        raise ValueError(f"Expected {name} of a floating-point type, got {_type(z)}; convert them with .float().")
    if z.numel() == 0:
        raise ValueError(f"Expected {name} with at least one sample and one dimension, got an empty {tuple(z.shape)}.")


def same_shape(first: Tensor, second: Tensor, names: tuple[str, str] = ("z1", "z2")) -> None:
    """Two matrices of floats whose rows belong together."""
    float_matrix(first, names[0])
    float_matrix(second, names[1])
    if first.shape != second.shape:
        raise ValueError(
            f"Expected {names[0]} and {names[1]} of the same shape, got {tuple(first.shape)} and "
            f"{tuple(second.shape)}; row i of both must belong together."
        )


def finite(z: Tensor, name: str = "features") -> None:
    """No NaN, no infinity."""
    bad = ~torch.isfinite(z)
    if bad.any():
        where = [int(i) for i in bad.nonzero()[0]]
        raise ValueError(
            f"Expected finite {name}, got {z[tuple(where)].item()} at {where} and {int(bad.sum())} such values in all; "
            "look for a diverged model or a division by zero."
        )


def non_negative(z: Tensor, name: str = "features") -> None:
    """No value below zero."""
    least = z.min().item()
    if least < 0:
        raise ValueError(f"Expected non-negative {name}, got a minimum of {least:.3g}; apply nonneg.rep_relu first.")


def labels(y: Tensor, samples: int, name: str = "labels") -> None:
    """One non-negative integer a sample."""
    if y.ndim != 1 or len(y) != samples:
        raise ValueError(f"Expected {samples} {name}, one a sample, got shape {tuple(y.shape)}.")
    if y.is_floating_point() or y.is_complex() or y.dtype == torch.bool:
        raise ValueError(f"Expected {name} of an integer type, got {_type(y)}; number the classes from 0.")
    # On an accelerator a look at the values would wait for the device in every training step.
    if y.device.type == "cpu" and y.min() < 0:
        raise ValueError(f"Expected {name} of at least 0, got {int(y.min())}; number the classes from 0.")


def labels_below(y: Tensor, classes: int) -> None:
    """No label beyond the last class."""
    if y.device.type == "cpu" and y.max() >= classes:
        raise ValueError(
            f"Expected labels below {classes}, the number of classes, got {int(y.max())}; raise num_classes to "
            f"{int(y.max()) + 1} or number the classes from 0."
        )


def at_least_two(samples: int, what: str = "samples") -> None:
    """A contrast needs something to contrast with."""
    if samples < 2:
        raise ValueError(f"Expected at least 2 {what}, got {samples}; a contrast needs a negative.")


def temperature(value: float) -> None:
    """A temperature that divides."""
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"Expected a temperature above 0, got {value}; 0.2 is usual for features, 0.07 for pairs.")


def tile(value: int | None) -> None:
    """A tile's side, or None to have it chosen."""
    if value is not None and value < 1:
        raise ValueError(f"Expected tile of at least 1, or None to have it chosen, got {value}.")


def positive(value: int, name: str) -> None:
    """A whole number above zero."""
    if value < 1:
        raise ValueError(f"Expected {name} of at least 1, got {value}.")


def width(z: Tensor, dimensions: int) -> None:
    """As many dimensions as were announced."""
    if z.shape[1] != dimensions:
        raise ValueError(
            f"Expected features of {dimensions} dimensions, got {z.shape[1]}; both must come from the same model."
        )


def some_positive(count: int) -> None:
    """At least one row with a positive."""
    if count == 0:
        raise ValueError("Expected at least two rows with the same label, got none; no row has a positive.")


def neighbours(k: int, available: int, what: str = "other samples") -> None:
    """No more neighbours than there are."""
    if not 1 <= k <= available:
        raise ValueError(f"Expected k between 1 and {available}, the number of {what}, got {k}.")


def dimensions(count: int, available: int, name: str = "k") -> None:
    """No more dimensions than the features have."""
    if not 1 <= count <= available:
        raise ValueError(f"Expected {name} between 1 and {available}, the number of dimensions, got {count}.")


def some_alive(count: int) -> None:
    """At least one dimension that some sample switches on."""
    if count == 0:
        raise ValueError(
            "Expected at least one alive dimension, got none: every feature of every sample is zero (collapse); "
            "train with nonneg.rep_relu or a lower learning rate."
        )


def choice(value: str, known: Sequence[str], name: str) -> None:
    """A word out of a list."""
    if value not in known:
        raise ValueError(f"Expected {name} to be one of {', '.join(known)}, got {value!r}.")


def _type(z: Tensor) -> str:
    return str(z.dtype).removeprefix("torch.")
