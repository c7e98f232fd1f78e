"""Points that are traced: each condition with the tracer and without it, side by side (M21).

A study with `trace = true` has its loads traced after everything else. The goal "breakdown" adds
the other columns of the papers' tables: one request at a time, the same with a CPU-bound task on
the core, and the highest load with a task that streams through memory (L12, C8, C9). The order of
conditions, and of "with" and "without" in each, is drawn anew for every block (M16).

A point is as long as its tracer needs to answer: windows have to be several, and whoever is to be
named must show in several pieces of the time.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.plan import make
from sojourn.plan.axis import Axis
from sojourn.plan.points import Cell, Outcome, Phase, Point
from sojourn.plan.setting import CONDITION, LOAD, TRACER, Setting
from sojourn.spec import ServiceSpec, Study

UNLOADED = "unloaded"
CONTEXT_SWITCH = "context_switch"
LOADED = "loaded"
INTERFERENCE = "interference"
DISTURBED = frozenset({CONTEXT_SWITCH, INTERFERENCE})  # by a task of ours, on purpose
UNLOADED_SHARE = 0.01  # of max RPS, on one connection: next to never two requests at once

# The tracer's windows at its default cost of 2 %: one in every SLOT_S, WINDOW_S long or longer. If
# the service loses a quarter while hooks are attached that is 0.8 s, and more where attaching them
# takes longer than it expects (`crates/trace/src/window/duty.rs`). It believes no result of fewer
# than five windows, nor p99 of fewer than 1000 requests.
SLOT_S, WINDOW_S = 1.0, 0.02
WINDOWS, IN_WINDOWS = 12, 1500
WINDOWED_S_MAX = 30.0  # at a load so small that even this is too short, the point is unknown
# Whoever is named must show in more than one piece of half a second, of which there are twenty
# (`crates/trace/src/culprit/rule.rs`): one stall is no culprit.
BLAMED_S = 10.0


@dataclass(frozen=True, slots=True)
class Condition:
    """What a traced point is measured under.

    Attributes:
        name: one of the constants above.
        fraction: load as a share of max RPS.
    """

    name: str
    fraction: float

    def setting(self, *, is_traced: bool) -> Setting:
        """What a point under it is measured under, with the tracer or without."""
        return Setting.of({CONDITION: self.name, LOAD: self.fraction, TRACER: is_traced})


def conditions(study: Study, service: ServiceSpec) -> tuple[Condition, ...]:
    """What is traced of a service, in the order of the papers' columns; () if nothing is."""
    is_full = "breakdown" in service.measure
    if not (is_full or study.trace) or "check" in service.measure:
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


def is_blamed(service: ServiceSpec, condition: Condition) -> bool:
    """Whether it is asked who made the slowest requests slow: where requests meet others."""
    return "breakdown" in service.measure and condition.name in {LOADED, INTERFERENCE}


def length_s(study: Study, service: ServiceSpec, condition: Condition, offered_rps: float) -> float:
    """Measured part of a traced point and of its twin, s: the study's, or what the tracer needs."""
    asked_s = study.run.measure_s
    if is_blamed(service, condition):
        return max(asked_s, BLAMED_S)
    if "breakdown" in service.measure:  # every request is traced
        return asked_s
    windows = max(WINDOWS, math.ceil(IN_WINDOWS / max(1.0, offered_rps * WINDOW_S)))
    return max(asked_s, min(WINDOWED_S_MAX, math.ceil(windows * SLOT_S)))


def of(point: Point) -> tuple[Condition, bool]:
    """The condition of a traced point, and whether the tracer runs; KeyError if it is none."""
    levels = point.setting
    return Condition(str(levels[CONDITION]), float(levels[LOAD])), levels[TRACER] is True


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
    done = make.Tried(outcomes, Phase.TRACE)
    retries = 0 if is_late else study.run.retries
    for block in range(study.run.repeats if conditions(study, service) else 0):
        for condition, is_traced in order(study, service, block):
            setting = condition.setting(is_traced=is_traced)
            tried = done.at(block, setting)
            if make.is_open(tried, retries):
                offered_rps = condition.fraction * axis.rps
                return make.point(
                    study,
                    Cell(service.label, Phase.TRACE, block, setting),
                    len(tried),
                    measure_s=length_s(study, service, condition, offered_rps),
                    offered_rps=offered_rps,
                    fraction=condition.fraction,
                    overrides=_overrides(condition),
                )
    return None


def order(study: Study, service: ServiceSpec, block: int) -> list[tuple[Condition, bool]]:
    """Conditions of one block, with the tracer and without, in the order of measurement."""
    name = Cell(service.label, Phase.TRACE, block).key()
    drawn = random.Random(make.seed_of(study, name))  # noqa: S311 - not a secret
    wanted = list(conditions(study, service))
    drawn.shuffle(wanted)
    found: list[tuple[Condition, bool]] = []
    for condition in wanted:
        pair = [True, False]
        drawn.shuffle(pair)
        found += [(condition, is_traced) for is_traced in pair]
    return found


def _overrides(condition: Condition) -> tuple[tuple[str, str | float | int | bool], ...]:
    is_alone = condition.name in {UNLOADED, CONTEXT_SWITCH}
    return (("connections", 1), ("threads", 1)) if is_alone else ()
