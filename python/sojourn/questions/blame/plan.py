"""Which neighbour makes a service miss its target, and through which resource (M17, M22).

Two kinds of points. In the first all suspects run, and the tracer, where it can be had, says whom
the slowest requests waited for: that names suspects, and decides nothing. In the second, which is
an experiment, suspects are stopped for a window at a time, in blocks in which every state comes
once, in an order drawn by lot. A state says who is stopped:

    no one                       the service as it is
    one                          what it would be without that one
    all but one, for each        what that one does by itself, which another may hide
    all                          what is left when no one is there

The actor `blame` draws the same order from the point's seed and keeps a log of what it did.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sojourn import units
from sojourn.plan import make, traced
from sojourn.plan.points import Cell, Outcome, Phase, Point
from sojourn.plan.question import Known, PhaseKind, Question
from sojourn.plan.setting import NEIGHBOUR, Setting
from sojourn.questions.blame import asks
from sojourn.questions.blame.asks import Blame as Asked
from sojourn.spec import ServiceSpec, Study
from sojourn.spec.words import parted

NAME = "blame"
PHASE, LOOK = Phase(NAME), Phase("blame_look")
PHASES = frozenset({PHASE, LOOK})
LEAST = {"quick": 13, "standard": 20, "full": 40}  # blocks of one start
ALPHA = 0.05
SURER = 2.0  # the least p-value that there can be is so much below what is needed
BEFORE_S = 2.5  # of load before the first window, for the lab to hear of it, and after the last
SPARE = 1.05  # times the windows' own length: to stop, to let go and to count takes some too
IN_TAIL = 10  # requests above the quantile that one window should hold

State = frozenset[int]  # numbers of the suspects that are stopped


class Blame(Question):
    """A look and an experiment for each start of the service."""

    name = NAME
    about = "which neighbour makes it miss its target, on which resource, by stopping each"
    phases = (
        PhaseKind(
            name=LOOK,
            about="whom the slowest requests wait for",
            is_bare=True,
            keeps=NAME,
            grows_with=(),
        ),
        PhaseKind(
            name=PHASE,
            about="each suspect stopped and not, in turn",
            is_bare=True,
            is_raw=True,
            is_experiment=True,
            keeps=NAME,
            grows_with=("run.repeats",),
        ),
    )
    needs_axis = False
    tables = ("qos", "blame")
    is_alone = True

    def next_point(
        self, study: Study, service: ServiceSpec, known: Known, outcomes: Sequence[Outcome]
    ) -> Point | None:
        """One look, then an experiment for each block of the study, beside every neighbour."""
        del known
        point = self._next(study, service, outcomes)
        if point is None:
            return None
        (kind,) = (kind for kind in self.phases if kind.name is point.phase)
        rules = replace(kind.rules, neighbours=neighbours(study, service))
        return replace(point, rules=rules)

    def _next(
        self, study: Study, service: ServiceSpec, outcomes: Sequence[Outcome]
    ) -> Point | None:
        asked = asks.of(service)
        if asked is None:
            return None
        rps = units.parse_count(asked.rate)
        if asked.trace and not make.Tried(outcomes, LOOK).at(0, Setting()):
            length_s = traced.length_s(study, Setting(), rps)
            cell = Cell(service.label, LOOK)
            return make.point(study, cell, measure_s=length_s, offered_rps=rps)
        done = make.Tried(outcomes, PHASE)
        for block in range(study.run.repeats):
            cell = Cell(service.label, PHASE, block)
            tried = done.at(block, cell.setting)
            if make.is_open(tried, study.run.retries):
                length_s = experiment_s(study, service, asked)
                return make.point(study, cell, len(tried), measure_s=length_s, offered_rps=rps)
        return None

    def neighbours(self, study: Study, service: ServiceSpec) -> tuple[str, ...]:
        """Those that are started beside it."""
        return neighbours(study, service)

    def stops(self, service: ServiceSpec) -> tuple[str, ...]:
        """Suspects that run already, and may be stopped."""
        asked = asks.of(service)
        return tuple(parted(asked.suspects)) if asked else ()

    def shortfalls(
        self, study: Study, service: ServiceSpec, points: Sequence[Point]
    ) -> Iterator[str]:
        """Whether a window has too few requests for its quantile."""
        del study
        asked, qos = asks.of(service), service.qos
        if asked is None or qos is None or not any(p.phase is PHASE for p in points):
            return
        counted_s = (asked.window_ns - asked.settle_ns) / 1e9
        above = (1 - qos.q) * units.parse_count(asked.rate) * counted_s
        if above < IN_TAIL:
            length_s = asked.window_ns / 1e9 * IN_TAIL / above
            yield (
                f"{service.label}: a window of {asked.window} has {above:.1f} requests above the "
                f"quantile, {IN_TAIL} should be; --set services.{service.label}.blame.window="
                f"{math.ceil(length_s)}s"
            )


def suspects(study: Study, service: ServiceSpec, point: Point | None = None) -> tuple[str, ...]:
    """Everybody who is suspected, as the study names them: neighbours first.

    Args:
        study: of one combination of levels.
        service: of which it is asked.
        point: whose setting may name the study's neighbour.
    """
    beside = study.neighbour if point is None else point.setting.get(NEIGHBOUR, study.neighbour)
    asked = asks.of(service)
    named = [*parted(asked.neighbours), *parted(asked.suspects)] if asked else []
    own = [] if beside == traced.NO_NEIGHBOUR else [str(beside)]
    return tuple(dict.fromkeys([*own, *named]))


def neighbours(study: Study, service: ServiceSpec, point: Point | None = None) -> tuple[str, ...]:
    """Those among them that are started beside the service."""
    asked = asks.of(service)
    others = set(parted(asked.suspects)) if asked else set()
    return tuple(one for one in suspects(study, service, point) if one not in others)


def states(count: int) -> tuple[State, ...]:
    """Who is stopped in each window of a block, `count` suspects in all; each state once.

    >>> [sorted(state) for state in states(2)]
    [[], [0], [1], [0, 1]]
    >>> len(states(0)), len(states(1)), len(states(3)), len(states(4))
    (1, 2, 8, 10)
    """
    every = frozenset(range(count))
    results = [frozenset[int](), *(frozenset({n}) for n in every), *(every - {n} for n in every)]
    return tuple(dict.fromkeys([*results, every]))


def order(count: int, blocks: int, seed: int) -> Iterator[tuple[int, State]]:
    """(block, who is stopped) of every window in its order, drawn anew for each block.

    Args:
        count: of suspects.
        blocks: how many.
        seed: of the point.
    """
    drawn = random.Random(seed)  # noqa: S311 - not a secret
    for block in range(blocks):
        own = list(states(count))
        drawn.shuffle(own)
        yield from zip(itertools.repeat(block), own)


def contrasts(count: int) -> int:
    """How many comparisons are judged together: two a suspect, one where they are the same."""
    return count if count <= 1 else 2 * count


def blocks(study: Study, asked: Asked, count: int) -> int:
    """Blocks of one start: as asked, or enough for a p-value that survives the correction.

    A block more halves the least p-value that a randomisation test of pairs can give.
    """
    if asked.blocks:
        return asked.blocks
    whole = math.ceil(math.log2(2 * SURER * max(1, contrasts(count)) / ALPHA))
    return max(LEAST[study.run.profile], math.ceil(whole / study.run.repeats))


def experiment_s(study: Study, service: ServiceSpec, asked: Asked) -> float:
    """Measured part of a point of the experiment, s."""
    count = len(suspects(study, service))
    windows = blocks(study, asked, count) * len(states(count))
    return max(study.run.measure_s, SPARE * windows * asked.window_ns / 1e9 + BEFORE_S)


KIND = Blame()
