"""One round of a search: from a starting load to a narrow bracket around the border (M18).

Loads go up by a factor until one fails (or down until one passes), then the bracket is halved in
the logarithm until pass and fail are `resolution` apart. Every load is decided by a test with four
answers (`decide`); one that stays undecided at full length lies at the border, and one whose runs
cannot be believed may lie anywhere: the round goes on beside them, below and above, and never
counts them as either.

A round is a value computed from its outcomes, so a resumed search goes on where it stopped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sojourn.plan.decide import Decision
from sojourn.plan.points import Outcome, Verdict

Decide = Callable[[Sequence[Outcome]], Decision]

PROBES_MAX = 24  # of one round; a climb of 1.3 and a bisection to 2 % need about 14
FLOOR = 0.01  # of the scale: below this there is no load to speak of
UNKNOWN_MAX = 3  # loads of a round whose runs are not valid; more, and it is the machine
CEILING = 8.0  # of the scale: above this the client cannot overload the server
TIME = "time"  # how a round ends that was cut short
FLOOR_END = "floor"  # and one in which everything failed down to no load to speak of
CEILING_END = "ceiling"  # one in which nothing failed up to the ceiling
PROBES_END = f"{PROBES_MAX} probes"
PATIENT = 4  # loads on the way down after which the steps grow, up to `STRIDE` each
STRIDE = 4.0
_SAME = 1 + 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How a round climbs and when it stops.

    Attributes:
        decide: what all runs at one load say together.
        climb: largest factor between loads while nothing failed; the way down may take longer ones.
        step: factor of the first step; it is squared at each further one, up to `climb`.
        resolution: pass and fail this close end the round.
        lengths: s of a load's first run, its second, …; after the last it stays undecided.
        retries: runs whose self-check failed that one load may have.
        scale: requests/s by which floor and ceiling are judged.
        is_hurried: the time is spent: any bracket will do.
    """

    decide: Decide
    climb: float
    step: float
    resolution: float
    lengths: tuple[float, ...]
    retries: int
    scale: float
    is_hurried: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One load of a round and what its runs reported."""

    rps: float
    decision: Decision
    runs: int
    believed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """How far a round has come.

    Attributes:
        rungs: loads in the order in which they were first tried.
        lo: highest load that passed below every fail, requests/s; None: none passed.
        hi: lowest load that failed; None: none failed.
        next_rps, next_s: the run to make next; None when the round is over.
        ended: why it is over: "narrow" is the good end, `TIME` the one from outside.
    """

    rungs: tuple[Rung, ...]
    lo: float | None
    hi: float | None
    next_rps: float | None
    next_s: float | None
    ended: str = ""

    @property
    def is_over(self) -> bool:
        """Whether no run is left to make."""
        return self.next_rps is None

    @property
    def has_border(self) -> bool:
        """Whether it says where the border is: enclosed, or below all that is worth a probe.

        A round that was cut short, or whose runs could not be believed, before anything passed has
        only seen that the border is not above `hi`: that is not an answer.
        """
        is_enclosed = self.lo is not None or self.ended == FLOOR_END
        return self.is_over and self.hi is not None and is_enclosed

    @property
    def is_open_above(self) -> bool:
        """Whether it went as far up as rounds go, and nothing failed."""
        return self.hi is None and (
            self.ended == CEILING_END or (self.ended == PROBES_END and self.lo is not None)
        )

    @property
    def middle(self) -> float | None:
        """Geometric middle of the bracket, requests/s."""
        if self.hi is None or self.lo is None:
            return None
        return math.sqrt(self.lo * self.hi)


def climb(start_rps: float, outcomes: Sequence[Outcome], rules: Rules) -> Round:
    """Where a round is that began at `start_rps` and has these outcomes so far."""
    rungs = _rungs(outcomes, rules)
    failed = [rung.rps for rung in rungs if rung.decision is Decision.FAIL]
    hi = min(failed, default=None)
    passed = [r.rps for r in rungs if r.decision is Decision.PASS and (hi is None or r.rps < hi)]
    lo = max(passed, default=None)

    run = _repeat(outcomes, rungs, rules) if rungs else None
    if run is None:
        candidate = _candidate(start_rps, rungs, lo, hi, rules)
        run = None if candidate is None else (candidate, rules.lengths[0])
    if rules.is_hurried and lo is not None and hi is not None:
        run = None
    ended = _ended(outcomes, rungs, run, rules)
    next_rps, next_s = (None, None) if ended or run is None else run
    return Round(rungs=rungs, lo=lo, hi=hi, next_rps=next_rps, next_s=next_s, ended=ended)


def _repeat(
    outcomes: Sequence[Outcome], rungs: Sequence[Rung], rules: Rules
) -> tuple[float, float] | None:
    """The last load once more: its self-check failed, or it is still undecided."""
    rps = outcomes[-1].point.offered_rps
    last = next(rung for rung in rungs if rung.rps == rps)
    if last.decision is Decision.UNKNOWN and last.runs <= rules.retries:
        return last.rps, rules.lengths[0]
    if last.decision is Decision.UNDECIDED and last.believed < len(rules.lengths):
        return last.rps, rules.lengths[last.believed]
    return None


def _ended(
    outcomes: Sequence[Outcome],
    rungs: Sequence[Rung],
    run: tuple[float, float] | None,
    rules: Rules,
) -> str:
    """Why the round is over; "" if `run` is to be made."""
    if run is None:
        return "narrow"
    if sum(rung.decision is Decision.UNKNOWN for rung in rungs) > UNKNOWN_MAX:
        return "unknown"
    if run[0] < FLOOR * rules.scale:
        return FLOOR_END
    if run[0] > CEILING * rules.scale:
        return CEILING_END
    return PROBES_END if len(outcomes) >= PROBES_MAX else ""


def _rungs(outcomes: Sequence[Outcome], rules: Rules) -> tuple[Rung, ...]:
    loads: dict[float, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.point.offered_rps is not None:
            loads.setdefault(outcome.point.offered_rps, []).append(outcome)
    return tuple(
        Rung(
            rps=rps,
            decision=rules.decide(runs),
            runs=len(runs),
            believed=sum(run.verdict is not Verdict.UNKNOWN for run in runs),
        )
        for rps, runs in loads.items()
    )


def _candidate(
    start: float, rungs: Sequence[Rung], lo: float | None, hi: float | None, rules: Rules
) -> float | None:
    """The next load to try; None when the bracket is narrow enough."""
    if not rungs:
        return start
    if lo is not None and hi is not None:
        return _inside(lo, hi, rungs, rules)
    squarings = min(len(rungs) - 1, 10)  # all rungs went the same way so far
    factor = min(rules.climb, math.pow(rules.step, 2**squarings))
    loads = [rung.rps for rung in rungs]
    if hi is not None:
        factor = min(max(factor, rules.climb ** (len(rungs) - PATIENT)), STRIDE)
    if hi is not None or (lo is None and any(r.decision is Decision.UNKNOWN for r in rungs)):
        return min(loads) / factor  # a client that cannot keep up is not helped by more load
    return max(loads) * factor


def _inside(lo: float, hi: float, rungs: Sequence[Rung], rules: Rules) -> float | None:
    """Halve the widest gap between pass, undecided loads and fail that is still too wide.

    Next to the border on the pass side first: how much load fits is the question.
    """
    undecided = sorted(rung.rps for rung in rungs if lo < rung.rps < hi)
    limit = 1 + rules.resolution
    if not undecided:
        return math.sqrt(lo * hi) if hi / lo > limit * _SAME else None
    if undecided[0] / lo > limit * _SAME:
        return math.sqrt(lo * undecided[0])
    if hi / undecided[-1] > limit * _SAME:
        return math.sqrt(undecided[-1] * hi)
    return None
