"""Who sets the highest rate of a service, where that is not the time of its CPUs.

A limiter, of the service's own or before it, refuses requests or lets them wait. So does a lock, or
another service that this one waits for. Then a load fits or not because of that limit, and the
highest load says nothing of what the CPUs could do.

CPUs are idle only if the service neither used nor waited for much CPU time. One program may serve
one request at a time (a lock, an interpreter): so up to about one CPU in use is not called idle on
a machine with more of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sojourn.findings.limit import By, Limit
from sojourn.findings.measured import Measured
from sojourn.plan.points import Outcome, Phase, Verdict
from sojourn.samples.failed import LIMIT, SHARE_MAX
from sojourn.samples.resources import CPU, Resources
from sojourn.text.numbers import percent
from sojourn.units import show_count, show_ns

HALF = 0.5  # of a CPU, or of what the service may use: below it there is time to spare
ONE = 1.3  # CPUs; up to here a program may serve one request at a time
LONGER = 2.0  # ratio to the mean time at low load from which requests wait
CLIENT_RPS = 20_000.0  # above it a closed loop may be as fast as the client, on half a CPU
_THREAD, _WAITS = "thread_cpu_share_max", "runq_delay_share"


def find(measured: Sequence[Measured]) -> Limit | None:
    """Who limits a service; None: its CPUs, as far as is seen.

    Args:
        measured: its points.
    """
    refused = [one for one in measured if _share(one.outcome) > SHARE_MAX]
    if refused:
        return _refusals(refused, measured)
    broken = [one for one in measured if _broken(one) > SHARE_MAX]
    return _breaks(broken) if broken else _idle_peak(measured)


def _refusals(refused: Sequence[Measured], measured: Sequence[Measured]) -> Limit:
    opened = [one for one in refused if one.outcome.point.offered_rps is not None]
    first = min(opened or refused, key=_rate)
    from_rps = _rate(first)
    lower = [
        _rate(one)
        for one in measured
        if one.outcome.point.offered_rps is not None
        and one.outcome.requests
        and _rate(one) < from_rps
    ]
    outcome = first.outcome
    limit = Limit(
        by=By.REFUSALS,
        statuses=outcome.refused_with,
        from_rps=from_rps,
        below_rps=max(lower, default=None),
        share=_share(outcome),
        used_cpus=outcome.used_cpus,
        is_idle=is_idle(first),
        waits_cpus=_waits_cpus(first),
    )
    return replace(limit, text=f"{LIMIT}: {_refused_text(limit, is_closed=not opened)}")


def _refused_text(limit: Limit, *, is_closed: bool) -> str:
    rate, names = show_count(limit.from_rps), " and ".join(limit.statuses[:2])
    where = "in a closed loop" if is_closed else f"from {rate} requests/s on"
    text = f"{where}, requests are refused with {names} ({percent(limit.share)})"
    if limit.used_cpus is None:
        return f"{text}; the CPU time of who refuses is not seen, so it may be a limiter's rate"
    used = f"the service uses {cpus(limit.used_cpus)}"
    if limit.is_idle is None:
        return (
            f"{text}; meanwhile {used} and waits for {cpus(limit.waits_cpus)} that others have, so "
            "whether CPUs or a limiter decide is unknown; end other programs"
        )
    if not limit.is_idle:
        return f"{text}; meanwhile {used}, so it may refuse because its CPUs are full"
    return (
        f"{text}, while {used}: this is the limit of whoever refuses, and not of its CPUs; raise "
        "that limit (of requests, connections or workers) to measure the service"
    )


def _breaks(broken: Sequence[Measured]) -> Limit:
    opened = [one for one in broken if one.outcome.point.offered_rps is not None]
    first = min(opened or broken, key=_rate)
    limit = Limit(
        by=By.BREAKS,
        from_rps=_rate(first),
        share=_broken(first),
        used_cpus=first.outcome.used_cpus,
        is_idle=is_idle(first),
    )
    where = f"from {show_count(limit.from_rps)} requests/s on" if opened else "in a closed loop"
    return replace(
        limit,
        text=f"{LIMIT}: {where}, {percent(limit.share)} of the requests fail, because the server "
        "ends or resets their connections; each counts as infinitely late; "
        "see the server's own log",
    )


def _idle_peak(measured: Sequence[Measured]) -> Limit | None:
    """Why the closed loop got no more, although CPUs were idle; None: they were not, or unseen."""
    peaks = [
        one
        for one in measured
        if one.outcome.point.phase is Phase.PEAK
        and one.outcome.point.offered_rps is None
        and one.outcome.verdict is not Verdict.UNKNOWN
        and one.outcome.mean_ns
    ]
    lows = [
        one
        for one in measured
        if one.outcome.point.offered_rps is not None
        and one.outcome.mean_ns
        and one.outcome.verdict is not Verdict.UNKNOWN
    ]
    if not peaks or not lows or not all(map(is_idle, peaks)):
        return None
    peak, low = max(peaks, key=_rate), min(lows, key=_rate)
    if _rate(peak) > CLIENT_RPS:
        return None
    there_ns, low_ns = peak.outcome.mean_ns or 0.0, low.outcome.mean_ns or 0.0
    waits = there_ns >= LONGER * low_ns
    limit = Limit(
        by=By.WAITS if waits else By.CONNECTIONS,
        from_rps=_rate(peak),
        used_cpus=peak.outcome.used_cpus,
        is_idle=True,
    )
    most = f"at {show_count(limit.from_rps)} requests/s, the most that is answered"
    text = f"{LIMIT}: {most}, the service uses {cpus(limit.used_cpus)}"
    if waits:
        return replace(
            limit,
            text=f"{text}, and requests take {show_ns(there_ns)} instead of {show_ns(low_ns)}: "
            "its CPUs do not set this rate; a limiter that delays, a lock, or "
            "what it waits for does",
        )
    return replace(
        limit,
        text=f"{text}, and requests take no longer than at low load: the number of connections "
        "sets this rate; use more (--connections, in a study load.connections)",
    )


def is_idle(one: Measured) -> bool | None:
    """Whether the service's CPUs had time to spare in a run.

    None: not seen, or it used little because it waited for CPUs that others had.
    """
    used, own = one.outcome.used_cpus, one.resources
    if used is None:
        return None
    if own is None or not own.samples:
        return used < HALF
    share, thread, waits = (_middle(own, name) for name in (CPU, _THREAD, _WAITS))
    if share is not None and share >= HALF * own.capacity.get(CPU, 1.0):
        return False
    if used < HALF:
        return True if used + (waits or 0.0) < HALF else None
    is_spread = thread is not None and thread < HALF * own.capacity.get(_THREAD, 1.0)
    return is_spread and used > ONE and (waits or 0.0) < HALF * used


def _waits_cpus(one: Measured) -> float | None:
    """Threads that were ready and had no CPU, on average; None: not seen."""
    return _middle(one.resources, _WAITS) if one.resources else None


def cpus(used: float | None) -> str:
    """CPU time of each second, in CPUs.

    >>> cpus(0.0123), cpus(1.0), cpus(0.0001)
    ('0.012 CPUs', '1 CPU', 'less than 0.001 CPUs')
    """
    number = f"{used or 0.0:.2g}"
    if (used or 0.0) < 1e-3:
        return "less than 0.001 CPUs"
    return "1 CPU" if number == "1" else f"{number} CPUs"


def _share(outcome: Outcome) -> float:
    """Of the requests, how many were refused; 0 to 1."""
    return min(1.0, outcome.refused / outcome.requests) if outcome.requests else 0.0


def _broken(one: Measured) -> float:
    """Of the requests, how many ended with their connection; 0 to 1."""
    lost = sum(one.errors.get(name, 0) for name in ("closed", "garbled"))
    return min(1.0, lost / one.outcome.requests) if one.outcome.requests else 0.0


def _rate(one: Measured) -> float:
    """Offered load, or the rate that a closed loop got, requests/s."""
    outcome = one.outcome
    return outcome.achieved_rps if outcome.point.offered_rps is None else outcome.offered_rps


def _middle(own: Resources, name: str) -> float | None:
    """The median of a resource's samples; None: it was not counted."""
    if name not in own.names:
        return None
    values = own.values[own.names.index(name)]
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else None
