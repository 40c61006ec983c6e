"""What the user got wrong, in one line; the command line prints it and exits with 2."""

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """What was expected, what came, and the way out."""


def nearest(word: object, known: Iterable[str]) -> str:
    """The known word that is most like this one.

    >>> nearest("lerning_rate", ["momentum", "learning_rate"])
    'learning_rate'
    """
    return difflib.get_close_matches(str(word), list(known), n=1, cutoff=0.0)[0]


def needs_extra(package: str, extra: str) -> UserError:
    """For a package that comes with an extra and is not installed.

    >>> print(needs_extra("wandb", "wandb"))
    Expected the package wandb, which is not installed; run pip install 'nonneg[wandb]'.
    """
    return UserError(f"Expected the package {package}, which is not installed; run pip install 'nonneg[{extra}]'.")
