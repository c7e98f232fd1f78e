"""Points that are traced: each condition with the tracer and without it, side by side (M21).

A study with `trace = true` has its loads traced after everything else. The goal "breakdown" adds
the other columns of the papers' tables: one request at a time, the same with a CPU-bound task on
the core, and the highest load with a task that streams through memory (L12, C8, C9). The order of
conditions, and of "with" and "without" in each, is drawn anew for every block (M16).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.plan import make
from sojourn.plan.axis import Axis
from sojourn.plan.points import Outcome, Phase, Point
from sojourn.spec import Goal, ServiceSpec, Study

UNLOADED = "unloaded"
CONTEXT_SWITCH = "context_switch"
LOADED = "loaded"
INTERFERENCE = "interference"
DISTURBED = frozenset({CONTEXT_SWITCH, INTERFERENCE})  # by a task of ours, on purpose
UNLOADED_SHARE = 0.01  # of max RPS, on one connection: next to never two requests at once


@dataclass(frozen=True, slots=True)
class Condition:
    """What a traced point is measured under.

    Attributes:
        name: one of the constants above.
        fraction: load as a share of max RPS.
    """

    name: str
    fraction: float

    @property
    def key(self) -> str:
        """As it stands in a point's key."""
        return f"{self.name}-f{self.fraction:.2f}"


def conditions(study: Study, service: ServiceSpec) -> tuple[Condition, ...]:
    """What is traced of a service, in the order of the papers' columns; () if nothing is."""
    is_full = Goal.BREAKDOWN in service.measure
    if not (is_full or study.trace) or Goal.CHECK in service.measure:
        return ()
    loaded = tuple(Condition(LOADED, fraction) for fraction in study.run.fractions)
    if not is_full:
        return loaded
    return (
        Condition(UNLOADED, UNLOADED_SHARE),
        Condition(CONTEXT_SWITCH, UNLOADED_SHARE),
        *loaded,
        Condition(INTERFERENCE, study.run.fractions[-1]),
    )


def of(point: Point) -> tuple[Condition, bool]:
    """The condition of a traced point, and whether the tracer runs; ValueError if it is none."""
    *_, condition, which = point.key.split("/")
    name, _, fraction = condition.partition("-f")
    return Condition(name, float(fraction)), which.partition("~")[0] == "with"


def is_disturbed(point: Point) -> bool:
    """Whether a task that disturbs the server is what the point is about."""
    return point.phase is Phase.TRACE and of(point)[0].name in DISTURBED


def disturbs(study: Study, service: ServiceSpec) -> bool:
    """Whether a task that disturbs the server runs in some of its traced points."""
    wanted = conditions(study, service)
    return any(condition.name in DISTURBED for condition in wanted)


def next_run(
    study: Study,
    service: ServiceSpec,
    outcomes: Sequence[Outcome],
    axis: Axis,
    *,
    is_late: bool,
) -> Point | None:
    """The next traced point, or its untraced twin; None when there are enough."""
    done = make.by_key(outcomes)
    retries = 0 if is_late else study.run.retries
    for block in range(study.run.repeats if conditions(study, service) else 0):
        for condition, key in order(study, service, block):
            tried = make.attempts(key, done)
            if make.is_open(tried, retries):
                return make.point(
                    study,
                    make.attempt(key, len(tried)),
                    Phase.TRACE,
                    measure_s=study.run.measure_s,
                    offered_rps=condition.fraction * axis.rps,
                    fraction=condition.fraction,
                    repeat=block,
                    overrides=_overrides(condition),
                )
    return None


def order(study: Study, service: ServiceSpec, block: int) -> list[tuple[Condition, str]]:
    """Conditions and keys of one block, in the order in which they are measured."""
    prefix = f"{service.label}/trace/b{block}"
    drawn = random.Random(make.seed_of(study, prefix))  # noqa: S311 - not a secret
    wanted = list(conditions(study, service))
    drawn.shuffle(wanted)
    found: list[tuple[Condition, str]] = []
    for condition in wanted:
        pair = ["with", "without"]
        drawn.shuffle(pair)
        found += [(condition, f"{prefix}/{condition.key}/{which}") for which in pair]
    return found


def _overrides(condition: Condition) -> tuple[tuple[str, str | float | int | bool], ...]:
    is_alone = condition.name in {UNLOADED, CONTEXT_SWITCH}
    return (("connections", 1), ("threads", 1)) if is_alone else ()
