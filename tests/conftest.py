"""Shapes in signatures are checked while the tests run; set before anything imports the packages."""

from collections.abc import Iterator

import jaxtyping
import pytest
import torch

# activations are left out: their functions are compiled to TorchScript by a test, and take any shape.
jaxtyping.install_import_hook(["nonneg.losses", "nonneg.metrics", "nonneg.selection"], "beartype.beartype")


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture
def bad_input() -> Iterator[None]:
    """Shapes unchecked, as for a user, so that a test of bad input sees our own error."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
