"""Typed, frozen settings: an unknown key or a wrong value is refused in one line that says what would do."""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from nonneg._errors import UserError, nearest

S = TypeVar("S", bound="Settings")


class Settings(BaseModel):
    """The base of everything that a recipe holds."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def validated(kind: type[S], values: Any, where: str = "") -> S:
    """The settings, or the first thing wrong with them as a UserError."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise UserError(_first(kind, error, where)) from error


def _first(kind: type[Settings], error: ValidationError, where: str) -> str:
    found = error.errors(include_url=False)[0]
    place = [part for part in found["loc"] if isinstance(part, str) and not _is_tag(part, kind)]
    name = ".".join([*([where] if where else []), *place]) or "a recipe"
    if found["type"] == "extra_forbidden":
        known = _fields_at(kind, found["loc"][:-1])
        return f"Expected a key that a recipe knows, got {name!r}; did you mean {nearest(place[-1], known)!r}?"
    if found["type"] == "missing" and isinstance(found["loc"][-1], int):
        return f"Expected {name} to have at least {found['loc'][-1] + 1} values, got {len(found['input'])}."
    if found["type"] == "missing":
        return f"Expected {name!r} to be given, got nothing; add it to the recipe."
    if found["type"] == "union_tag_not_found":
        return f"Expected '{name}.name' to be given, got nothing; add it to the recipe."
    if found["type"] == "union_tag_invalid":
        return f"Expected {name}.name to be one of {found['ctx']['expected_tags']}, got {found['ctx']['tag']!r}."
    expected = found["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    if not found["loc"] and found["type"] == "value_error":  # what came is in the words; the whole recipe is too long
        return f"Expected {expected}."
    return f"Expected {name} to be {expected}, got {found['input']!r}."


def _fields_at(kind: type[Settings], place: tuple[int | str, ...]) -> list[str]:
    """The keys known where an unknown one was found."""
    current: Any = kind
    for part in place:
        options = _settings_in(current.model_fields[part].annotation) if part in current.model_fields else []
        if options:
            union, current = options, options[0]
        else:
            current = next((o for o in union if o.model_fields["name"].default == part), current)
    return list(current.model_fields)


def _is_tag(part: str, kind: type[Settings]) -> bool:
    """Whether a part of an error's place is the name of a member of a union, not a key."""
    return part == "int" or any(
        option.model_fields["name"].default == part
        for field in kind.model_fields.values()
        for option in _settings_in(field.annotation)
        if "name" in option.model_fields
    )


def _settings_in(annotation: Any) -> list[type[Settings]]:
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return [annotation]
    return [found for part in getattr(annotation, "__args__", ()) for found in _settings_in(part)]
