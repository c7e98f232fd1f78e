"""A record on disk → what analysis is given, each run by its summary where it has one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sojourn.analysis import resource_use as use
from sojourn.analysis import run_stats, runs
from sojourn.errors import StoreFault
from sojourn.findings.measured import Measured, Probe, Second, StudyData
from sojourn.host import unlike
from sojourn.plan import design, failures, left_out
from sojourn.plan.left_out import LeftOut
from sojourn.plan.points import Course, Outcome, Phase, Verdict
from sojourn.plan.questions import Questions
from sojourn.record import cache as summary
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
from sojourn.samples.read import HLOG, HOST, LOAD, PROBE, RAW, probe_result
from sojourn.samples.traced import folded, trace_result
from sojourn.spec import Study
from sojourn.stats import times
from sojourn.store import files
from sojourn.store.record import OF_RECORD, Record
from sojourn.visible import own_command

SERVICE = "service.json"
NO_SHIELD = "none"
HOUR_NS = 3.6e12


#: What a question alone reads of a point's folder, by the question's name; None: nothing.
Readers = Mapping[str, Callable[[Path, Outcome], object]]
NO_READERS: Readers = MappingProxyType({})


def study_data(record: Record, questions: Questions, readers: Readers = NO_READERS) -> StudyData:
    """Everything measured so far in a record.

    Args:
        record: on disk.
        questions: all that may be asked.
        readers: of the files that questions keep beside the load's.

    Raises:
        StoreFault: a file is missing, damaged, or of a newer version.
    """
    with files.readable(record.path, OF_RECORD):
        return _study_data(record, questions, readers)


def _study_data(record: Record, questions: Questions, readers: Readers) -> StudyData:
    outcomes = [questions.known(outcome) for outcome in record.outcomes()]
    manifest = record.manifest
    served = _served(record, outcomes)
    points = [(record.folder_of(o), o, _asked(record.study, o)) for o in outcomes]
    known = _summarised(points)
    study, left = _left_out(record, outcomes)
    return StudyData(
        study=study,
        left_out=left,
        measured=tuple(
            _with_strangers(result, found_in, study)
            for found_in, result in (
                (point[0], known.get(point[0]) or _own(*point[:2], readers) or _known(*point))
                for point in points
            )
        ),
        questions=questions,
        setups={label: _setup(facts) for label, facts in served.items()},
        cpu_kinds={label: unlike.stored(facts) for label, facts in served.items()},
        workers={label: int(f["workers"]) for label, f in served.items() if f.get("workers")},
        started=str(manifest.get("started", "")),
        wall_s=sum(outcome.wall_s for outcome in outcomes),
        environment=dict(manifest.get("environment") or {}),
        noise=_pairs(manifest.get("noise")),
        study_file=record.study_file,
        command=own_command(str(manifest.get("command", ""))),
        is_complete=record.is_complete,
        reasons=() if record.is_complete else ("the study is not finished: run it again",),
    )


def _left_out(record: Record, outcomes: Sequence[Outcome]) -> tuple[Study, tuple[LeftOut, ...]]:
    """The study that has been answered, and the combinations of levels that have not."""
    whole = record.study
    worked = {_home(whole, o) for o in outcomes if not failures.is_failed(o)}
    skipped = [one for one in record.skipped if design.home(one.service, one.levels) not in worked]
    given_up = failures.abandoned(left_out.without(whole, skipped), outcomes)
    never = [one for one in given_up if design.home(one.service, one.levels) not in worked]
    study = left_out.without(whole, [*skipped, *never])
    return study, (*left_out.by_design(whole), *skipped, *given_up)


def _home(study: Study, outcome: Outcome) -> str:
    return design.home(outcome.point.service, design.own_levels(study, outcome.point))


StoredPoint = tuple[Path, Outcome, Sequence[float]]  # folder, outcome, quantiles to speak of
TOGETHER = 64  # points without a summary, from which it is worth to start processes
_CHUNK = 16


def _summarised(points: Sequence[StoredPoint]) -> dict[Path, Measured]:
    """The points that have a summary, by folder.

    What has none yet, in a record of before or of a killed run, is summarised on all CPUs.
    """
    known: dict[Path, Measured] = {}
    lacking: list[StoredPoint] = []
    for point in points:
        if not _is_summarised(point[1]):
            continue
        if (result := summary.load(*point)) is None:
            lacking.append(point)
        else:
            known[point[0]] = _with_others(result, *point[:2])
    if len(lacking) < TOGETHER:
        return known
    with (
        contextlib.suppress(BrokenProcessPool),  # what is left is summarised where it is read
        ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=get_context("spawn")) as pool,
    ):
        for _ in pool.map(_try, lacking, chunksize=_CHUNK):
            pass
    return known


def _try(point: StoredPoint) -> None:
    """What is wrong with a point is reported where it is read."""
    with contextlib.suppress(StoreFault):
        _known(*point)


def summarise(folder: Path, outcome: Outcome, study: Study) -> Course:
    """Keep what a point says by itself, once it is measured: reports then need no slices.

    Returns:
        How the run went on, where its self-checks let one say.

    Raises:
        StoreFault: a file is missing, damaged, or of a newer version.
    """
    if not _is_summarised(outcome):
        return Course.STEADY
    own = _known(folder, outcome, _asked(study, outcome)).alone
    is_sound = outcome.verdict is not Verdict.UNKNOWN  # else the client may have made it grow
    return run_stats.course(own) if own and is_sound else Course.STEADY


def _is_summarised(outcome: Outcome) -> bool:
    """Arrays are read only where findings are made of them.

    A point without requests failed, and what it left may be damaged.
    """
    return outcome.requests > 0 and outcome.point.rules.is_read


def _asked(study: Study, outcome: Outcome) -> tuple[float, ...]:
    """The quantiles that findings about a point will ask for."""
    under = design.study_of(study, outcome.point)
    return runs.asked(under.service(outcome.point.service).qos)


def _known(folder: Path, outcome: Outcome, asked: Sequence[float]) -> Measured:
    """A point by its summary, which is made if it has none."""
    if not _is_summarised(outcome):
        return replace(_measured(folder, outcome), pace=_pace(folder, outcome))
    result = summary.load(folder, outcome, asked)
    if result is None:
        measured = _measured(folder, outcome)
        result = summary.keep(folder, measured, asked, load_result(folder / LOAD))
    return _with_others(result, folder, outcome)


def _own(folder: Path, outcome: Outcome, readers: Readers) -> Measured | None:
    """A point whose question has files of its own beside the load's; None: it is like most."""
    read = readers.get(outcome.point.rules.keeps)
    if read is None or (own := read(folder, outcome)) is None:
        return None
    seen = _culprits(folder) if outcome.point.rules.is_bare else ()
    return Measured(outcome=outcome, own=own, culprits=seen, pace=_pace(folder, outcome))


def _with_others(measured: Measured, folder: Path, outcome: Outcome) -> Measured:
    """A run with what others saw and did meanwhile, which its summary has not."""
    return replace(measured, probe=_probe(folder), pace=_pace(folder, outcome))


def _pace(folder: Path, outcome: Outcome) -> pace.Pace | None:
    """What the neighbour did, of a run that has one which reported it."""
    return pace.read(folder) if outcome.neighbour_per_s is not None else None


def _served(record: Record, outcomes: Sequence[Outcome]) -> dict[str, Mapping[str, Any]]:
    """What served, by label and levels: the last `service.json` of each: lives are set up alike.

    But for the shield: runs as the machine schedules have none, and speak only where no others are.
    """
    results: dict[str, Mapping[str, Any]] = {}
    for is_bare in (False, True):
        for outcome in reversed(outcomes):
            label = outcome.point.service
            path = record.folder_of(outcome) / SERVICE
            home = design.home(label, design.levels_of(record.study, outcome.point))
            is_meant = outcome.point.rules.is_bare is is_bare
            if home not in results and is_meant and path.exists():
                results[home] = read_json(path)
    return results


def _setup(facts: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """A service's facts for people: version, how it was set up, where it ran, what it shared."""
    placement = facts.get("placement") or {}
    rows = [("version", facts.get("version")), *_pairs(facts.get("setup"))]
    rows += [("placement", placement.get("text")), *_pairs(placement.get("shared"))]
    return tuple((what, str(how)) for what, how in rows if how)


def _measured(folder: Path, outcome: Outcome) -> Measured:
    """All of a point that findings are made of, from its own files."""
    if outcome.point.phase is Phase.TRACE and outcome.requests:
        return _traced(folder, outcome)
    if outcome.point.rules.is_bare:
        return Measured(outcome=outcome, culprits=_culprits(folder))
    if not _is_summarised(outcome):
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


def _probe(folder: Path) -> Probe | None:
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


def _culprits(folder: Path) -> tuple[str, ...]:
    """Names of those that ran for long at a time where the server wanted to."""
    return tuple(c.task for c in culprits.read(folder) if c.long_runs_per_s)


def _with_strangers(measured: Measured, folder: Path, study: Study) -> Measured:
    """Where the study has no shield: who else ran on the server's CPUs, with their shares."""
    if study.run.shield != NO_SHIELD or not (folder / HOST).exists():
        return measured
    seen = read_json(folder / HOST).get("culprits")
    if seen is None:
        return measured
    results = tuple((one.task, one.cpu_share) for one in culprits.merged(seen))
    return replace(measured, others=results)


def _traced(folder: Path, outcome: Outcome) -> Measured:
    """A traced point, or its untraced twin."""
    result, host = load_result(folder / LOAD), read_json(folder / HOST)
    wire = result.wire_ns
    done = outcome.achieved_rps * float(host.get("length_s") or 0.0)
    return Measured(
        outcome=outcome,
        traced=trace_result(folder),
        stacks=folded(folder),
        client_wait=result.cost.wait,
        wire_ns=tuple((name, getattr(wire, name)) for name in ("mean", "p50", "p95", "p99")),
        cpu_ns_per_request=1e9 * float(host["server_cpu_s"]) / done if done else None,
    )


def _times(result: LoadResult, folder: Path) -> times.Times:
    span = result.sojourn_ns
    return times.from_histogram(span.histogram(f"{folder / LOAD} sojourn_ns.hdr"), lost=span.lost)


def _undisturbed(result: LoadResult, folder: Path) -> times.Times:
    span = result.undisturbed_ns
    if span is None:
        return times.EMPTY
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


def _pairs(table: Any) -> tuple[tuple[str, str], ...]:
    """(what, how) pairs, as JSON has them: an object, or a list of two-element lists."""
    rows = table.items() if isinstance(table, Mapping) else table or ()
    return tuple((str(what), str(how)) for what, how in rows)
