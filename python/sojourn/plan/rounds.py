"""Rounds: the same search from fresh starts of the service, and the interval they give.

One search gives a bracket that is as narrow as one likes and wrong an hour later: the border moves
between starts of the service and with the machine's other tenants, by more than any probe's own
error. So the search is repeated, each round from a fresh start (M15) and with a bracket of its own.

The hull of R brackets covers the *median border over restarts* with probability 1 − 2^(1−R),
whatever the distribution: the sign test's interval. With many rounds the extreme ones are set aside
as long as the coverage stays at 90 %. Drift during the search widens the hull, as it must.

Source: David and Nagaraja, Order Statistics, 3rd ed. (2003), section 7.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from sojourn.plan import coin, make
from sojourn.plan.axis import Axis
from sojourn.plan.ladder import TIME, Round, Rules, climb
from sojourn.plan.points import Cell, Outcome, Phase, Point
from sojourn.plan.setting import RATE, Setting
from sojourn.plan.time_budget import TimeBudget
from sojourn.spec import Study

EXTRA = 2  # rounds more than asked, for those that ended without a border
LEAST = 2  # rounds with a border without which there is no answer, even when the budget is spent
GIVE_UP = 3  # rounds in a row whose runs are not valid: no more will help
COVERAGE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """Where the border lies.

    Attributes:
        lo: requests/s; 0: no load passed.
        hi: requests/s; None: no load failed.
        coverage: of the median border over restarts, 0 to 1.
        rounds: how many it rests on.
    """

    lo: float
    hi: float | None
    coverage: float
    rounds: int


def rounds_of(
    outcomes: Sequence[Outcome],
    *,
    wanted: int,
    first: tuple[float, Rules],
    later: Rules,
    time: TimeBudget,
) -> tuple[Round, ...]:
    """All rounds that were begun, and the one to begin next, if any is wanted.

    Args:
        outcomes: of this search, in order.
        wanted: rounds that enclose the border.
        first: start (requests/s) and rules of the first round.
        later: rules of the others, which start at the median border so far.
        time: LATE: no round beyond the least number is begun, and each ends as soon as it has any
            bracket, however wide. OVER: the last round ends where it is.
    """
    rounds: list[Round] = []
    while _wants_another(rounds, wanted):
        own = [o for o in outcomes if o.point.repeat == len(rounds)]
        if not own and (time is TimeBudget.OVER or (time and _borders(rounds) >= LEAST)):
            break
        middles = [r.middle for r in rounds if r.middle is not None]
        start, rules = (median(middles), later) if middles else first
        now = climb(make.rounded(start), own, replace(rules, is_hurried=time > TimeBudget.IN_TIME))
        if time is TimeBudget.OVER and not now.is_over:
            now = replace(now, next_rps=None, next_s=None, ended=TIME)
        rounds.append(now)
        if not now.is_over:
            break
    return tuple(rounds)


def _borders(rounds: Sequence[Round]) -> int:
    return sum(r.has_border for r in rounds)


def _wants_another(rounds: Sequence[Round], wanted: int) -> bool:
    if rounds and rounds[-1].is_open_above:
        return False
    if len(rounds) >= GIVE_UP and all(r.ended == "unknown" for r in rounds[-GIVE_UP:]):
        return False
    return _borders(rounds) < wanted and len(rounds) < wanted + EXTRA


def probe_of(
    study: Study,
    label: str,
    phase: Phase,
    rounds: Sequence[Round],
    outcomes: Sequence[Outcome],
    *,
    axis: Axis,
    overrides: tuple[tuple[str, str | float | int | bool], ...] = (),
) -> Point | None:
    """The run that the last round wants; None when all rounds are over.

    `label` is that of the service, `outcomes` are those of this search.
    """
    if not rounds or rounds[-1].next_rps is None or rounds[-1].next_s is None:
        return None
    rate = make.rounded(rounds[-1].next_rps)
    number, setting = len(rounds) - 1, Setting.of({RATE: rate})
    return make.point(
        study,
        Cell(label, phase, number, setting),
        len(make.Tried(outcomes, phase).at(number, setting)),
        measure_s=rounds[-1].next_s,
        offered_rps=rounds[-1].next_rps,
        fraction=round(rounds[-1].next_rps / axis.rps, 4),
        overrides=overrides,
    )


def bracket(rounds: Sequence[Round]) -> Bracket | None:
    """The interval of the border from all rounds that are over; None without any.

    A round that no load passed counts with 0. One that no load failed leaves the top open.
    """
    over = [r for r in rounds if r.has_border or r.is_open_above]
    if not over:
        return None
    aside = _aside(len(over))
    low = sorted(r.lo or 0.0 for r in over)[aside]
    if any(r.hi is None for r in over):
        return Bracket(lo=low, hi=None, coverage=0.0, rounds=len(over))
    high = sorted((r.hi for r in over if r.hi is not None), reverse=True)[aside]
    return Bracket(lo=low, hi=high, coverage=_coverage(len(over), aside), rounds=len(over))


def _coverage(n: int, aside: int) -> float:
    """P(the median lies between the (aside+1)-th lowest and highest of n).

    >>> [round(_coverage(n, 0), 3) for n in (1, 3, 5, 6)]
    [0.0, 0.75, 0.938, 0.969]
    """
    return max(0.0, 1 - 2 * coin.below(aside + 1, n))


def _aside(n: int) -> int:
    return max(0, coin.outside(n, COVERAGE) - 1)
