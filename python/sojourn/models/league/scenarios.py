"""Scenarios: load, neighbour and service over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What is the case in one period; see `Scenario`. `down_s`: how long it still is down."""

    load: float
    wants: float = 1.0
    memory: float = 1.0
    slows: float = 1.0
    down_s: float = 0.0


def _one(_t_s: float) -> float:
    return 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario.

    Attributes:
        length_s: how long it takes.
        load: share of the peak at a time, s.
        steps_s: when something changes at once.
        wants: share of the machine that the job would use at a time, if it had all.
        memory: how much the job slows the service at a time; 1: as `machine.MEMORY` says.
        slows: what service times are multiplied by at a time.
        down_s: from when to when the service does not serve; requests wait.
    """

    name: str
    about: str
    length_s: float
    load: Callable[[float], float]
    steps_s: tuple[float, ...] = ()
    wants: Callable[[float], float] = _one
    memory: Callable[[float], float] = _one
    slows: Callable[[float], float] = _one
    down_s: tuple[tuple[float, float], ...] = ()

    def at(self, t_s: float) -> Moment:
        """What is the case at a time."""
        return Moment(
            load=self.load(t_s),
            wants=self.wants(t_s),
            memory=self.memory(t_s),
            slows=self.slows(t_s),
            down_s=max((end - t_s for begin, end in self.down_s if begin <= t_s < end), default=0),
        )


def _steps(t_s: float) -> float:
    return 0.8 if int(t_s // 60) % 2 else 0.25


def _flash(t_s: float) -> float:
    return 0.85 if 120 <= t_s % 300 < 150 else 0.3


def _day(t_s: float) -> float:
    return 0.5 - 0.35 * math.cos(2 * math.pi * t_s / 600)


#: Neighbours that come and go, two minutes each: share of the machine, and how much they slow it.
NEIGHBOURS = ((0.0, 1.0), (1.0, 0.2), (0.5, 2.0), (0.25, 0.5), (1.0, 1.0))
RESTARTS_S, DOWN_S, COLD_S = (150.0, 350.0, 550.0), 2.0, 10.0


def _neighbour(t_s: float) -> tuple[float, float]:
    return NEIGHBOURS[int(t_s // 120) % len(NEIGHBOURS)]


def _cold(t_s: float) -> float:
    return 2.0 if any(s <= t_s < s + DOWN_S + COLD_S for s in RESTARTS_S) else 1.0


SCENARIOS: Mapping[str, Scenario] = {
    one.name: one
    for one in (
        Scenario(
            name="nothing",
            about="A/A: a stationary load of 1000 requests/s; nothing happens",
            length_s=600,
            load=lambda _t_s: 1000 / 1700,
        ),
        Scenario(
            name="steps",
            about="25 and 80 % of the peak in turn, a minute each",
            length_s=600,
            load=_steps,
            steps_s=tuple(range(60, 600, 60)),
        ),
        Scenario(
            name="flash",
            about="30 %, and 85 % for half a minute every five",
            length_s=600,
            load=_flash,
            steps_s=(120, 150, 420, 450),
        ),
        Scenario(name="day", about="15 to 85 %: a day in ten minutes", length_s=600, load=_day),
        Scenario(
            name="neighbours",
            about="60 % of the peak; none, a spinning, a memory-bound, a small, a usual neighbour",
            length_s=600,
            load=lambda _t_s: 0.6,
            steps_s=(120, 240, 360, 480),
            wants=lambda t_s: _neighbour(t_s)[0],
            memory=lambda t_s: _neighbour(t_s)[1],
        ),
        Scenario(
            name="restart",
            about="50 % of the peak; the service is down for 2 s thrice, then slow for 10 s",
            length_s=600,
            load=lambda _t_s: 0.5,
            steps_s=RESTARTS_S,
            slows=_cold,
            down_s=tuple((s, s + DOWN_S) for s in RESTARTS_S),
        ),
    )
}
