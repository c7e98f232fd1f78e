"""Waiting for a calm machine: for how long, what is said, what is kept."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from sojourn import host, spec
from sojourn.host.preflight import Look, Stops
from sojourn.run import Patience, ready
from sojourn.run.ready import strictest
from sojourn.run.watch import Event

S = 1_000_000_000
CALM = Look(cpus=(1,), all=Stops(watched_ns=S))
BUSY = Look(cpus=(1,), all=Stops(lengths_ns=(8_000_000,) * 9, watched_ns=S))


@dataclass
class LookDeadline:
    """A deadline that looks alone bring closer, because the machine's own time is noise."""

    left_s: float


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Look]:
    """What the next looks see; the last one stays."""
    planned: list[Look] = []
    deadlines: list[LookDeadline] = []

    def deadline(length_s: float) -> LookDeadline:
        deadlines.append(LookDeadline(length_s))
        return deadlines[-1]

    def look(cpus: Sequence[int], length_s: float) -> Look:
        assert cpus
        assert length_s > 0
        deadlines[-1].left_s = max(0.0, deadlines[-1].left_s - length_s)
        return planned.pop(0) if len(planned) > 1 else planned[0]

    module = sys.modules["sojourn.run.ready"]
    monkeypatch.setattr(module, "look", look)
    monkeypatch.setattr(module, "Deadline", deadline)
    monkeypatch.setattr(module, "REST_S", 0.0)
    return planned


@pytest.fixture
def facts(fake_host: Callable[[str], Path]) -> host.Facts:
    return host.read(fake_host("big_server"))


def ready_calls(
    patience: Patience, facts: host.Facts
) -> tuple[list[str], tuple[tuple[str, str], ...]]:
    events: list[Event] = []
    study = spec.load("max_load_memcached", profile="quick")
    result = ready(study, facts, patience, events.append, names=lambda cpus: [f"kd of {cpus}"])
    assert result.table["cpus"] == [1]
    return [event.text for event in events], result.noise


def test_a_calm_machine_is_not_waited_for_and_leaves_no_warning(
    looks: list[Look], facts: host.Facts
) -> None:
    looks.append(CALM)
    text, noise = ready_calls(Patience(), facts)
    assert text[0].startswith("calm: an ordinary task lost nothing")
    assert len(text) == 2
    assert noise == ()


def test_one_that_calms_in_time_leaves_no_warning(looks: list[Look], facts: host.Facts) -> None:
    looks.extend([BUSY, BUSY, CALM])
    text, noise = ready_calls(Patience(calm_s=62), facts)
    assert [line.split(":")[0] for line in text[:3]] == [
        "not calm",
        "waiting up to 1 min for it to calm",
        "calm",
    ]
    assert noise == ()


@pytest.mark.parametrize("patience", [Patience(calm_s=8.0), Patience(is_forced=True)])
def test_one_that_does_not_calm_is_measured_with_a_warning(
    patience: Patience, looks: list[Look], facts: host.Facts
) -> None:
    looks.append(BUSY)
    text, noise = ready_calls(patience, facts)
    assert text[-2].startswith("going on: ")
    assert "the answer will be the machine's" in text[-1]
    assert noise[0][0].endswith("(ran there: kd of [1, 2, 3, 4, 5, 6, 7])")
    assert "lost 7.2 % of CPU 1, up to 8 ms at once" in noise[0][0]
    assert any("waiting" in line for line in text) != patience.is_forced


def test_stops_are_held_against_the_target_that_they_break_first() -> None:
    target = strictest(spec.load("latency_vs_load"))
    bounds = {s.label: s.qos.bound for s in spec.load("latency_vs_load").services if s.qos}
    assert target.bound_ns == 1e6, bounds
    assert strictest(spec.load("selfcheck")).bound_ns == 1e6


def test_cpus_that_cannot_be_watched_are_not_waited_for(
    looks: list[Look], facts: host.Facts
) -> None:
    looks.append(Look(cpus=(1,), all=Stops()))
    text, noise = ready_calls(Patience(calm_s=62), facts)
    assert text[0].startswith("going on: CPU 1 could not be watched")
    assert noise[0][1] == "what the machine does to the answer is not known"
