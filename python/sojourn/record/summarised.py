"""Points by their summaries: kept as they are measured, made where they lack."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from sojourn.analysis import run_stats, runs
from sojourn.errors import StoreFault
from sojourn.findings.measured import Measured
from sojourn.plan import design
from sojourn.plan.points import Course, Outcome, Verdict
from sojourn.record import cache as summary
from sojourn.record.point import is_summarised, measured_of, pace_of, probe_of
from sojourn.samples import load_result
from sojourn.samples.names import LOAD
from sojourn.spec import Study

StoredPoint = tuple[Path, Outcome, Sequence[float]]  # folder, outcome, quantiles to speak of
TOGETHER = 64  # points without a summary, from which it is worth to start processes
_CHUNK = 16


def all_summarised(points: Sequence[StoredPoint]) -> dict[Path, Measured]:
    """The points that have a summary, by folder.

    What has none yet, in a record of before or of a killed run, is summarised on all CPUs.
    """
    known: dict[Path, Measured] = {}
    lacking: list[StoredPoint] = []
    for point in points:
        if not is_summarised(point[1]):
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
        summary_of(*point)


def summarise(folder: Path, outcome: Outcome, study: Study) -> Course:
    """Keep what a point says by itself, once it is measured: reports then need no slices.

    Returns:
        How the run went on, where its self-checks let one say.

    Raises:
        StoreFault: a file is missing, damaged, or of a newer version.
    """
    if not is_summarised(outcome):
        return Course.STEADY
    own = summary_of(folder, outcome, asked_quantiles(study, outcome)).alone
    is_sound = outcome.verdict is not Verdict.UNKNOWN  # else the client may have made it grow
    return run_stats.course(own) if own and is_sound else Course.STEADY


def asked_quantiles(study: Study, outcome: Outcome) -> tuple[float, ...]:
    """The quantiles that findings about a point will ask for."""
    under = design.study_of(study, outcome.point)
    return runs.asked(under.service(outcome.point.service).qos)


def summary_of(folder: Path, outcome: Outcome, asked: Sequence[float]) -> Measured:
    """A point by its summary, which is made if it has none."""
    if not is_summarised(outcome):
        return replace(measured_of(folder, outcome), pace=pace_of(folder, outcome))
    result = summary.load(folder, outcome, asked)
    if result is None:
        measured = measured_of(folder, outcome)
        result = summary.keep(folder, measured, asked, load_result(folder / LOAD))
    return _with_others(result, folder, outcome)


def _with_others(measured: Measured, folder: Path, outcome: Outcome) -> Measured:
    """A run with what others saw and did meanwhile, which its summary has not."""
    return replace(measured, probe=probe_of(folder), pace=pace_of(folder, outcome))
