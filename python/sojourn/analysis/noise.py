"""The noise of a machine, from many starts of one service under one load.

Windows are the parts of a run for which the generator gives quantiles: a second, or less in a short
run. The p50 and p99 of each are logarithms, so components are shares: 0.05 is about 5 %. Which CPU
a thread ran on is part of *start to start*.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np
import scipy

from sojourn.findings.findings import Findings
from sojourn.findings.load_point import LoadPoint, Run
from sojourn.stats import restarts, variance_components, visible_change
from sojourn.stats.variance_components import Components

NUMBERS = {"p50": (2, 0.5), "p99": (3, 0.99)}  # place in a window of `Run.series`, and quantile
ALPHA = 0.01  # of the gate that is asked about, as `sojourn gate` has it by default
LIMIT = 0.05  # increase that it allows, too
MINUTES = (5, 10, 30)
DOUBTS_MOST = 3  # reasons that are named


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Something that differs from run to run, held against the runs' p50.

    Attributes:
        name: of it.
        mean, most: share of a run's time.
        explains: share of the scatter between runs that goes with it (squared correlation of
            ranks); None: it does not differ, or with fewer than five runs.
        p: chance of so much without any connection.
    """

    name: str
    mean: float
    most: float
    explains: float | None = None
    p: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """All of it.

    Attributes:
        service: how people call it.
        offered_rps: its load.
        window_s: length of a window, s.
        components: by number, "p50" and "p99"; None where too little is known.
        modes: numbers of which the starts fall into two groups.
        causes: stolen time, stops of the client.
        visible: (minutes, number, smallest increase that a gate of this number alone sees and
            confirms nine times out of ten, or None).
        limit: increase that this gate allows; what it sees lies above.
        disturbing: (what disturbs this machine, how to change that), as looked at before the runs.
    """

    service: str
    offered_rps: float
    window_s: float
    components: dict[str, Components | None]
    modes: tuple[str, ...]
    causes: tuple[Cause, ...]
    visible: tuple[tuple[int, str, float | None], ...]
    limit: float = LIMIT
    disturbing: tuple[tuple[str, str], ...] = ()


def noise(findings: Findings, block_s: float) -> Noise | None:
    """The noise of the load with the most runs; None without any.

    Args:
        findings: of a record.
        block_s: how long a gate's block of two runs would take, s.
    """
    places = [(len(_runs(p)), s, p) for s in findings.services for p in s.points]
    if not places:
        return None
    many, service, point = max(places, key=lambda place: place[0])
    runs = _runs(point)
    if not many:
        return None
    components = {
        name: variance_components.components(
            [windows(run, at) for run in runs], [float(run.repeat) for run in runs]
        )
        for name, (at, _) in NUMBERS.items()
    }
    wholes = {name: [_whole(run, q) for run in runs] for name, (_, q) in NUMBERS.items()}
    return Noise(
        service=service.service,
        offered_rps=point.offered_rps,
        window_s=_window_s(runs),
        components=components,
        modes=tuple(n for n, each in wholes.items() if restarts.is_bimodal(np.exp(each).tolist())),
        causes=tuple(
            _cause(name, [getattr(run, key) for run in runs], wholes["p50"])
            for name, key in (("stolen time", "steal_share"), ("client stopped", "outage_share"))
        ),
        visible=tuple(
            (minutes, name, _visible(each, int(60 * minutes / block_s)))
            for minutes in MINUTES
            for name, each in wholes.items()
            if components[name] is not None
        ),
    )


def doubts(findings: Findings) -> tuple[tuple[str, int], ...]:
    """Why runs are unknown, with how many, the most frequent reason first."""
    reasons = Counter(
        run.reasons[0]
        for service in findings.services
        for point in service.points
        for run in point.runs
        if not run.is_believed and run.reasons
    )
    return tuple(reasons.most_common(DOUBTS_MOST))


def _runs(point: LoadPoint) -> list[Run]:
    return [run for run in point.runs if run.is_believed and run.series]


def _window_s(runs: Sequence[Run]) -> float:
    """The usual time between two windows; 0 where no run has two."""
    gaps = [after[0] - before[0] for run in runs for before, after in pairwise(run.series)]
    return median(gaps) if gaps else 0.0


def windows(run: Run, at: int) -> list[float]:
    """Logarithms of the windows of a run."""
    return [math.log(value) for window in run.series if (value := window[at])]


def _whole(run: Run, q: float) -> float:
    """Logarithm of a quantile of all its requests; nan without an end."""
    value = dict(run.sample).get(q)
    return math.log(value) if value and math.isfinite(value) else math.nan


def _cause(name: str, shares: Sequence[float | None], middles: Sequence[float]) -> Cause:
    pairs = [
        (share, middle)
        for share, middle in zip(shares, middles, strict=True)
        if share is not None and math.isfinite(middle)
    ]
    if not pairs:
        return Cause(name=name, mean=math.nan, most=math.nan)
    known, values = (np.array(each) for each in zip(*pairs, strict=True))
    cause = Cause(name=name, mean=float(known.mean()), most=float(known.max()))
    if len(pairs) < variance_components.RUNS_LEAST or np.ptp(known) == 0 or np.ptp(values) == 0:
        return cause
    rank = scipy.stats.spearmanr(known, values)
    share = float(rank.statistic) ** 2
    return Cause(name=name, mean=cause.mean, most=cause.most, explains=share, p=float(rank.pvalue))


def _visible(logs: Sequence[float], blocks: int) -> float | None:
    """What a gate sees in so many blocks, by the scatter of whole runs about a line.

    Drift is nearly the same for both runs of a block, and a block's ratio has the noise of two.
    """
    known = [(at, value) for at, value in enumerate(logs) if math.isfinite(value)]
    if blocks < 1 or len(known) < variance_components.RUNS_LEAST:
        return None
    at, values = (np.array(each, float) for each in zip(*known, strict=True))
    rest = values - np.polyval(np.polyfit(at, values, 1), at)
    scatter = math.sqrt(2) * visible_change.scatter(rest, taken=2)
    return visible_change.gate_change_in(blocks, scatter, ALPHA, LIMIT)
