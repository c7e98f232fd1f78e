"""Which signals end the lab, and which it was started to ignore."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.errors import RunFault
from sojourn.places import process
from sojourn.run import generator, signals
from sojourn.run.generator_job import Files
from sojourn.run.testing_scene import new_ledger, new_scene

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


def stopped_at_once(ended: list[str]) -> Any:
    """A program that has just started, when somebody types ^C."""

    def stop(**_: object) -> None:
        ended.append("it")

    os.kill(os.getpid(), signal.SIGINT)
    return SimpleNamespace(pid=1, grouped=("", ""), stderr=None, poll=lambda: None, stop=stop)


@pytest.fixture
def signals_end() -> Iterator[None]:
    """pytest may be started with the signals ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("signals_end")
def test_a_generator_that_starts_as_the_lab_is_ended_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was in the journal, and among no one's programs."""
    ended: list[str] = []
    how: Any = SimpleNamespace(take_over=lambda _: None)
    monkeypatch.setattr(generator, "_start", lambda *_: (stopped_at_once(ended), how))
    job = {"target": "null:", "duration": "1s", "warmup": "0s"}
    ledger: Any = SimpleNamespace()
    with pytest.raises(signals.Interrupted), signals.ending_in_order():
        generator.run(job, Files.named(tmp_path, "load"), ledger)
    assert ended == ["it"]


@pytest.mark.usefixtures("signals_end")
def test_a_neighbour_that_starts_as_the_lab_is_ended_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    monkeypatch.setattr(process, "start", lambda *_, **__: stopped_at_once(ended))
    with new_ledger(tmp_path) as ledger:
        scene = new_scene(tmp_path, ledger)
        with pytest.raises(signals.Interrupted), signals.ending_in_order():
            scene.start("neighbour", ["it"], log="log", cpus=(0,))
    assert ended == ["it"]


@pytest.mark.usefixtures("signals_end")
def test_all_generators_are_ended_if_a_signal_comes_while_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []

    def stop(nth: int) -> None:
        ended.append(nth)
        os.kill(os.getpid(), signal.SIGINT)

    def start(*_: object) -> tuple[Any, Any]:
        nth = len(made)
        made.append(nth)
        process = SimpleNamespace(pid=1, stderr=None, poll=lambda: None, stop=lambda **_: stop(nth))
        return process, SimpleNamespace(take_over=lambda _: None)

    def follow(*_: object) -> None:
        raise RunFault("the server ended", at="here", fix="nothing")

    made: list[int] = []
    monkeypatch.setattr(generator, "_start", start)
    monkeypatch.setattr(generator, "_follow", follow)
    job = {"target": "null:", "duration": "1s", "warmup": "0s"}
    parts = [(job, Files.named(tmp_path, name)) for name in "ab"]
    ledger: Any = SimpleNamespace()
    with pytest.raises(signals.Interrupted), signals.ending_in_order():
        generator.together(parts, ledger)
    assert ended == [0, 1]
