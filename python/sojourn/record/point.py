"""What one point measured, from the files of its folder."""

from __future__ import annotations

from pathlib import Path

from sojourn.analysis import resource_use as use
from sojourn.findings.measured import Measured, Probe, Second
from sojourn.plan.points import Outcome, Phase, Verdict
from sojourn.samples import (
    Interval,
    LoadResult,
    culprits,
    intervals,
    lateness,
    load_result,
    pace,
    raw_sojourn_ns,
    read_json,
    resources,
)
from sojourn.samples.names import HLOG, HOST, LOAD, PROBE, RAW
from sojourn.samples.reading import probe_result
from sojourn.samples.served import cpu_ns, served
from sojourn.samples.traced import folded, trace_result
from sojourn.stats import times

HOUR_NS = 3.6e12


def is_summarised(outcome: Outcome) -> bool:
    """Arrays are read only where findings are made of them.

    A point without requests failed, and what it left may be damaged.
    """
    return outcome.requests > 0 and outcome.point.rules.is_read


def pace_of(folder: Path, outcome: Outcome) -> pace.Pace | None:
    """What the neighbour did, of a run that has one which reported it."""
    return pace.read(folder) if outcome.neighbour_per_s is not None else None


def measured_of(folder: Path, outcome: Outcome) -> Measured:
    """All of a point that findings are made of, from its own files."""
    if outcome.point.phase is Phase.TRACE and outcome.requests:
        return _traced(folder, outcome)
    if outcome.point.rules.is_bare:
        return Measured(outcome=outcome, culprits=tuple(one.task for one in culprits_of(folder)))
    if not is_summarised(outcome):
        return Measured(outcome=outcome, resources=_used(folder, outcome))
    result = load_result(folder / LOAD)
    raw = raw_sojourn_ns(folder / RAW)
    counted = max(1, result.sojourn_all_ns.count)
    return Measured(
        outcome=outcome,
        sojourn=_times(result, folder),
        seconds=tuple(_second(i) for i in intervals(folder / HLOG) if not i.tag),
        raw_sojourn_ns=raw,
        raw_share=1.0 if raw is None else min(1.0, max(1, len(raw)) / counted),
        mean_ns=result.sojourn_ns.mean,
        undisturbed=_undisturbed(result, folder),
        timely_ratio=result.timely_ratio,
        outage_share=result.outages.share_time,
        excluded_share=result.outages.share_excluded,
        steal_share=result.checks.steal_share,
        send_lag_p99_ns=result.send_lag_ns.p99,
        pick_up_p99_ns=result.pick_up_ns.p99,
        lateness_ns=lateness.added_ns(result) or {},
        stops_allowance=result.outages.allowance,
        errors=result.errors,
        worker_cpu_s=_workers(folder),
        resources=resources.read(folder),
    )


def _workers(folder: Path) -> tuple[float, ...]:
    """CPU time of each worker, s; nothing in records of before it was counted."""
    path = folder / HOST
    result = read_json(path).get("worker_cpu_s") if path.exists() else None
    return tuple(map(float, result or ()))


def _used(folder: Path, outcome: Outcome) -> resources.Resources | None:
    """What was used while a run went on that is known by its outcome alone, as of a search."""
    is_reported = outcome.requests > 0 and outcome.point.phase in {*use.PHASES, Phase.PEAK}
    return resources.read(folder) if is_reported else None


def probe_of(folder: Path) -> Probe | None:
    """The probe client beside the load, and why it cannot be believed, if so."""
    result = probe_result(folder)
    if result is None:
        return None
    span = result.sojourn_ns
    return Probe(
        sojourn=times.from_histogram(
            span.histogram(f"{folder / PROBE} sojourn_ns.hdr"), lost=span.lost
        ),
        doubts=(*result.lateness, *(result.reasons if result.verdict is Verdict.UNKNOWN else ())),
    )


def culprits_of(folder: Path) -> tuple[culprits.Culprit, ...]:
    """Those that ran for long at a time where the server wanted to."""
    return tuple(one for one in culprits.read(folder) if one.long_runs_per_s)


def _traced(folder: Path, outcome: Outcome) -> Measured:
    """A traced point, or its untraced twin."""
    result = load_result(folder / LOAD)
    wire = result.wire_ns
    return Measured(
        outcome=outcome,
        traced=trace_result(folder),
        stacks=folded(folder),
        client_wait=result.cost.wait,
        wire_ns=tuple((name, getattr(wire, name)) for name in ("mean", "p50", "p95", "p99")),
        cpu_ns_per_request=cpu_ns(folder / HOST, served(result, probe_result(folder))),
    )


def _times(result: LoadResult, folder: Path) -> times.Times:
    span = result.sojourn_ns
    return times.from_histogram(span.histogram(f"{folder / LOAD} sojourn_ns.hdr"), lost=span.lost)


def _undisturbed(result: LoadResult, folder: Path) -> times.Times | None:
    span = result.undisturbed_ns
    if span is None:
        return None
    outcome = span.histogram(f"{folder / LOAD} undisturbed_ns.hdr")
    return times.from_histogram(outcome, lost=span.lost)


def _second(interval: Interval) -> Second:
    """Failed requests stand in the log as one hour, since its format knows no infinity."""
    sojourn = times.from_histogram(interval.sojourn)
    is_finite = sojourn.hi_ns < HOUR_NS
    lost = int(sojourn.count[~is_finite].sum())
    finite = times.Times(
        lo_ns=sojourn.lo_ns[is_finite],
        hi_ns=sojourn.hi_ns[is_finite],
        count=sojourn.count[is_finite],
        lost=lost,
    )
    return Second(
        at_s=interval.start_s,
        achieved_rps=finite.finite / interval.length_s if interval.length_s else 0.0,
        sojourn=finite,
    )
