"""Ctrl-C and SIGTERM: the step is finished, a checkpoint is written, and the run says how to go on."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Interrupted", "Request", "listening"]


class Interrupted(Exception):
    """A run stopped because somebody asked for it; its last checkpoint holds everything."""

    def __init__(self, signal_number: int, message: str) -> None:
        super().__init__(message)
        self.exit_status = 128 + signal_number  # as a shell has it


class Request:
    """Which signal came, if one did."""

    def __init__(self) -> None:
        self.signal_number: int | None = None

    def receive(self, number: int, _: FrameType | None) -> None:
        self.signal_number = number
        signal.signal(number, signal.SIG_DFL)  # who asks twice does not want to wait


@contextmanager
def listening() -> Iterator[Request]:
    """Signals are noted, not acted on, within the block."""
    request = Request()
    before = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, request.receive)
    except ValueError:  # not the main thread, where signals don't arrive
        pass
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
