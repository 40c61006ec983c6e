"""Libraries say nothing inside; what was said before and is said after is as it was."""

import logging
import warnings

import pytest

from nonneg._quiet import quiet


def test_warnings_and_log_lines_are_dropped_inside_alone(caplog):
    logger = logging.getLogger("somebody")
    with quiet():
        warnings.warn("a tip", stacklevel=1)  # an error otherwise, as pytest is set up
        logger.warning("a banner")
        logger.error("a fault")
    logger.warning("after")
    assert [record.message for record in caplog.records] == ["a fault", "after"]
    with pytest.raises(UserWarning):
        warnings.warn("a tip", stacklevel=1)


def test_it_is_as_before_however_it_ends():
    before = logging.root.manager.disable
    with pytest.raises(ZeroDivisionError), quiet(logging.ERROR):
        raise ZeroDivisionError
    assert logging.root.manager.disable == before
