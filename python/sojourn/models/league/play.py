"""One rule in one scenario → a row; the best fixed allocation, by search."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from sojourn.controllers import KINDS, History, kind
from sojourn.controllers.look import LOOKS_MAX, Allocation, Change, Look
from sojourn.models.league.machine import Machine
from sojourn.models.league.scenarios import Moment, Scenario
from sojourn.models.league.sharing import BATCH, Shape

LATE = 0.01  # of a second's requests: more, and p99 of that second is above the target
SIGMAS = 2.0  # above that share: else chance makes a violation of every third second
SETTLED_S = 60.0  # after a step: how far settling is looked for
WINDOW_S = "window_s"  # of a rule's constants: the window that it asks for
WARM_S = 20  # at first: the controllers find their place; not counted as actuations or violations
QUOTAS = (6.0, 4.0, 3.0, 2.0, 1.5, 1.0, 0.5, 0.2, 0.05)  # of eight cores
OWN = (0, 1, 2, 3, 4, 5)


def grid(cores: int) -> tuple[Mapping[str, float], ...]:
    """Fixed allocations that the search for the best one tries, in proportion to the cores."""
    times = cores / Shape().cores
    return (
        {"idle": 1.0},
        *({"idle": 1.0, "quota": quota * times} for quota in QUOTAS),
        *({"cores": float(round(own * times))} for own in OWN),
    )


GRID = grid(Shape().cores)


class Simulated(Protocol):
    """A machine that is simulated from look to look; see `Machine`."""

    every_s: float
    now: dict[str, Allocation]
    late: list[int]
    done: list[int]
    job_s: float

    def period(self, moment: Moment) -> Look:
        """The time until the next look, and what there is to see."""

    def apply(self, changes: tuple[Change, ...]) -> None:
        """Levels are in force at once."""

    def add_window(self, length_ms: int) -> None:
        """Looks have a window of this length too; before the first look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What came of one run.

    Attributes:
        actuations_per_h: changes of levels, after the first seconds.
        reversals_per_h: changes of the job's level against the direction of the one before.
        violated_s: seconds with more late requests than 1 % by two standard deviations. Of a
            service with exactly 1 % these are 2 to 4 of 100 seconds.
        late: share of late requests in all of the scenario; the target holds up to 1 %.
        depth: share of late requests in those seconds.
        kept: CPU time of the job, as a share of the machine's.
        alone: the same without the service.
        busy: CPU time of the service without the job, as a share of the machine's.
        settled_s: mean time from a step to the last violated second of the minute behind it.
    """

    controller: str
    scenario: str
    seed: int
    actuations_per_h: float
    reversals_per_h: float
    violated_s: int
    late: float
    depth: float
    kept: float
    alone: float
    busy: float
    settled_s: float | None


def play(
    name: str,
    scenario: Scenario,
    seed: int,
    inputs: Mapping[str, float] | None = None,
    *,
    shape: Shape | None = None,
    machine: Callable[[Shape, int], Simulated] = Machine,
    see: Callable[[Look, Simulated], None] | None = None,
) -> Row:
    """Let a controller decide through a scenario.

    Args:
        name: of the controller.
        scenario: the load over time.
        seed: of arrivals and service times.
        inputs: constants that differ from the usual.
        shape: of the machine.
        machine: makes it, with a seed.
        see: called with each look, after its decision.
    """
    shape = shape or Shape()
    run, one = machine(shape, seed), kind(name)
    constants = one.settled(inputs or {})
    if WINDOW_S in constants:  # others do not see it: some rules read the longest window there is
        run.add_window(round(1000 * constants[WINDOW_S]))
    memory: Mapping[str, Any] = {}
    looks: deque[Look] = deque(maxlen=LOOKS_MAX)
    changes, levels, alone, busy = 0, [run.now[BATCH]], 0.0, 0.0
    count = round(scenario.length_s / run.every_s)
    for i in range(count):
        moment = scenario.at(i * run.every_s)
        alone += min(1.0, moment.wants) / count
        busy += moment.load * moment.slows * shape.peak_rps * shape.service_s / shape.cores / count
        looks.append(run.period(moment))
        history = History(looks=tuple(looks), memory=memory, constants=constants)
        decision = one.decide(history)
        memory = decision.memory
        run.apply(decision.changes)
        if see is not None:
            see(looks[-1], run)
        if i * run.every_s >= WARM_S:
            changes += len({(c.group, c.knob) for c in decision.changes})
            if any(c.group == BATCH for c in decision.changes):
                levels.append(run.now[BATCH])
    hours = (scenario.length_s - WARM_S) / 3600
    late = [
        t for t, (n, above) in enumerate(zip(run.done, run.late, strict=True))
        if t >= WARM_S and above > LATE * n + SIGMAS * math.sqrt(n * LATE * (1 - LATE))
    ]  # fmt: skip
    depth = [run.late[t] / max(1, run.done[t]) for t in late]
    return Row(
        controller=name,
        scenario=scenario.name,
        seed=seed,
        actuations_per_h=changes / hours,
        reversals_per_h=_reversals([_cpus(level, shape.cores) for level in levels]) / hours,
        violated_s=len(late),
        late=sum(run.late[WARM_S:]) / max(1, sum(run.done[WARM_S:])),
        depth=sum(depth) / len(depth) if depth else 0.0,
        kept=run.job_s / (shape.cores * scenario.length_s),
        alone=alone,
        busy=busy,
        settled_s=_settled(scenario.steps_s, late),
    )


def oracle(
    scenario: Scenario,
    seed: int,
    shape: Shape | None = None,
    *,
    grid: Sequence[Mapping[str, float]] = (),
    machine: Callable[[Shape, int], Simulated] = Machine,
) -> tuple[Mapping[str, float], Row]:
    """The fixed allocation with the fewest violated seconds; among equals, the most kept.

    Two that differ by no more than 1 % of the scenario's seconds are equal, because seeds differ
    by as much.
    """
    rows = [
        (inputs, play("static", scenario, seed, inputs, shape=shape, machine=machine))
        for inputs in grid or GRID
    ]
    least = min(row.violated_s for _, row in rows)
    most = least + 0.01 * scenario.length_s
    fine = [(the_inputs, row) for the_inputs, row in rows if row.violated_s <= most]
    return max(fine, key=lambda pair: pair[1].kept)


def names() -> tuple[str, ...]:
    """Controllers that need no number of their own: all but `static`, which is the oracle's."""
    return tuple(name for name in KINDS if name != "static")


def _cpus(level: object, cores: int) -> float:
    quota, own = getattr(level, "quota", None), getattr(level, "cores", None)
    return min(float(cores) if quota is None else quota, float(cores) if own is None else own)


def _reversals(levels: Sequence[float]) -> int:
    steps = [b - a for a, b in pairwise(levels) if b != a]
    return sum(a * b < 0 for a, b in pairwise(steps))


def _settled(steps_s: Sequence[float], late: Sequence[int]) -> float | None:
    if not steps_s:
        return None
    results = []
    for step_s in steps_s:
        behind = [t + 1 - step_s for t in late if step_s <= t < step_s + SETTLED_S]
        results.append(max(behind, default=0.0))
    return sum(results) / len(results)
