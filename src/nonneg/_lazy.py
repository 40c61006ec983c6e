"""Parts that load when they are touched, so that importing the package stays cheap."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def loader(package: str, modules: Sequence[str] = (), names: Mapping[str, str] | None = None) -> Callable[[str], Any]:
    """A package's `__getattr__`: imports these submodules of it, and takes these names from the ones they are in."""
    places = names or {}

    def load(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name in places:
            return getattr(importlib.import_module(f"{package}.{places[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load
