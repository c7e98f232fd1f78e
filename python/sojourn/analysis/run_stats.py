"""What one run says by itself, before it is held against any target.

This is the long part of judging a run: its slices are put into batches and tested for trends. It
follows from the run's own files only, so it is found once and stored beside them (`summary`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from sojourn.findings.measured import Alone, Measured
from sojourn.plan.points import Course
from sojourn.stats import independence, steady
from sojourn.stats.independence import Batched, Cut
from sojourn.stats.times import Times, from_values

_SLICES = 20
_SLICE_NEEDS = 20  # requests in a slice of raw times, or its median says nothing


def known(measured: Measured, asked: Iterable[float]) -> Alone:
    """What is known of the run already, if it speaks of these quantiles; else it is found."""
    alone = measured.alone
    return alone if alone and set(asked) <= set(alone.ratios) else find(measured, asked)


def find(measured: Measured, asked: Iterable[float]) -> Alone:
    """From the run's slices.

    Args:
        measured: the run, with its seconds or its raw times if they were stored.
        asked: quantiles of which the dependence is wanted; that of the mean always is.
    """
    parts = slices(measured)
    cut = independence.batches(parts)
    result = steady.judge(parts)
    return Alone(
        ratios={q: _ratio(measured, cut, q) for q in (None, *asked)},
        is_steady=result.is_steady,
        unsteady=result.reasons,
        grows=result.grows,
        cold=result.cold,
        series=tuple(
            (s.at_s, s.achieved_rps, s.sojourn.quantile(0.5), s.sojourn.quantile(0.99))
            for s in measured.seconds
        ),
    )


def _ratio(measured: Measured, cut: Cut | None, q: float | None) -> Batched:
    """Of one run: by batches of its slices; without slices, what its outcome says."""
    if cut is None:
        return Batched(ratio=max(1.0, measured.outcome.correlation), freedom=math.inf)
    batch_ratio = independence.of_cut(cut, q)
    if _has_seconds(measured):
        return batch_ratio
    # A uniform sample of raw times thins the dependence with the requests: Σρ shrinks with it.
    return replace(batch_ratio, ratio=1 + (batch_ratio.ratio - 1) / max(measured.raw_share, 1e-9))


def _has_seconds(measured: Measured) -> bool:
    return len(measured.seconds) >= independence.BATCHES_MIN


def slices(measured: Measured) -> tuple[Times, ...]:
    """Consecutive parts of a run: its seconds, or 20 parts of its raw times if seconds are few.

    Seconds come first: they hold every request, raw times may be a thin sample.
    """
    if _has_seconds(measured):
        return tuple(second.sojourn for second in measured.seconds)
    raw = measured.raw_sojourn_ns
    if raw is None or len(raw) < _SLICES * _SLICE_NEEDS:
        return ()
    return tuple(from_values(part) for part in np.array_split(raw, _SLICES))


def course(own: Alone) -> Course:
    """What the plan is to know of it."""
    if own.cold:
        return Course.COLD
    if own.is_steady is not False:
        return Course.STEADY
    return Course.GROWS if own.grows else Course.MOVES
