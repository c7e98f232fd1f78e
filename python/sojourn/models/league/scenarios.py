"""Scenarios: the load over time, as a share of the service's peak."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario.

    Attributes:
        length_s: how long it takes.
        load: share of the peak at a time, s.
        steps_s: when the load changes at once.
    """

    name: str
    about: str
    length_s: float
    load: Callable[[float], float]
    steps_s: tuple[float, ...] = ()


def _steps(t_s: float) -> float:
    return 0.8 if int(t_s // 60) % 2 else 0.25


def _flash(t_s: float) -> float:
    return 0.85 if 120 <= t_s % 300 < 150 else 0.3


def _day(t_s: float) -> float:
    return 0.5 - 0.35 * math.cos(2 * math.pi * t_s / 600)


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
    )
}
