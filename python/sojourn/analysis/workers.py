"""How unevenly workers share a service's work: the Gini coefficient of their CPU time (L16, L23).

0 if all used the same time, (n − 1)/n if one of n did everything. Each run gives one; runs of a
combination are blocks, with Student's interval of their mean. Of one worker there is nothing to
tell.

Source: Gini (1912), in the form of half the relative mean absolute difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sojourn.analysis.combinations import Part
from sojourn.findings.effects import FactorFinding
from sojourn.half_width import student
from sojourn.plan.points import Phase, Verdict
from sojourn.plan.setting import level_text
from sojourn.spec import Study
from sojourn.spec.levels import names, short
from sojourn.stats.interval import Interval
from sojourn.stats.log_ratio_contrasts import BLOCKS_MIN
from sojourn.stats.method import Method

METHOD = Method(
    name="workers",
    about="how unevenly workers share the work: Gini coefficient of their CPU time",
    ids=("L3", "L7", "L15", "L16", "L23"),
    source="Gini (1912)",
)

NAME = "load per worker"
ASKED = {"threads", "workers", "instances", "pin", "udp", "reuseport"}  # factors that may move it


@dataclass(frozen=True, slots=True)
class Shared:
    """How the workers of one combination shared their work.

    Attributes:
        under: its levels, in words.
        workers: how many there are.
        gini, interval: mean over runs; None of one worker, or without runs that tell.
        busiest: CPU time of the busiest over that of the mean, mean over runs.
        runs: that it rests on.
    """

    under: str
    workers: int
    gini: float | None
    interval: Interval | None
    busiest: float | None
    runs: int


def gini(used_s: Sequence[float]) -> float:
    """The coefficient of times, which are not all 0.

    >>> round(gini([1, 1, 1]), 3), round(gini([3, 0, 0]), 3), round(gini([1, 3]), 3)
    (0.0, 0.667, 0.25)
    """
    ordered = np.sort(np.asarray(used_s, float))
    ranks = 2 * np.arange(1, len(ordered) + 1) - len(ordered) - 1
    return float((ranks * ordered).sum() / (len(ordered) * ordered.sum()))


def of_runs(under: str, runs: Sequence[Sequence[float]]) -> Shared:
    """What runs of one combination say.

    Args:
        under: its levels, in words.
        runs: CPU time by worker, s; those in which no one worked are left out.
    """
    selected = [run for run in runs if sum(run) > 0]
    workers = max(map(len, selected), default=0)
    if workers < 2:  # it takes two to share
        return Shared(under, workers, None, None, None, len(selected))
    values = np.array([gini(run) for run in selected])
    busiest = float(np.mean([max(run) * len(run) / sum(run) for run in selected]))
    return Shared(under, workers, float(values.mean()), _interval(values), busiest, len(selected))


def _interval(values: np.ndarray) -> Interval | None:
    if len(values) < BLOCKS_MIN:
        return None
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    half = student(len(values) - 1) * spread / math.sqrt(len(values))
    return Interval(lo=max(0.0, mean - half), hi=min(1.0, mean + half))


def findings(study: Study, parts: Sequence[Part]) -> tuple[FactorFinding, ...]:
    """How the workers of each service shared its work under each combination.

    Only of services of which a factor is varied that may move it.
    """
    results = []
    for label in dict.fromkeys(part.spec.label for part in parts):
        keys = study.factors_of(label)
        if not ASKED & set(map(short, keys)):
            continue
        called = names(study.factors)
        own = [part for part in parts if part.spec.label == label]
        shared = [of_runs(_under(part, called), list(_runs(part))) for part in own]
        if any(one.runs for one in shared):
            results.append(_finding(label, shared))
    return tuple(results)


def _under(part: Part, called: dict[str, str]) -> str:
    return ", ".join(f"{called[key]} = {level_text(level)}" for key, level in part.levels.items())


def _runs(part: Part) -> Iterable[Sequence[float]]:
    for one in part.data.of(part.spec.label):
        outcome = one.outcome
        is_load = outcome.point.phase is Phase.SWEEP and outcome.verdict is not Verdict.UNKNOWN
        if is_load and one.worker_cpu_s:
            yield one.worker_cpu_s


def _finding(label: str, shared: Sequence[Shared]) -> FactorFinding:
    return FactorFinding(
        service=label,
        key=NAME,
        name=NAME,
        levels=tuple(one.under for one in shared),
        effects=(),
        aliases=(),
        sentence=f"{label}: Gini coefficient of CPU time over workers (0: all the same): "
        + "; ".join(map(_words, shared))
        + ".",
    )


def _words(one: Shared) -> str:
    if not one.runs:
        return f"unknown under {one.under}: no run is valid"
    if one.gini is None:
        return f"one worker under {one.under}, so nothing is uneven"
    ends = one.interval
    sure = f"{ends.lo:.2f} to {ends.hi:.2f}" if ends else "one run gives no interval"
    return (
        f"{one.gini:.2f} ({sure}) of {one.workers} workers under {one.under}, the busiest with "
        f"{one.busiest:.2g} times the mean"
    )
