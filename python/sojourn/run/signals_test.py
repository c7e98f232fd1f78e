"""Which signals end the lab, and which it was started to ignore."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn.run import signals

LAB = """
import os, signal, sys
from sojourn.run.signals import Interrupted, deaf, ending_in_order
number = signal.Signals(int(sys.argv[1]))
try:
    with ending_in_order():
        os.kill(os.getpid(), number)
        with deaf():
            os.kill(os.getpid(), number)
    print("goes on")
except Interrupted as stop:
    print(stop)
"""


def end_of(number: signal.Signals, started: str) -> str:
    """What a lab says that gets a signal, `started` with this option of `env`."""
    package = Path(signals.__file__).parents[2]
    words = ["env", f"--{started}={number.name}", sys.executable, "-P", "-c", LAB, str(int(number))]
    done = subprocess.run(
        words,
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("number", signals.ENDING)
def test_a_signal_ends_it_unless_it_was_started_to_ignore_it(number: signal.Signals) -> None:
    assert end_of(number, "default-signal") == f"stopped by {number.name}"
    assert end_of(number, "ignore-signal") == "goes on"


def test_a_signal_that_ends_nothing_hides_no_later_one() -> None:
    """As SIGHUP asks a manager to read its configuration, and SIGTERM comes right after."""
    heard: list[int] = []
    numbers = (signal.SIGHUP, signal.SIGTERM)
    before = {
        one: signal.signal(one, lambda number, _frame: heard.append(number)) for one in numbers
    }
    try:
        with signals.deaf():
            for number in (*numbers, signal.SIGHUP):
                signal.raise_signal(number)
            assert heard == []
        assert heard == [*numbers]
        with signals.deaf(), signals.deaf():
            signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGTERM)
        assert heard == [*numbers, *numbers]
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
