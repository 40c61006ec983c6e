"""Recipes by name or file, with `key=value` changes from the command line."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from nonneg import _files
from nonneg import recipes as shipped
from nonneg._errors import UserError, nearest
from nonneg._settings import validated
from nonneg.training.recipe import FREE_ON_RESUME, Recipe

__all__ = ["first_difference", "read", "read_file", "write"]


def read(which: str, changes: Sequence[str] = ()) -> Recipe:
    """The recipe of a known name or in a file, changed.

    >>> read("fashion-small-ncl", ["epochs=3", "model.activation=relu"]).model.activation
    'relu'
    """
    path = Path(which)
    if which in shipped.names():
        values, where = _parsed(shipped.text(which), which), which
    elif path.suffix in (".yaml", ".yml") or path.is_file():
        if not path.is_file():
            raise UserError(f"Expected a recipe in {path}, got no file there; check the path.")
        values, where = _parsed(_text(path), str(path)), path.stem
    else:
        raise UserError(
            f"Expected a recipe's name or a .yaml file, got {which!r}; did you mean "
            f"{nearest(which, shipped.names())!r}? 'nonneg recipes' lists them."
        )
    for change in sorted(changes, key=lambda change: not change.partition("=")[0].endswith(".name")):
        _change(values, change)  # names first: another one begins its part anew
    return validated(Recipe, {"name": where} | values)


def read_file(path: Path) -> Recipe:
    """The recipe that a run was made by."""
    return validated(Recipe, _parsed(_text(path), str(path)))


def write(recipe: Recipe, path: Path) -> None:
    """Everything that the run depends on, defaults and all."""
    text = yaml.safe_dump(recipe.model_dump(mode="json"), sort_keys=False, default_flow_style=None, width=120)
    _files.write_text(path, text)


def first_difference(old: Recipe, new: Recipe) -> tuple[str, object, object] | None:
    """The first key that the result of a run depends on and that is not the same, with both values."""
    ours, theirs = _flat(old.model_dump(mode="json")), _flat(new.model_dump(mode="json"))
    for key in [*ours, *(key for key in theirs if key not in ours)]:
        free = any(key == f or key.startswith(f + ".") for f in FREE_ON_RESUME)
        if not free and ours.get(key) != theirs.get(key):
            return key, ours.get(key), theirs.get(key)
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"Expected a recipe in {path}, got nothing that can be read as one; check the path.") from error


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise UserError(f"Expected a recipe in YAML in {where}, got what can't be parsed: {reason}.") from error
    if not isinstance(values, dict):
        raise UserError(f"Expected a recipe of keys and values in {where}, got {type(values).__name__}.")
    return values


def _change(values: dict[str, Any], change: str) -> None:
    """Put `a.b=value`, the value in YAML, into the recipe. Another method, optimiser or preset has its own."""
    key, equals, text = change.partition("=")
    if not equals or not key:
        raise UserError(f"Expected a change as key=value, got {change!r}; for example epochs=20.")
    value: Any = text
    try:
        value = yaml.safe_load(text)
        if isinstance(value, str):
            value = float(value)  # YAML reads 1e-3 as a word
    except yaml.YAMLError as error:
        raise UserError(f"Expected a YAML value for {key}, got {text!r}.") from error
    except ValueError:
        pass
    *parents, last = key.split(".")
    place = values
    for parent in parents:
        inner = place.setdefault(parent, {})
        if not isinstance(inner, dict):
            raise UserError(f"Expected a key that a recipe knows, got {key!r}: {parent} has no keys of its own.")
        place = inner
    if last == "name" and parents and parents[0] in ("method", "optimiser", "views") and place.get("name") != value:
        place.clear()
    place[last] = value


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{key}.")
        else:
            flat[before + key] = value
    return flat
