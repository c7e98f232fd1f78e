"""One rule in one scenario → a row; the best fixed allocation, by search."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sojourn.controllers import KINDS, History, kind
from sojourn.controllers.look import LOOKS_MAX, Look
from sojourn.models.league.machine import BATCH, PERIOD_S, Machine, Shape
from sojourn.models.league.scenarios import Scenario

LATE = 0.01  # of a second's requests: more, and p99 of that second is above the target
SIGMAS = 2.0  # above that share: else chance makes a violation of every third second
SETTLED_S = 60.0  # after a step: how far settling is looked for
WARM_S = 20  # at first: the controllers find their place; not counted as actuations or violations
#: Fixed allocations that the search for the best one tries.
GRID: tuple[Mapping[str, float], ...] = (
    {"idle": 1.0},
    *({"idle": 1.0, "quota": quota} for quota in (6.0, 4.0, 3.0, 2.0, 1.5, 1.0, 0.5, 0.2, 0.05)),
    *({"cores": cores} for cores in (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What came of one run.

    Attributes:
        actuations_per_h: changes of levels, after the first seconds.
        reversals_per_h: changes of the job's level against the direction of the one before.
        violated_s: seconds with more late requests than a service with exactly 1 % has in 49 of
            50 seconds.
        late: share of late requests in all of the scenario; the target holds up to 1 %.
        depth: share of late requests in those seconds.
        kept: CPU time of the job, as a share of the machine's.
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
    settled_s: float | None


def play(
    name: str,
    scenario: Scenario,
    seed: int,
    inputs: Mapping[str, float] | None = None,
    *,
    shape: Shape | None = None,
    see: Callable[[Look, Machine], None] | None = None,
) -> Row:
    """Let a controller decide through a scenario.

    Args:
        name: of the controller.
        scenario: the load over time.
        seed: of arrivals and service times.
        inputs: constants that differ from the usual.
        shape: of the machine.
        see: called with each look, after its decision.
    """
    shape = shape or Shape()
    machine, one = Machine(shape, seed), kind(name)
    constants = one.settled(inputs or {})
    memory: Mapping[str, Any] = {}
    looks: deque[Look] = deque(maxlen=LOOKS_MAX)
    changes, levels = 0, [machine.now[BATCH]]
    for i in range(round(scenario.length_s / PERIOD_S)):
        looks.append(machine.period(scenario.at(i * PERIOD_S)))
        history = History(looks=tuple(looks), memory=memory, constants=constants)
        decision = one.decide(history)
        memory = decision.memory
        machine.apply(decision.changes)
        if see is not None:
            see(looks[-1], machine)
        if i * PERIOD_S >= WARM_S:
            changes += len({(c.group, c.knob) for c in decision.changes})
            if any(c.group == BATCH for c in decision.changes):
                levels.append(machine.now[BATCH])
    hours = (scenario.length_s - WARM_S) / 3600
    late = [
        t for t, (n, above) in enumerate(zip(machine.done, machine.late, strict=True))
        if t >= WARM_S and above > LATE * n + SIGMAS * math.sqrt(n * LATE * (1 - LATE))
    ]  # fmt: skip
    depth = [machine.late[t] / max(1, machine.done[t]) for t in late]
    return Row(
        controller=name,
        scenario=scenario.name,
        seed=seed,
        actuations_per_h=changes / hours,
        reversals_per_h=_reversals([_cpus(level, shape.cores) for level in levels]) / hours,
        violated_s=len(late),
        late=sum(machine.late[WARM_S:]) / max(1, sum(machine.done[WARM_S:])),
        depth=sum(depth) / len(depth) if depth else 0.0,
        kept=machine.job_s / (shape.cores * scenario.length_s),
        settled_s=_settled(scenario.steps_s, late),
    )


def oracle(
    scenario: Scenario, seed: int, shape: Shape | None = None
) -> tuple[Mapping[str, float], Row]:
    """The fixed allocation with the fewest violated seconds; among equals, the most kept.

    Two that differ by no more than 1 % of the scenario's seconds are equal, because seeds differ
    by as much.
    """
    rows = [(inputs, play("static", scenario, seed, inputs, shape=shape)) for inputs in GRID]
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
