"""How much load fits within the QoS target, with and without the shield."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sojourn.findings.section import Section
from sojourn.findings.state import Settle
from sojourn.plan.points import Verdict
from sojourn.stats.interval import Interval

OF_STARTS = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """How much load fits: a number and its interval, always.

    Attributes:
        estimate_rps: median of what the runs allow, requests/s; the known end where one is open.
        interval_rps: `level` of the probability lies in it. `lo` 0: nothing was seen to hold ("at
            most"); `hi` infinite: nothing was seen to fail ("at least").
        level: 0.9 is a 90 % interval.
        fraction: the interval as shares of max RPS; None without a load axis.
        runs, starts, measured_s: what it rests on: runs, starts of the service, s of load.
        curve: (offered requests/s, probability that this load meets the target), ascending.
        start_rps: what a further start of the service carries with probability `OF_STARTS`; the
            estimate is of the median start. None: too few starts, or an open end.
    """

    estimate_rps: float
    interval_rps: Interval
    level: float
    fraction: Interval | None
    runs: int
    starts: int
    measured_s: float
    curve: tuple[tuple[float, float], ...] = ()
    start_rps: float | None = None


def is_closed(border: Border) -> bool:
    """Whether both ends of the interval are known: a load was seen to hold, and one to fail.

    Then the estimate is a number to report, to compare and to price. The estimate of an open
    interval is its known end, and where no load fits it is the lowest that was tried: both say
    where somebody looked, not what the service can do.
    """
    ends = border.interval_rps
    return 0 < ends.lo <= border.estimate_rps <= ends.hi < math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """The same service as the machine schedules it, without the shield (M32).

    Attributes:
        border: how much load fits then; None where no run without the shield can be believed.
        quantile_ns: (with the shield, without it) at the found load, medians of runs that took
            turns; None where one of them has no number.
        at_rps: the load at which they took turns.
        pairs: how many pairs.
        culprits: who ran on the server's CPUs meanwhile, the most time first.
    """

    border: Border | None
    quantile_ns: tuple[float, float] | None
    at_rps: float
    pairs: int
    culprits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxLoad(Section):
    """The highest load that meets the QoS target (M18, M28).

    Attributes:
        verdict: `holds` if the interval is narrow enough to decide by, `violated` if no load meets
            the target, else `unknown`, beside the numbers.
        border: how much load fits, as experienced; None only if not one run can be believed.
        probes: (offered requests/s, what that run alone saw: "pass" | "fail" | "unknown").
        wall_s: time the search took, the last runs included, s.
        undisturbed: the same without the windows that an independent log of the server's CPUs
            marks; None where nothing was marked or it says the same (M29).
        scheduled: the same without the shield; None where there was none.
        shield: what kept the server's CPUs for the server: "priority", "move", "none", or why not.
        stall_s: stalls rarer than one in this many seconds cannot be excluded.
        settle: what would make the interval narrow; None if it is.
    """

    verdict: Verdict
    border: Border | None
    probes: tuple[tuple[float, str], ...]
    wall_s: float
    undisturbed: Border | None = None
    scheduled: Scheduled | None = None
    shield: str = ""
    stall_s: float | None = None
    settle: Settle | None = None
