"""Measured points of one service by load: what a calibration reads.

From a folder of results of `sojourn-load` in JSON, or a CSV; `record_loads` reads a record.
Runs at the same load are one point: quantiles are medians over the runs, with the least and the
most beside them, so that an outlier does not decide and the spread is seen. Of an even number the
lower of the two in the middle counts, because what disturbs a run only ever adds. A run that the
lab does not believe (verdict `unknown`) is left out, unless its load has no other.

On a shared machine a CPU is sometimes slower, for everybody on it. Which runs were disturbed is
told by CPU time, never by latency: with `quiet` below 1 only that share of the runs of a load
counts whose CPUs were busy least. Both fitted and held-out loads are treated so.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn import disk
from sojourn.errors import SpecFault, StoreFault
from sojourn.samples import decode
from sojourn.store.files import DAMAGE

QUANTITIES = ("mean", "p50", "p95", "p99")
SAME = 0.04  # runs whose loads differ by less than this share of the load are one point
GRID = 400  # equally likely places that stand for a histogram
_FIX = (
    "give a record's folder (results/STUDY/MACHINE/RUN), a folder of results in JSON, or a CSV "
    "with rate_rps, mean_ns, p50_ns, p95_ns, p99_ns and, if known, cpu_share and verdict"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One measured load; times in ns, None where not known.

    Attributes:
        cpu_share: share of time in which the server's CPUs were busy, 0 to 1.
        is_believed: whether the run's self-checks passed.
        shape: sojourn times at `GRID` equally likely places, ascending; empty if not known.
        runs: how many were put together.
        spread: by quantity, least and most of the runs.
    """

    rate_rps: float
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    cpu_share: float | None = None
    is_believed: bool = True
    shape: tuple[float, ...] = ()
    runs: int = 1
    spread: Mapping[str, tuple[float, float]] | None = None


def read_points(path: Path, *, quiet: float = 1.0) -> list[Measured]:
    """Points in order of load.

    Args:
        path: a folder of results, or a CSV; `record_loads` reads a record.
        quiet: share of the runs of each load that counts, those with the least CPU time.

    Raises:
        SpecFault: there are none, or the file is none of the forms.
    """
    try:
        if path.is_dir():
            measured = [of_result(disk.read_json(file)) for file in sorted(path.glob("*.json"))]
        else:
            text = io.StringIO(disk.read_named(path).decode(), newline="")
            measured = [_of_row(row) for row in csv.DictReader(text)]
    except (*DAMAGE, OSError, csv.Error, StoreFault) as error:
        raise SpecFault(f"cannot read points: {why(error)}", at=str(path), fix=_FIX) from None
    if not measured:
        raise SpecFault("there are no points", at=str(path), fix=_FIX)
    return together(measured, quiet=quiet)


def why(error: Exception) -> str:
    """What is wrong with a file, in words, where Python's own text is a bare name or a number."""
    if isinstance(error, KeyError):
        return f"there is no '{error.args[0]}'"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return getattr(error, "what", "") or str(error) or type(error).__name__


def together(points: Sequence[Measured], *, quiet: float = 1.0) -> list[Measured]:
    """Runs at the same load as one point, in order of load."""
    groups: list[list[Measured]] = []
    for point in sorted(points, key=lambda point: point.rate_rps):
        if groups and point.rate_rps <= groups[-1][0].rate_rps * (1 + SAME):
            groups[-1].append(point)
        else:
            groups.append([point])
    return [_one(_quiet(group, quiet)) if len(group) > 1 else group[0] for group in groups]


def doubted(points: Sequence[Measured]) -> str:
    """How many loads rest on runs whose self-checks failed, in a sentence; "" if none does."""
    count = sum(not point.is_believed for point in points)
    if not count:
        return ""
    return f"{count} of {len(points)} loads have only runs that failed a self-check"


def _quiet(runs: Sequence[Measured], share: float) -> Sequence[Measured]:
    """Believed runs, those with the least CPU time per request."""
    if not 0 < share <= 1:
        raise SpecFault(f"quiet is {share:g}", at="quiet", fix="give a share above 0, at most 1")
    group = [run for run in runs if run.is_believed] or list(runs)
    known = [run for run in group if run.cpu_share is not None]
    if share == 1 or not known:
        return group
    known.sort(key=lambda run: (run.cpu_share or 0.0) / run.rate_rps)
    return known[: math.ceil(share * len(known))]


def _one(group: Sequence[Measured]) -> Measured:
    # A run without a number lost the requests that decide it: it counts as infinite (M3).
    values = {
        name: [
            math.inf if value is None else value
            for value in (getattr(point, name) for point in group)
        ]
        for name in (*QUANTITIES, "cpu_share")
    }
    middle = {name: median_low(result) for name, result in values.items()}
    known = {name: outcome for name, outcome in values.items() if middle[name] < math.inf}
    shapes = [point.shape for point in group if point.shape]
    # The shape of the run in the middle: a mean of quantiles would be no one's distribution.
    order = sorted(shapes, key=lambda shape: shape[len(shape) // 2])
    best = {name: middle[name] if name in known else None for name in values}
    return Measured(
        rate_rps=float(np.mean([point.rate_rps for point in group])),
        mean=best["mean"],
        p50=best["p50"],
        p95=best["p95"],
        p99=best["p99"],
        cpu_share=best["cpu_share"],
        is_believed=group[0].is_believed,
        shape=order[(len(order) - 1) // 2] if order else (),
        runs=len(group),
        spread={name: (min(answer), max(answer)) for name, answer in known.items()},
    )


def of_result(result: Mapping[str, Any]) -> Measured:
    """A load as a result of `sojourn-load` has it."""
    span = result["sojourn_ns"]
    idle = result.get("checks", {}).get("server_idle_share")
    return Measured(
        is_believed=result.get("verdict") != "unknown",
        rate_rps=float(result["offered_rps"]),
        mean=span["mean"],
        p50=span["p50"],
        p95=span["p95"],
        p99=span["p99"],
        cpu_share=None if idle is None else 1 - float(idle),
        shape=tuple(shape_of(span["hdr"])) if span.get("hdr") and not span.get("lost") else (),
    )


def shape_of(hdr: str) -> NDArray[np.float64]:
    """A histogram as `GRID` equally likely places, ns, ascending; empty if it is."""
    text = decode(hdr, at="sojourn_ns.hdr")
    if not text.total:
        return np.empty(0)
    middles = (text.lo_ns + text.hi_ns) / 2
    edges = np.cumsum(text.count) / text.total
    wanted = (np.arange(GRID) + 0.5) / GRID
    places = np.searchsorted(edges, wanted).clip(max=len(middles) - 1)
    return np.asarray(middles[places], dtype=np.float64)


def _of_row(row: Mapping[str, str]) -> Measured:
    def number(key: str) -> float | None:
        return float(row[key]) if row.get(key) else None

    return Measured(
        rate_rps=float(row["rate_rps"]),
        mean=number("mean_ns"),
        p50=number("p50_ns"),
        p95=number("p95_ns"),
        p99=number("p99_ns"),
        cpu_share=number("cpu_share"),
        is_believed=row.get("verdict") != "unknown",
    )
