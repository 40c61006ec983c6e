"""What the libraries underneath announce, warn of and log is not for the people who use us."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet(up_to: int = logging.WARNING) -> Iterator[None]:
    """Without warnings, and without log lines of a level `up_to` this."""
    before = logging.root.manager.disable
    logging.disable(up_to)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
