"""Blocks of a comparison: their runs, numbers and log ratios."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sojourn.plan import make
from sojourn.plan.points import Outcome, Phase
from sojourn.questions.compare import asks
from sojourn.spec import Study
from sojourn.spec.sides import P999

if TYPE_CHECKING:
    from sojourn.stats.gate_rule import Decision
    from sojourn.stats.paired_ratio import Judgement

PHASE = Phase("compare")
FULL = Phase("compare_max")  # as fast as it goes
TRACED = Phase("compare_trace")
MAX_RPS = "max_rps"
FAILED_MAX = 0.01  # of a run's requests: more make it void where there is no target
BLOCKS_LEAST = 7  # before that no test at 1 % can end
_FIELDS = {
    "mean": "mean_ns",
    "p50": "p50_ns",
    "p99": "p99_ns",
    P999: "p999_ns",
    "cpu": "cpu_ns",
}

Logs = Mapping[str, list[float]]  # label/number → log ratio of each block to the first service's


@dataclass(frozen=True, slots=True)
class Runs:
    """The valid runs of one service in a block.

    Attributes:
        loaded: under the offered load; None: the queue grew or too many requests failed, so its
            times are endless; or no time is compared.
        full: in a closed loop; None: max RPS is not compared.
    """

    loaded: Outcome | None = None
    full: Outcome | None = None

    @property
    def all(self) -> Iterator[Outcome]:
        """The outcomes, without what lacks."""
        return (one for one in (self.loaded, self.full) if one is not None)


Block = Mapping[str, Runs]  # by label


def phases(study: Study) -> tuple[Phase, ...]:
    """Those that the study's numbers take."""
    numbers = asks.of(study).numbers
    timed = (PHASE,) if any(number != MAX_RPS for number in numbers) else ()
    return (*timed, FULL) if MAX_RPS in numbers else timed


def blocks_of(study: Study, outcomes: Sequence[Outcome]) -> list[Block]:
    """The blocks in which every service has all runs that its numbers take.

    One in which all services fail is left out: then it is what they are asked that is wrong.
    """
    whole: list[Block] = []
    for block in _tried(outcomes):
        each = _each(study, block)
        known = {label: runs for label, runs in each.items() if runs is not None}
        if len(known) == len(each) and not all(_fails(block, label) for label in each):
            whole.append(known)
    return whole


def left_out_of(study: Study, outcomes: Sequence[Outcome]) -> dict[str, int]:
    """How many blocks are left out because a service had no valid run, by service.

    A block counts once every service had its turn. A service that is often left out is not as the
    other blocks show it.
    """
    results: dict[str, int] = {}
    for block in _tried(outcomes):
        each = _each(study, block)
        if all((label, phase) in block for label in each for phase in phases(study)):
            for label in (label for label, runs in each.items() if runs is None):
                results[label] = results.get(label, 0) + 1
    return results


Tried = Mapping[tuple[str, Phase], Sequence[Outcome]]  # of a block: the runs of each service


def _each(study: Study, block: Tried) -> dict[str, Runs | None]:
    """The runs of each service in a block."""
    return {label: _runs(block, label, phases(study)) for label in asks.of(study).services}


def _tried(outcomes: Sequence[Outcome]) -> list[Tried]:
    """All runs, by block, in order."""
    results: dict[int, dict[tuple[str, Phase], list[Outcome]]] = {}
    for outcome in outcomes:
        point = outcome.point
        if point.phase in {PHASE, FULL}:
            block = results.setdefault(point.repeat, {})
            block.setdefault((point.service, point.phase), []).append(outcome)
    return [results[number] for number in sorted(results)]


def _runs(block: Tried, label: str, wanted: Sequence[Phase]) -> Runs | None:
    """Those of one service; None if one that is wanted is not there, or not valid."""
    valid: dict[Phase, Outcome | None] = {}
    for phase in wanted:
        own = block.get((label, phase), ())
        believed = [outcome for outcome in own if outcome.is_believed]
        if believed:
            valid[phase] = believed[0]
        elif phase is PHASE and (make.is_overloaded(own) or _fails(block, label)):
            valid[phase] = None  # more than is served, or failed: its times are endless
        else:
            return None
    return Runs(loaded=valid.get(PHASE), full=valid.get(FULL))


def _fails(block: Tried, label: str) -> bool:
    """Whether a service failed too many requests by itself, in every run of a block."""
    own = block.get((label, PHASE), ())
    return bool(own) and all(one.failed > FAILED_MAX * one.requests for one in own)


def value_of(runs: Runs, number: str) -> float:
    """A number of a run, more is worse: ns, of max RPS the time for each request.

    Returns:
        `inf` if it has no end, nan if it was not counted.
    """
    if number == MAX_RPS:
        return 1e9 / runs.full.achieved_rps if runs.full and runs.full.achieved_rps else math.nan
    outcome = runs.loaded
    result = getattr(outcome, _FIELDS[number]) if outcome else None
    if result is not None:
        return float(result)
    is_endless = number != "cpu" and (outcome is None or outcome.lost > 0)
    return math.inf if is_endless else math.nan


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
    known = {service.label for service in study.services}
    if block < BLOCKS_LEAST or not known.issuperset(asks.of(study).services):
        return False
    gate, judged = _judged(study, [o for o in outcomes if o.point.repeat < block])
    return gate.is_over if gate else bool(judged) and not any(one.is_open for one in judged)


def differs(study: Study, outcomes: Sequence[Outcome]) -> bool:
    """Whether some service is worse or better than the first."""
    gate, judged = _judged(study, outcomes)
    return gate.is_regression if gate else any(one.differs for one in judged)


def _judged(study: Study, outcomes: Sequence[Outcome]) -> tuple[Decision | None, list[Judgement]]:
    """What a gate decides, or else the judgement of every number."""
    from sojourn.stats import gate_rule, paired_ratio  # noqa: PLC0415  # a short plan needs none

    asked, known = asks.of(study), counted(logs_of(study, outcomes))
    if asked.gate:
        return gate_rule.decide(known, asked.max_regression, asked.alpha), []
    limits = paired_ratio.Limits(alpha=asked.alpha, same=asked.same)
    return None, [one.judgement for one in paired_ratio.judged(known, limits).values()]
