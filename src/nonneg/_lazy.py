"""Parts that load when they are touched, so that importing the package stays cheap."""

import importlib
from collections.abc import Callable, Sequence
from typing import Any


def submodules(package: str, names: Sequence[str]) -> Callable[[str], Any]:
    """A module's `__getattr__` that imports its submodules of these names."""

    def load(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return importlib.import_module(f"{package}.{name}")

    return load


def names_from(module: str, package: str, names: Sequence[str]) -> Callable[[str], Any]:
    """A package's `__getattr__` that takes what it lacks of these names from one of its modules."""

    def load(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(module), name)

    return load
