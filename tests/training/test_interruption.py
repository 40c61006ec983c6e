"""Signals: the first is noted, a second one ends the process, and afterwards all is as before."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from nonneg.training import interruption
from nonneg.training.interruption import Interrupted, listening

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_is_noted_and_nothing_else_happens(number):
    before = [signal.getsignal(n) for n in SIGNALS]
    with listening() as request:
        assert request.signal_number is None
        os.kill(os.getpid(), number)
        assert request.signal_number == number
        assert signal.getsignal(number) == signal.SIG_DFL  # so that a second one is heeded
        (other,) = set(SIGNALS) - {number}
        assert signal.getsignal(other) == request.receive
    assert [signal.getsignal(n) for n in SIGNALS] == before


def test_handlers_come_back_after_an_error_too():
    def mine(*_):
        pass

    before = signal.signal(signal.SIGTERM, mine)
    try:
        with pytest.raises(ZeroDivisionError), listening():
            raise ZeroDivisionError
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, before)


def test_in_another_thread_nobody_listens_and_nothing_breaks():
    seen = []
    before = [signal.getsignal(n) for n in SIGNALS]

    def work():
        with listening() as request:
            seen.append((request.signal_number, [signal.getsignal(n) for n in SIGNALS]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(None, before)]


# The file alone, without the package, which takes seconds to import.
LISTENER = """
import importlib.util, sys, time
spec = importlib.util.spec_from_file_location("interruption", sys.argv[1])
interruption = importlib.util.module_from_spec(spec)
spec.loader.exec_module(interruption)
with interruption.listening() as request:
    print("ready", flush=True)
    while request.signal_number is None:
        time.sleep(0.01)
    print(request.signal_number, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_second_signal_kills(number):
    command = [sys.executable, "-c", LISTENER, interruption.__file__]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == f"{int(number)}\n"
        assert process.poll() is None
        process.send_signal(number)
        assert process.wait(10) == -number
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


def test_the_exit_status_is_a_shells():
    assert Interrupted(signal.SIGINT, "stopped").exit_status == 130
    assert Interrupted(signal.SIGTERM, "stopped").exit_status == 143
    assert str(Interrupted(signal.SIGTERM, "stopped")) == "stopped"
