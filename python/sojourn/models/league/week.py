"""A week of 24 cores: days, a weekend, crowds, batch programs that change.

A rule looks once a second here, because a look every 100 ms makes six million of them. Its windows
are those of 100 ms, 1 s and 15 s all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache, lru_cache

import numpy as np

from sojourn.controllers.look import Look
from sojourn.models.league import play, programs
from sojourn.models.league.fluid import Fluid
from sojourn.models.league.play import Row
from sojourn.models.league.scenarios import Scenario
from sojourn.models.league.sharing import Shape

SHAPE = Shape(cores=programs.CORES, peak_rps=5100.0)
HOUR_S, DAY_S, WEEK_S = 3600.0, 86_400.0, 604_800.0
LOOK_S = 1.0
LOWEST_H, WEEKEND, MOST = 4.0, 0.6, 0.95
#: At once a quarter of the peak more, for ten minutes: Tuesday, Thursday, Saturday.
CROWDS_S = (DAY_S + 11 * HOUR_S, 3 * DAY_S + 20 * HOUR_S, 5 * DAY_S + 15 * HOUR_S)
CROWD, CROWD_S = 0.25, 600.0
NOISE, NOISE_STAYS, NOISE_S, SEED = 0.05, 0.9, 60, 28
ORACLE_LOOK_S = 10.0  # a fixed setting does not depend on looks


@cache
def _noise() -> tuple[float, ...]:
    """What the load of each minute is multiplied by."""
    draw, value, results = np.random.default_rng(SEED), 0.0, []
    for step in draw.normal(0, NOISE * math.sqrt(1 - NOISE_STAYS**2), int(WEEK_S) // NOISE_S):
        value = NOISE_STAYS * value + float(step)
        results.append(math.exp(value))
    return tuple(results)


def load(t_s: float) -> float:
    """Share of the peak, from Monday, 0 h: lowest at 4 h; constant for a minute."""
    return _of_minute(int((t_s + 1e-9) // NOISE_S))


@lru_cache(maxsize=16)
def _of_minute(minute: int) -> float:
    t_s = float(minute * NOISE_S)
    usual = 0.5 - 0.35 * math.cos(2 * math.pi * (t_s / HOUR_S - LOWEST_H) / 24)
    if t_s >= 5 * DAY_S:
        usual *= WEEKEND
    usual *= _noise()[minute % len(_noise())]
    if any(begin <= t_s < begin + CROWD_S for begin in CROWDS_S):
        usual += CROWD
    return min(MOST, usual)


def scenario(begin_s: float = 0.0, length_s: float = WEEK_S) -> Scenario:
    """The week, or a part of it."""
    mix = programs.Mix(programs.jobs(WEEK_S))
    return Scenario(
        name="week",
        about="24 cores, days and a weekend, three crowds; programs of L28 come and go",
        length_s=length_s,
        load=lambda t_s: load(t_s + begin_s),
        wants=lambda t_s: mix.wants(t_s + begin_s),
        memory=lambda t_s: mix.memory(t_s + begin_s),
    )


def row(
    name: str,
    seed: int,
    part: Scenario,
    inputs: Mapping[str, float] | None = None,
    *,
    look_s: float = LOOK_S,
    see: Callable[[Look, play.Simulated], None] | None = None,
) -> Row:
    """A rule through the week, or a part of it."""
    return play.play(
        name,
        part,
        seed,
        inputs,
        shape=SHAPE,
        machine=lambda shape, seed: Fluid(shape, seed, every_s=look_s),
        see=see,
    )


def oracle(seed: int, part: Scenario) -> tuple[Mapping[str, float], Row]:
    """The best fixed allocation; see `play.oracle`."""
    return play.oracle(
        part,
        seed,
        SHAPE,
        grid=play.grid(SHAPE.cores),
        machine=lambda shape, seed: Fluid(shape, seed, every_s=ORACLE_LOOK_S),
    )
