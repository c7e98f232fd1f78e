"""Settings in turn, until it is clear whether one is worse (M15, M16, M38).

A block holds one run of every service of `[compare]`, each from a fresh start, alone on the
machine, under the same offered load. For "max_rps" it has another run of each in a closed loop. The
order of a block is drawn from the study's seed, so that drift of the machine favours no service.
Without a difference, the log ratio of a block is as likely as its negative. After each block a test
that stays valid at all times says whether more are needed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from sojourn.plan import make
from sojourn.plan.points import Cell, Outcome, Phase, Point
from sojourn.plan.question import Known, OfAll, PhaseKind
from sojourn.plan.setting import EVERY, LOAD, RATE, TRACER, Setting
from sojourn.questions.compare import asks
from sojourn.questions.compare.block_runs import (
    FULL,
    PHASE,
    TRACED,
    differs,
    is_clear,
    phases,
)
from sojourn.spec import Study
from sojourn.spec.sides import run_s

NAME = "compare"
TRACED_REQUESTS = 4000  # the slowest 1 % are 40; the diff takes 20
TRACED_S, TRACED_S_MAX = 2.5, 30.0


class Compare(OfAll):
    """Which of several services is worse than the first; asked by the table `[compare]`."""

    name = NAME
    about = "services in turn: whether one is worse than the first"
    phases = (
        PhaseKind(name=PHASE, about="services in turn, each from a fresh start", is_about=True),
        PhaseKind(name=FULL, about="in turn in a closed loop, from a fresh start", is_about=True),
        PhaseKind(name=TRACED, about="traced, if one is worse or better", is_about=True),
    )
    is_in_turn = True

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
        """The next run of a block, then the next traced one; None when all are measured."""
        rate = offered(study, known)
        if rate is None:
            return None
        under = Setting.of({**levels, RATE: rate} if study.run.rates else
                           {**levels, LOAD: asks.of(study).load})  # fmt: skip
        part = share(study, known, rate)
        own = [outcome for outcome in outcomes if outcome.point.phase is not TRACED]
        spent_s = sum(outcome.wall_s for outcome in own)
        if spent_s < study.run.budget_s:
            settings = {PHASE: under, FULL: levels}
            if point := _next_in_turn(study, own, settings, rate, part):
                return point
        return _next_traced(study, outcomes, under, rate, part)


def _next_in_turn(
    study: Study,
    outcomes: Sequence[Outcome],
    settings: Mapping[Phase, Setting],
    rate: float,
    fraction: float,
) -> Point | None:
    """The next run of a block; None once the answer is clear, or all blocks are measured."""
    done = tried(study, outcomes)
    for block in range(asks.of(study).blocks):
        for label in order(study, block):
            for phase in phases(study):
                runs = done[label, phase].at(block, settings[phase])
                if not make.is_open(runs, study.run.retries) or make.is_overloaded(runs):
                    continue
                # Evidence only grows, so the blocks before these were looked at in their time.
                if is_clear(study, outcomes, block):
                    return None
                cell = Cell(label, phase, block, settings[phase])
                return make.longer(_point(study, cell, len(runs), rate, fraction), runs)
    return None


def _next_traced(
    study: Study, outcomes: Sequence[Outcome], under: Setting, rate: float, fraction: float
) -> Point | None:
    """The next traced run of a service; None if nothing differs, or all are measured."""
    own = [outcome for outcome in outcomes if outcome.point.phase is TRACED]
    if any(not outcome.requests for outcome in own):  # it cannot be traced
        return None
    if not asks.of(study).trace or not differs(study, outcomes):
        return None
    setting = Setting.of({**under, TRACER: EVERY})
    length_s = min(max(TRACED_S, TRACED_REQUESTS / rate), TRACED_S_MAX)
    done = {
        label: make.Tried((o for o in own if o.point.service == label), TRACED)
        for label in members(study)
    }
    for block in range(asks.of(study).trace):
        for label in order(study, block):
            if make.is_open(before := done[label].at(block, setting), study.run.retries):
                cell = Cell(label, TRACED, block, setting)
                return make.point(
                    study,
                    cell,
                    len(before),
                    measure_s=length_s,
                    offered_rps=rate,
                    fraction=fraction,
                )
    return None


def _point(study: Study, cell: Cell, attempt: int, rate: float, fraction: float) -> Point:
    measure_s = study.run.measure_s
    if cell.phase is FULL:
        as_fast = (("find_max", True),)
        return make.point(study, cell, attempt, measure_s=measure_s, overrides=as_fast)
    long_s = run_s(measure_s, rate, asks.of(study).numbers)
    return make.point(study, cell, attempt, measure_s=long_s, offered_rps=rate, fraction=fraction)


def members(study: Study) -> tuple[str, ...]:
    """Labels of the services that are there, the first one first.

    Before anything runs, each service is looked at in a study that has no other.
    """
    present = {service.label for service in study.services}
    return tuple(label for label in asks.of(study).services if label in present)


def offered(study: Study, known: Mapping[str, Known]) -> float | None:
    """The load of every service, requests/s; None while a max RPS is not known."""
    axes = [known[label].axis for label in members(study)]
    tops = [axis.rps for axis in axes if axis is not None]
    if len(tops) < len(axes) or not tops:
        return None  # its own answer says why
    return make.rounded(max(study.run.rates_rps, default=asks.of(study).load * min(tops)))


def share(study: Study, known: Mapping[str, Known], rate: float) -> float:
    """The load as a share of the lowest max RPS."""
    axes = (known[label].axis for label in members(study))
    return round(rate / min(axis.rps for axis in axes if axis is not None), 4)


def order(study: Study, block: int) -> list[str]:
    """The services of one block in the order in which they run."""
    labels = list(members(study))
    random.Random(make.seed_of(study, f"{NAME}/b{block}")).shuffle(labels)  # noqa: S311 - no secret
    return labels


def tried(study: Study, outcomes: Sequence[Outcome]) -> dict[tuple[str, Phase], make.Tried]:
    """The runs of each service in each phase."""
    return {
        (label, phase): make.Tried((o for o in outcomes if o.point.service == label), phase)
        for label in members(study)
        for phase in phases(study)
    }


KIND = Compare()
