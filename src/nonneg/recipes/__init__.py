"""The recipes that the package knows, a YAML file a run; its header says what it is and what it reached.

names    all of them
text     a recipe as it stands in its file
summary  the first line of its header
"""

from importlib import resources

from nonneg._errors import UserError, nearest

__all__ = ["names", "summary", "text"]


def names() -> list[str]:
    """The names that `nonneg train` takes.

    >>> "fashion-small-ncl" in names()
    True
    """
    found = (entry.name for entry in resources.files(__name__).iterdir())
    return sorted(name.removesuffix(".yaml") for name in found if name.endswith(".yaml"))


def text(name: str) -> str:
    """A recipe with its header."""
    if name not in names():
        raise UserError(
            f"Expected a recipe's name, got {name!r}; did you mean {nearest(name, names())!r}? "
            "'nonneg recipes' lists them."
        )
    return (resources.files(__name__) / f"{name}.yaml").read_text(encoding="utf-8")


def summary(name: str) -> str:
    """What a recipe is, in a line."""
    return text(name).partition("\n")[0].lstrip("# ")
