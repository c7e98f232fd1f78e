"""Points that are traced: each setting with the tracer and without it, side by side (M21).

A study with `trace = true` has its loads traced after everything else. The goal "breakdown" adds
the other columns of the papers' tables: one request at a time, the same beside a CPU-bound task on
the core, and the highest load beside a task that streams through memory (L12, C8, C9). A study that
has a neighbour of its own has it beside all of them, and none of these two. The order of settings,
and of "with" and "without" in each, is drawn anew for every block (M16).

A point is as long as its tracer needs to answer: windows have to be several, and whoever is to be
named must show in several pieces of the time.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from sojourn.plan import make
from sojourn.plan.axis import Axis
from sojourn.plan.points import Cell, Outcome, Phase, Point
from sojourn.plan.setting import (
    CONNECTIONS,
    EVERY,
    LOAD,
    NEIGHBOUR,
    TRACER,
    Level,
    Setting,
)
from sojourn.spec import ServiceSpec, Study

NO_NEIGHBOUR, SPIN, STREAM = "none", "spin", "stream"  # neighbours
UNLOADED_SHARE = 0.01  # of max RPS, on one connection: next to never two requests at once

# The tracer's windows at its default cost of 2 %, culprits included: one in every SLOT_S, WINDOW_S
# long or longer (`trace/src/reconstruct/window/duty.rs`). Without culprits it expects one in
# 0.55 s; with them memcached at half load had 7 and 8 in 12 s, for attaching takes longer (the
# journal's entry on culprits). It believes no result of fewer than five windows.
SLOT_S, WINDOW_S = 1.6, 0.02
WINDOWS = 10
# p99 of so many requests has a tail of twenty, with fewer no one is named
# (`crates/trace/src/culprit/rule.rs`); p99 itself needs half of them.
IN_WINDOWS = 2000
# Whoever is named must show in more than one piece of half a second, of which there are twenty
# (the same rule): one stall is no culprit.
BLAMED_S = 10.0


def settings(study: Study, service: ServiceSpec) -> tuple[Setting, ...]:
    """What a service is traced under, in the order of the papers' columns; () if it is not.

    They say nothing of the tracer: each is measured with it and without.
    """
    is_full = "breakdown" in service.measure
    if not (is_full or study.trace) or "check" in service.measure:
        return ()
    beside = study.neighbour
    loaded = tuple(_setting(fraction, beside) for fraction in study.run.fractions)
    if not is_full:
        return loaded
    alone = _setting(UNLOADED_SHARE, beside, is_alone=True)
    if beside != NO_NEIGHBOUR:
        return (alone, *loaded)
    return (
        alone,
        _setting(UNLOADED_SHARE, SPIN, is_alone=True),
        *loaded,
        _setting(study.run.fractions[-1], STREAM),
    )


def _setting(fraction: float, neighbour: str, *, is_alone: bool = False) -> Setting:
    alone = {CONNECTIONS: 1} if is_alone else {}
    return Setting.of({LOAD: fraction, NEIGHBOUR: neighbour, **alone})


def is_blamed(setting: Setting) -> bool:
    """Whether it is asked who made the slowest requests slow: where requests meet others."""
    return not is_alone(setting)


def is_alone(setting: Setting) -> bool:
    """Whether there is one request at a time."""
    return setting.get(CONNECTIONS) == 1


def length_s(study: Study, setting: Setting, offered_rps: float) -> float:
    """Measured part of a traced point and of its twin, s: the study's, or what the tracer needs."""
    asked_s = study.run.measure_s
    if not is_blamed(setting):  # every request is traced
        return asked_s
    windowed_s = max(asked_s, WINDOWS * SLOT_S)
    return windowed_s if has_windows(offered_rps, windowed_s) else max(asked_s, BLAMED_S)


def in_windows(offered_rps: float, length_s: float) -> float:
    """Requests that are expected to come in the windows of so long a point."""
    return offered_rps * length_s * WINDOW_S / SLOT_S


def has_windows(offered_rps: float, length_s: float) -> bool:
    """Whether the tracer works in windows; where too few requests come in them, of every request.

    To trace every request costs a third of a busy service, and little of one that has little to do.
    """
    return in_windows(offered_rps, length_s) >= IN_WINDOWS


def of(point: Point) -> tuple[Setting, bool]:
    """A traced point's setting as in `settings`, and whether the tracer runs.

    Levels of other factors of the study are left out. KeyError if it is no traced point.
    """
    levels: dict[str, Level] = {name: point.setting[name] for name in (LOAD, NEIGHBOUR)}
    if is_alone(point.setting):
        levels[CONNECTIONS] = 1
    return Setting.of(levels), point.setting[TRACER] is True


def has_tracer(point: Point) -> bool:
    """Whether the tracer runs beside it."""
    return point.setting.get(TRACER) in {True, EVERY}


def is_disturbed(point: Point) -> bool:
    """Whether its setting has a neighbour, who disturbs the server on purpose."""
    return point.setting.get(NEIGHBOUR, NO_NEIGHBOUR) != NO_NEIGHBOUR


def disturbs(study: Study, service: ServiceSpec) -> bool:
    """Whether somebody disturbs the server in some of its traced points."""
    return any(setting[NEIGHBOUR] != NO_NEIGHBOUR for setting in settings(study, service))


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
    for block in range(study.run.repeats if settings(study, service) else 0):
        for setting, is_traced in order(study, service, block):
            whole = Setting.of({**setting, TRACER: is_traced})
            tried = done.at(block, whole)
            if make.is_open(tried, retries):
                fraction = float(setting[LOAD])
                offered_rps = fraction * axis.rps
                return make.point(
                    study,
                    Cell(service.label, Phase.TRACE, block, whole),
                    len(tried),
                    measure_s=length_s(study, setting, offered_rps),
                    offered_rps=offered_rps,
                    fraction=fraction,
                    overrides=(("connections", 1), ("threads", 1)) if is_alone(setting) else (),
                )
    return None


def order(study: Study, service: ServiceSpec, block: int) -> list[tuple[Setting, bool]]:
    """Settings of one block, with the tracer and without, in the order of measurement."""
    name = Cell(service.label, Phase.TRACE, block).key()
    drawn = random.Random(make.seed_of(study, name))  # noqa: S311 - not a secret
    wanted = list(settings(study, service))
    drawn.shuffle(wanted)
    results: list[tuple[Setting, bool]] = []
    for setting in wanted:
        pair = [True, False]
        drawn.shuffle(pair)
        results += [(setting, is_traced) for is_traced in pair]
    return results
