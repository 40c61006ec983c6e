"""What an error advises to put into a recipe is an option of a command that reads none."""

from collections.abc import Iterator
from contextlib import contextmanager

from nonneg._errors import UserError

__all__ = ["in_options"]

_OPTIONS = {
    "data.download=true": "--download",
    "data.root=": "--root ",
    "set data.on_bad_file=skip": "use --skip-bad-files",
}


@contextmanager
def in_options() -> Iterator[None]:
    """The advice of an error in the words of a command."""
    try:
        yield
    except UserError as error:
        advice = str(error)
        for key, option in _OPTIONS.items():
            advice = advice.replace(key, option)
        raise UserError(advice) from error
