"""A/A: latencies that never change, and how often a rule acts all the same.

Sojourn times are independent and exponential, with a true p99 that is `slack` below
the target. So whatever a controller does here, it does on noise.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sojourn.controllers import History, kind
from sojourn.controllers.look import (
    BEST_EFFORT,
    CRITICAL,
    LOOKS_MAX,
    Allocation,
    Group,
    Look,
    Signal,
    Window,
)
from sojourn.models.league.machine import window
from sojourn.models.league.sharing import PERIOD_S

CPUS = 8
TARGET_S = 0.001
LENGTHS = (1, 5, 10, 150)  # windows, in periods


def looks(
    rate_rps: float, slack: float, seconds: float, seed: int, lengths: Sequence[int] = LENGTHS
) -> Iterator[Look]:
    """Looks of such a service, one a period.

    Args:
        rate_rps: requests/s; every window of 100 ms has a tenth of it. (With Poisson counts the
            rank ⌈0.99 n⌉ is the largest of 99 and the second of 100, and p99 more of an accident.)
        slack: 1 − true p99 / target.
        seconds: how long.
        seed: of everything.
        lengths: of the windows, in periods.
    """
    draw = np.random.default_rng(seed)
    mean_s = TARGET_S * (1 - slack) / math.log(100)
    times: deque[Any] = deque(maxlen=max(lengths))
    for i in range(round(seconds / PERIOD_S)):
        times.append(draw.exponential(mean_s, round(rate_rps * PERIOD_S)))
        windows = [
            window(np.concatenate(list(times)[-count:]), round(count * PERIOD_S * 1000), TARGET_S)
            for count in lengths
            if len(times) >= count
        ]
        yield _look(i, tuple(windows))


def counts(rate_rps: float, slack: float, seconds: float, seed: int) -> Iterator[Look]:
    """The same service, for a rule that reads counts only: `above` without any p99.

    The number of late requests of a period is drawn at once, so an hour at 50k requests/s takes
    seconds.
    """
    draw = np.random.default_rng(seed)
    late, n = 0.01 ** (1 / (1 - slack)), round(rate_rps * PERIOD_S)
    above = draw.binomial(n, late, round(seconds / PERIOD_S))
    total = np.concatenate([[0], np.cumsum(above)])
    for i in range(len(above)):
        yield _look(
            i,
            tuple(
                Window(
                    length_ms=round(count * PERIOD_S * 1000),
                    n=count * n,
                    above=int(total[i + 1] - total[i + 1 - count]),
                )
                for count in LENGTHS
                if i + 1 >= count
            ),
        )


def _look(i: int, windows: tuple[Window, ...]) -> Look:
    """The look at the end of a period: nothing but the windows ever changes."""
    web = Group(
        role=CRITICAL,
        target_ns=TARGET_S * 1e9,
        windows=windows,
        signals={
            "cpu": Signal(value=2.0),
            "load": Signal(value=0.4),
            "runq_delay_ms": Signal(value=0.0),
            "throttled": Signal(value=0.0),
        },
        allocation=Allocation(cores=4),
    )
    batch = Group(
        role=BEST_EFFORT,
        signals={"cpu": Signal(value=4.0)},
        allocation=Allocation(cores=4, idle=True),
    )
    host = {"cpu": Signal(value=6.0)}
    groups = {"web": web, "batch": batch}
    return Look(t_s=round((i + 1) * PERIOD_S, 4), cpus=CPUS, groups=groups, signals=host)


def acts(name: str, results: Iterable[Look]) -> float:
    """Share of windows at which a controller would act, if it never had acted before.

    Nothing that it decides is applied, and what it remembers of a step is forgotten, so that each
    window is asked for itself.
    """
    one = kind(name)
    constants = one.settled({})
    memory: Mapping[str, Any] = {}
    past: deque[Look] = deque(maxlen=LOOKS_MAX)
    count = acted = 0
    for look in results:
        past.append(look)
        decision = one.decide(History(looks=tuple(past), memory=memory, constants=constants))
        memory = {**decision.memory, "step": None}
        count += 1
        acted += bool(decision.changes)
    return acted / count


def actuations_per_h(name: str, results: Iterable[Look]) -> float:
    """Changes an hour, where each is in force afterwards and the latencies stay as they are."""
    one = kind(name)
    constants = one.settled({})
    memory: Mapping[str, Any] = {}
    now: dict[str, Allocation] = {}
    past: deque[Look] = deque(maxlen=LOOKS_MAX)
    count, seconds = 0, 0.0
    for look in results:
        seconds += PERIOD_S
        groups = {
            key: group.model_copy(update={"allocation": now.get(key, group.allocation)})
            for key, group in look.groups.items()
        }
        past.append(look.model_copy(update={"groups": groups}))
        decision = one.decide(History(looks=tuple(past), memory=memory, constants=constants))
        memory = decision.memory
        for change in decision.changes:
            before = now.get(change.group, groups[change.group].allocation)
            now[change.group] = before.model_copy(update={change.knob: change.level})
        count += len({(change.group, change.knob) for change in decision.changes})
    return count / (seconds / 3600)
