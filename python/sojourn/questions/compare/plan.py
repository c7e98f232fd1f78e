"""Settings in turn, until it is clear whether one is worse (M15, M16, M38).

A block holds one run of every service of `[compare]`, each from a fresh start, alone on the
machine, under the same offered load. For "max_rps" it has another run of each in a closed loop. The
order of a block is drawn from the study's seed, so that drift of the machine favours no service.
Without a difference, the log ratio of a block is as likely as its negative. After each block a test
that stays valid at all times says whether more are needed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sojourn.plan import make
from sojourn.plan.points import Cell, Outcome, Phase, Point
from sojourn.plan.question import Known, OfAll, PhaseKind
from sojourn.plan.setting import LOAD, RATE, Setting
from sojourn.questions.compare import asks
from sojourn.spec import Study

NAME = "compare"
PHASE = Phase(NAME)
FULL = Phase("compare_max")  # as fast as it goes
MAX_RPS = "max_rps"
BLOCKS_LEAST = 7  # before that no test at 1 % can end
_FIELDS = {"mean": "mean_ns", "p50": "p50_ns", "p99": "p99_ns", "cpu": "cpu_ns"}

Logs = Mapping[str, list[float]]  # label/number → log ratio of each block to the first service's


@dataclass(frozen=True, slots=True)
class Runs:
    """The valid runs of one service in a block.

    Attributes:
        loaded: under the offered load; None: the queue grew, or no time is compared.
        full: in a closed loop; None: max RPS is not compared.
    """

    loaded: Outcome | None = None
    full: Outcome | None = None

    @property
    def all(self) -> Iterator[Outcome]:
        """The outcomes, without what lacks."""
        return (one for one in (self.loaded, self.full) if one is not None)


Block = Mapping[str, Runs]  # by label


class Compare(OfAll):
    """Which of several services is worse than the first; asked by the table `[compare]`."""

    name = NAME
    about = "services in turn: whether one is worse than the first"
    phases = (
        PhaseKind(name=PHASE, about="services in turn, each from a fresh start", is_about=True),
        PhaseKind(name=FULL, about="in turn in a closed loop, from a fresh start", is_about=True),
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
        """The next run of a block; None once the answer is clear, or all blocks are measured."""
        rate = offered(study, known)
        if rate is None or sum(outcome.wall_s for outcome in outcomes) >= study.run.budget_s:
            return None
        under = Setting.of({**levels, RATE: rate} if study.run.rates else
                           {**levels, LOAD: asks.of(study).load})  # fmt: skip
        settings = {PHASE: under, FULL: levels}
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
                    part = share(study, known, rate)
                    return make.longer(_point(study, cell, len(runs), rate, part), runs)
        return None


def phases(study: Study) -> tuple[Phase, ...]:
    """Those that the study's numbers take."""
    numbers = asks.of(study).numbers
    timed = (PHASE,) if any(number != MAX_RPS for number in numbers) else ()
    return (*timed, FULL) if MAX_RPS in numbers else timed


def _point(study: Study, cell: Cell, attempt: int, rate: float, fraction: float) -> Point:
    measure_s = study.run.measure_s
    if cell.phase is FULL:
        as_fast = (("find_max", True),)
        return make.point(study, cell, attempt, measure_s=measure_s, overrides=as_fast)
    return make.point(
        study, cell, attempt, measure_s=measure_s, offered_rps=rate, fraction=fraction
    )


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


def blocks_of(study: Study, outcomes: Sequence[Outcome]) -> list[Block]:
    """The blocks in which every service has all runs that its numbers take."""
    results: dict[int, dict[tuple[str, Phase], list[Outcome]]] = {}
    for outcome in outcomes:
        point = outcome.point
        if point.phase in {PHASE, FULL}:
            block = results.setdefault(point.repeat, {})
            block.setdefault((point.service, point.phase), []).append(outcome)
    labels, wanted = asks.of(study).services, phases(study)
    whole: list[Block] = []
    for number in sorted(results):
        each = {label: _runs(results[number], label, wanted) for label in labels}
        known = {label: runs for label, runs in each.items() if runs is not None}
        if len(known) == len(labels):
            whole.append(known)
    return whole


def _runs(
    block: Mapping[tuple[str, Phase], Sequence[Outcome]], label: str, wanted: Sequence[Phase]
) -> Runs | None:
    """Those of one service; None if one that is wanted is not there, or not valid."""
    valid: dict[Phase, Outcome | None] = {}
    for phase in wanted:
        own = block.get((label, phase), ())
        believed = [outcome for outcome in own if outcome.is_believed]
        if believed:
            valid[phase] = believed[0]
        elif phase is PHASE and make.is_overloaded(own):
            valid[phase] = None  # more than is served: its times are endless
        else:
            return None
    return Runs(loaded=valid.get(PHASE), full=valid.get(FULL))


def value_of(runs: Runs, number: str) -> float:
    """A number of a run, more is worse: ns, of max RPS the time for each request.

    Returns:
        `inf` if it has no end, nan if it was not counted.
    """
    if number == MAX_RPS:
        return 1e9 / runs.full.achieved_rps if runs.full and runs.full.achieved_rps else math.nan
    outcome = runs.loaded
    if outcome is None or (number != "cpu" and outcome.lost and outcome.mean_ns is None):
        return math.nan if number == "cpu" else math.inf
    result = getattr(outcome, _FIELDS[number])
    return math.nan if result is None else float(result)


def logs_of(study: Study, outcomes: Sequence[Outcome]) -> Logs:
    """Log ratios of each number of each service but the first, as `label/number`; a block each."""
    first, *others = asks.of(study).services
    blocks = blocks_of(study, outcomes)
    return {
        f"{label}/{number}": [
            _log(value_of(runs[first], number), value_of(runs[label], number)) for runs in blocks
        ]
        for label in others
        for number in asks.of(study).numbers
    }


def counted(logs: Logs) -> Logs:
    """Those that some block has: the family that is judged."""
    return {name: values for name, values in logs.items() if not all(map(math.isnan, values))}


def _log(first: float, other: float) -> float:
    if math.isnan(first) or math.isnan(other) or first <= 0 or other <= 0:
        return math.nan
    if math.isinf(first) and math.isinf(other):
        return math.nan  # neither is the longer one
    return math.log(other) - math.log(first)


def is_clear(study: Study, outcomes: Sequence[Outcome], block: int) -> bool:
    """Whether no more blocks are needed after so many."""
    from sojourn.stats import gate_rule, paired_ratio  # noqa: PLC0415  # a short plan needs none

    asked = asks.of(study)
    if block < BLOCKS_LEAST or members(study) != asked.services:
        return False
    known = counted(logs_of(study, [o for o in outcomes if o.point.repeat < block]))
    if asked.gate:
        return gate_rule.decide(known, asked.max_regression, asked.alpha).is_over
    limits = paired_ratio.Limits(alpha=asked.alpha, same=asked.same)
    judged = paired_ratio.judged(known, limits)
    return bool(judged) and all(
        one.judgement is not paired_ratio.Judgement.OPEN for one in judged.values()
    )


KIND = Compare()
