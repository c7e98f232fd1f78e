"""Services at once, each under a load of its own from the same instant on (L19, C22).

Every combination of the loads in `[together]` is measured once per block, and every load with
no one else on the stage. So what the others do is a ratio within a block, whatever the machine does
from block to block. The order of a block is drawn from the study's seed (M16). Factors multiply all
of that: what one does to the other is compared under equal levels, alone under these levels, too.

A measurement is one point of each service that takes part: the first has the others `beside` it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sojourn.plan import make
from sojourn.plan.points import Cell, Outcome, Phase, Point, Verdict
from sojourn.plan.question import Known, OfAll, PhaseKind
from sojourn.plan.setting import Setting
from sojourn.questions.together import asks
from sojourn.spec import Study

NAME = "together"
PHASE = Phase(NAME)
FACTOR = "load."  # and the service's label


class Together(OfAll):
    """What services do to each other; asked by the study's table `[together]`."""

    name = NAME
    about = "several services at once, and each of them alone"
    phases = (PhaseKind(name=PHASE, about="services at once, and each alone", is_bare=True),)

    def members(self, study: Study) -> tuple[str, ...]:
        """Those in the study's table."""
        return members(study)

    def next_of_all(
        self,
        study: Study,
        levels: Setting,
        known: Mapping[str, Known],
        outcomes: Sequence[Outcome],
    ) -> Point | None:
        """The next combination or load alone."""
        return next_run(study, levels, known, outcomes)


def loads(study: Study) -> tuple[Mapping[str, float], ...]:
    """The measurements of a block: service → share of its max RPS; who is not named is away."""
    levels = [(label, asks.of(study)[label]) for label in members(study)]
    alone = [{label: load} for label, each in levels for load in each]
    pairs = [[(label, load) for load in each] for label, each in levels]
    return (*alone, *(dict(chosen) for chosen in itertools.product(*pairs))) if levels else ()


def members(study: Study) -> tuple[str, ...]:
    """Labels of the services that take part, in the study's order."""
    return tuple(s.label for s in study.services if s.label in asks.of(study))


def setting_of(shares: Mapping[str, float], levels: Setting) -> Setting:
    """What the points of a measurement are measured under: one setting for all of them."""
    return Setting.of({**levels, **{FACTOR + label: share for label, share in shares.items()}})


def shares_of(point: Point) -> dict[str, float]:
    """Service → share of its max RPS, of one of these points."""
    named = {name: level for name, level in point.setting.items() if name.startswith(FACTOR)}
    return {name.removeprefix(FACTOR): float(level) for name, level in named.items()}


def next_run(
    study: Study, levels: Setting, known: Mapping[str, Known], outcomes: Sequence[Outcome]
) -> Point | None:
    """The next measurement, or None when there are enough.

    Args:
        study: that has services together.
        levels: of the study's factors, where it has some.
        known: load axis and QoS target, by service.
        outcomes: of all services, under these levels.
    """
    if any(known[label].axis is None for label in members(study)):
        return None  # its own answer says why
    done = {
        label: make.Tried((o for o in outcomes if o.point.service == label), PHASE)
        for label in members(study)
    }
    for block in range(study.run.repeats if done else 0):
        open_runs = []
        for shares in order(study, block):
            setting = setting_of(shares, levels)
            tried = {label: done[label].at(block, setting) for label in shares}
            attempts = max(len(runs) for runs in tried.values())
            if whole(tried) is None and attempts <= study.run.retries:
                open_runs.append((attempts > 0, shares, attempts))
        if open_runs:  # what was never tried comes first, repetitions at the end of their block
            _, shares, attempts = min(open_runs, key=lambda run: run[0])
            cell = Cell("", PHASE, block, setting_of(shares, levels))
            return measurement(study, known, shares, cell, attempts)
    return None


def whole(tried: Mapping[str, Sequence[Outcome]]) -> Mapping[str, Outcome] | None:
    """What became of each service in the first attempt in which all were believed; None: in none.

    Where one was not, no one knows what the others were measured beside, whatever they saw. A run
    that was killed may have left the outcome of one service and not of another, so outcomes are put
    together by the keys of their attempt and not by their number.

    Args:
        tried: all outcomes of one measurement of a block, by service.
    """
    for attempt in range(max(map(len, tried.values()), default=0)):
        outcomes = {
            label: outcome
            for label, runs in tried.items()
            for outcome in runs
            if outcome.point.key == outcome.point.cell.key(attempt)
            and outcome.verdict is not Verdict.UNKNOWN
        }
        if len(outcomes) == len(tried):
            return outcomes
    return None


def order(study: Study, block: int) -> list[Mapping[str, float]]:
    """The measurements of one block in the order in which they are made."""
    wanted = list(loads(study))
    random.Random(make.seed_of(study, f"together/b{block}")).shuffle(wanted)  # noqa: S311 - no secret
    return wanted


def measurement(
    study: Study, known: Mapping[str, Known], shares: Mapping[str, float], cell: Cell, attempt: int
) -> Point:
    """A point of each service at its share of max RPS; the first has the others beside it.

    Args:
        study: that has services together.
        known: load axis and QoS target, by service.
        shares: of max RPS, by service.
        cell: of all of them, whichever service it names.
        attempt: at that cell, from 0.
    """
    points = []
    for label, share in shares.items():
        axis, target = known[label].axis, known[label].target
        assert axis is not None  # noqa: S101  # `next_run` asked
        points.append(
            make.point(
                study,
                replace(cell, service=label),
                attempt,
                measure_s=study.run.measure_s,
                offered_rps=share * axis.rps,
                fraction=share,
                overrides=target.overrides if target else (),
            )
        )
    return replace(points[0], beside=tuple(points[1:]))


KIND = Together()
