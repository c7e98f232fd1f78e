"""What the bench takes for the tracer's doing at half load, and what for the machine's."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parent.parent / "bench/trace"
MS = 1_000_000
# Attached at 100 ms, arrivals count from 110 to 130 ms, gone at 135 ms; 5 ms of it are left.
PLACE = {"attached_ns": 100, "started_ns": 110, "ended_ns": 130, "detached_ns": 135}
PLACES = [{key: at * MS for key, at in PLACE.items()}]


@pytest.fixture
def half(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(FOLDER))
    yield SimpleNamespace(**runpy.run_path(str(FOLDER / "half.py")))
    sys.modules.pop("tracers", None)


def result(server: list[list[int]], client: list[list[int]]) -> dict[str, Any]:
    logs = {"server_stops": {"log": server}, "outages": {"log": client}}
    return {"measured_s": 1.0, **logs}


def test_every_request_is_in_the_phase_it_was_due_in(half: Any) -> None:
    due_ns = np.array([0, 99, 100, 109, 110, 129, 130, 134, 135, 139, 140, 500]) * MS
    phases = half.phase_of(due_ns, PLACES)
    assert phases.tolist() == [-1, -1, 0, 0, 1, 1, 2, 2, 3, 3, -1, -1]


def test_a_stop_while_attached_is_the_tracers_and_another_the_machines(half: Any) -> None:
    due_ns = np.arange(0, 1000, 1) * MS
    took_ns = np.full(1000, 50_000.0)
    took_ns[100:135] = 500_000.0
    trace = {"sampling": {"places": PLACES}}
    own = half.half(result([[101 * MS, 4 * MS]], []), due_ns, took_ns, 0, trace)
    assert (own.is_sound, own.stopped) == (True, 0.0)
    assert own.p99_ns == 500_000.0, "what the tracer does is in the number"
    assert own.between_p99_ns == 50_000.0
    assert own.phases["window"] == (0.02, 500_000.0)
    for logs in (([[300 * MS, 4 * MS]], []), ([], [[300 * MS, 4 * MS]])):
        outcome = half.half(result(*logs), due_ns, took_ns, 0, trace)
        assert not outcome.is_sound
        assert outcome.stopped == pytest.approx(0.004)


def test_pairs_with_a_disturbed_half_say_nothing(half: Any) -> None:
    def run(p99_ns: float, stopped: float = 0.0) -> Any:
        return half.Half(p99_ns, stopped, is_sound=stopped <= half.STOPPED_MAX)

    none = [run(100), run(900, 0.1), run(100)]
    halves = {"none": none, "all": [run(130), run(90), run(500, 0.1)]}
    outcome = half.p99_ratios(halves)["all"]
    assert (outcome["rounds"], outcome["sound"]) == (3, 1)
    assert outcome["ratio"] == {"median": 1.3, "min": 1.3, "max": 1.3}
    assert outcome["within"] is None
