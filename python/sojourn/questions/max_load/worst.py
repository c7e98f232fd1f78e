"""How much load fits within the QoS target, as the model over all runs has it (M18, M28).

The plan's posterior is the answer; here it is put in numbers for people: an estimate with its
interval, the same without what the machine did (M29) and without the shield (M32), what it rests
on, and the one command that would settle what is still open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from sojourn.analysis import rerun
from sojourn.analysis.reasons import topic
from sojourn.findings.findings import Qos
from sojourn.findings.highest_load import OF_STARTS, Border, MaxLoad, Scheduled, is_closed
from sojourn.findings.limit import By, Limit
from sojourn.findings.measured import Measured, StudyData
from sojourn.findings.state import Settle
from sojourn.plan.axis import Axis, Target
from sojourn.plan.evidence import Trial, trials
from sojourn.plan.next import Progress
from sojourn.plan.points import Outcome, Phase, Verdict
from sojourn.plan.posterior import LEVEL_OF_ANSWER, Posterior
from sojourn.plan.search import NEAR, Search, border_of, scheduled
from sojourn.questions.max_load.plan import search_of
from sojourn.samples.failed import LIMITED
from sojourn.stats.interval import Interval
from sojourn.stats.method import Method
from sojourn.text.numbers import percent
from sojourn.units import outward, show_count

METHOD = Method(
    name="max_load",
    about="the highest load within the QoS target, from one monotone model over all runs",
    ids=("M18", "M28", "M29", "M32"),
    source="Polák, draft-vpolak-bmwg-plrsearch; Rabiner (1989) for forward-backward",
)

WIDE = 2.0  # hi / lo above which an interval decides nothing
NARROW = 1.2  # below it there is nothing left to settle
DIFFERS = 1.05  # ratio from which the undisturbed answer is worth a line of its own
LIMIT_NEAR = 0.9  # of the rate that a limiter lets pass: from here on it may decide
STARTS = 3  # from fewer nothing is known of how much they differ
STALLS = 3  # in the time near the border; rarer ones cannot be excluded
_QUANTILES = {0.5: "p50_ns", 0.95: "p95_ns", 0.99: "p99_ns"}


def judge(
    data: StudyData,
    measured: Sequence[Measured],
    progress: Progress,
    qos: Qos,
    limit: Limit | None,
) -> MaxLoad | None:
    """What the search of one service found; None if it was not begun.

    Args:
        data: the study, for the command that would settle what is open.
        measured: points of this service.
        progress: how far its plan has come.
        qos: its target.
        limit: who limits the service, other than its CPUs.
    """
    search, axis, target = search_of(progress), progress.axis, progress.target
    if search is None or axis is None or target is None:
        return None
    outcomes = [m.outcome for m in measured]
    probes = [o for o in outcomes if o.point.phase in (Phase.SEARCH, Phase.CONFIRM)]
    border = _border(search.posterior, search.trials, axis) if search.posterior else None
    if border and search.posterior:
        border = replace(border, start_rps=_of_one(border, search.posterior))
    verdict, reasons = _verdict(search, border, outcomes)
    if border and (limited := _refused(border, limit) or _limited(border, outcomes)):
        verdict, reasons = Verdict.UNKNOWN, (limited, *reasons)
    is_ended = search.next is None or data.is_complete  # else the study's own command goes on
    return MaxLoad(
        verdict=verdict,
        reasons=reasons,
        border=border,
        undisturbed=_undisturbed(outcomes, border, axis, target),
        scheduled=_scheduled(measured, search, axis, target, qos.q),
        shield=next((o.shield for o in reversed(probes)), ""),
        stall_s=_stall_s(search, border),
        settle=_settle(data, border, outcomes) if is_ended else None,
        probes=tuple((o.offered_rps, _saw(o, qos.q)) for o in probes),
        wall_s=sum(o.wall_s for o in probes),
    )


def _border(posterior: Posterior, rest: Sequence[Trial], axis: Axis) -> Border:
    lo, hi = posterior.interval()
    estimate = posterior.within(0.5)
    if lo == 0 and hi < math.inf:
        estimate = max(hi, posterior.rps[0])
    elif lo > 0 and hi == math.inf:
        estimate = lo
    return Border(
        estimate_rps=estimate,
        interval_rps=Interval(lo=lo, hi=hi),
        level=LEVEL_OF_ANSWER,
        fraction=Interval(lo=lo / axis.rps, hi=hi / axis.rps),
        runs=len(rest),
        starts=len({trial.life for trial in rest}),
        measured_s=sum(trial.seconds for trial in rest),
        curve=tuple(zip(posterior.rps, posterior.holds, strict=True)),
    )


def _of_one(border: Border, posterior: Posterior) -> float | None:
    """What a further start carries with probability `OF_STARTS`, requests/s."""
    if border.starts < STARTS or not is_closed(border) or not posterior.starts:
        return None
    return posterior.of_one.load_at(1 - OF_STARTS) or None


def _verdict(
    search: Search, border: Border | None, outcomes: Sequence[Outcome]
) -> tuple[Verdict, tuple[str, ...]]:
    """Whether the interval decides anything; the numbers stand in any case."""
    if border is None:
        why = [reason for o in outcomes for reason in o.reasons[:1]]
        return Verdict.UNKNOWN, ("no run is valid", *dict.fromkeys(why))
    if search.next is not None:
        return Verdict.UNKNOWN, ("the search was not finished: run the study again, it resumes",)
    if border.interval_rps.hi == 0:
        return Verdict.VIOLATED, ()
    doubt = _undecided(border)
    return (Verdict.UNKNOWN, (doubt,)) if doubt else (Verdict.HOLDS, ())


def _refused(border: Border, limit: Limit | None) -> str:
    """That requests near the border are refused while CPUs are idle; "" if it is not so.

    With HTTP 503 too, which is what NGINX's limits answer unless they are set to another status.
    """
    if limit is None or limit.by is not By.REFUSALS or not limit.is_idle:
        return ""
    return limit.text if border.interval_rps.hi >= LIMIT_NEAR * limit.from_rps else ""


def _limited(border: Border, outcomes: Sequence[Outcome]) -> str:
    """That a rate limiter and not the service sets the border; "" if it does not.

    A limiter lets a burst pass before it refuses, and a short run may fit into it. So a run above
    the limit can pass, and the border of short runs is not that of long ones. The rate at which a
    closed loop was served is the limit itself, because it has used up the burst.
    """
    for outcome in outcomes:
        is_reached = border.interval_rps.hi >= LIMIT_NEAR * outcome.achieved_rps
        for reason in outcome.reasons:
            if topic(reason) == LIMITED and (outcome.point.offered_rps is not None or is_reached):
                return reason
    return ""


def _undecided(border: Border) -> str:
    """Why an interval is none to decide by; "" if it is."""
    lo, hi = border.interval_rps.lo, border.interval_rps.hi
    if lo == 0:
        return f"nothing down to {show_count(border.curve[0][0], 1)} requests/s was shown to hold"
    if hi == math.inf:
        return f"nothing up to {show_count(border.curve[-1][0], -1)} requests/s was shown to fail"
    if hi > WIDE * lo:
        return (
            f"the interval spans a factor of {_more(hi / lo)}, {WIDE:g} decides: in "
            f"{border.measured_s:.0f} s of load misses came in too few clusters to count"
        )
    return ""


def _more(factor: float) -> str:
    """A factor above the one that decides, with the digits that show this: `2.04`, `3.1`."""
    return f"{factor:.1f}" if factor >= WIDE + 0.1 else f"{outward(factor, 2, 1):g}"


def _undisturbed(
    outcomes: Sequence[Outcome], border: Border | None, axis: Axis, target: Target
) -> Border | None:
    """The same without the windows that the log of the server's CPUs marks, if that differs."""
    if border is None or all(o.undisturbed is None for o in outcomes):
        return None
    stored = trials(outcomes, undisturbed=True)
    posterior = border_of(stored, axis, target)
    if posterior is None:
        return None
    alone = _border(posterior, stored, axis)
    if not is_closed(alone):
        return None
    if alone.interval_rps.lo > border.interval_rps.hi:
        return alone  # also where the machine lets no load fit
    if not is_closed(border):
        return None  # open ends cannot be compared
    apart = alone.estimate_rps / border.estimate_rps
    return alone if apart > DIFFERS or apart < 1 / DIFFERS else None


def _scheduled(
    measured: Sequence[Measured], search: Search, axis: Axis, target: Target, q: float
) -> Scheduled | None:
    """What the shield changed: the border without it, and runs that took turns at one load."""
    outcomes = [m.outcome for m in measured]
    text, rest = scheduled(outcomes, axis, target)
    if text is None or search.at_rps is None:
        return None
    shielded, bare = (
        _quantiles(outcomes, phase, search.at_rps, q) for phase in (Phase.CONFIRM, Phase.SCHEDULED)
    )
    names = [name for m in measured for name in m.culprits]
    return Scheduled(
        border=_border(text, rest, axis),
        quantile_ns=(median(shielded), median(bare)) if shielded and bare else None,
        at_rps=search.at_rps,
        pairs=min(len(shielded), len(bare)),
        culprits=tuple(dict.fromkeys(names)),
    )


def _quantiles(outcomes: Sequence[Outcome], phase: Phase, rps: float, q: float) -> list[float]:
    """The target's quantile in the believed runs of a phase at one load, ns; infinite: lost."""
    field = _QUANTILES.get(q)
    results = [
        getattr(o, field)
        for o in outcomes
        if field
        and o.point.phase is phase
        and o.point.offered_rps == rps
        and o.verdict is not Verdict.UNKNOWN
    ]
    return [math.inf if ns is None else ns for ns in results]


def _stall_s(search: Search, border: Border | None) -> float | None:
    """Stalls rarer than one in this many seconds near the border cannot be excluded."""
    if border is None:
        return None
    near = [
        trial.seconds
        for trial in search.trials
        if 1 / NEAR <= trial.rps / border.estimate_rps <= NEAR
    ]
    return sum(near) / STALLS if near else None


def _saw(outcome: Outcome, q: float) -> str:
    """What one run saw, without a claim about its load."""
    if outcome.verdict is Verdict.UNKNOWN or outcome.over_bound is None:
        return "unknown"
    return "pass" if outcome.over_bound <= (1 - q) * outcome.requests else "fail"


def _settle(data: StudyData, border: Border | None, outcomes: Sequence[Outcome]) -> Settle | None:
    """The study once more with the time that the interval wants: its width falls as 1/√time.

    What is typed is stretched again, as all that lasts is for a service that says so.
    """
    if border is None:
        return None
    lo, hi = border.interval_rps.lo, border.interval_rps.hi
    if hi == 0 or (lo > 0 and hi <= NARROW * lo):
        return None
    is_open = lo == 0 or hi == math.inf
    times = 2.0 if is_open else max(2.0, (math.log(hi / lo) / math.log(NARROW)) ** 2)
    stretch = data.study.service(outcomes[0].point.service).stretch if outcomes else 1
    typed_s = _rounded(times * data.study.run.search.budget_s / stretch)
    spent_s = max(data.wall_s, sum(o.wall_s for o in outcomes))  # the command is of all services
    more_s = typed_s * stretch - sum(o.wall_s for o in outcomes if o.point.phase is Phase.SEARCH)
    command = rerun.with_values(data, {"run.search.budget_s": typed_s})
    if not command:
        return None
    why = "find the open end" if is_open else f"bring the interval to ±{percent((NARROW - 1) / 2)}"
    return Settle(
        command=command,
        seconds=spent_s + max(0.0, more_s),
        why=why,
    )


def _rounded(seconds: float) -> float:
    """To ten seconds, or minutes where it is long.

    >>> _rounded(123.0), _rounded(1250.0)
    (130.0, 1260.0)
    """
    step = 10.0 if seconds < 600 else 60.0
    return step * math.ceil(seconds / step)
