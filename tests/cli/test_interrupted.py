"""An interrupted run is no fault; everything else is."""

import signal

import pytest

from nonneg._errors import UserError
from nonneg.cli.interrupted import status_of
from nonneg.training import Interrupted


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_its_status_is_a_shells(number, status):
    assert status_of(Interrupted(number, "Stopped.")) == status


@pytest.mark.parametrize("error", [RuntimeError("a bug"), UserError("a wrong word"), OSError(4, "interrupted")])
def test_a_fault_has_none(error):
    assert status_of(error) is None
