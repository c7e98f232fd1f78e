"""Who ran on the server's CPUs during a point that was measured as the machine schedules it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.samples.names import HOST
from sojourn.samples.versioned import read_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """All tasks of one name that ran on the server's CPUs.

    Attributes:
        task: their name, as the kernel cuts it.
        long_runs_per_s: how often they ran there for over 0.3 ms at a time; if `is_exact` is not,
            at most so often.
        longest_ms: the longest such run, ms; None: not known.
        cpu_share: of the CPUs' time, 0 to 1.
        is_exact: whether every run was seen.
        pids: their processes, the one with the most time first; () in older records.
    """

    task: str
    long_runs_per_s: float
    longest_ms: float | None
    cpu_share: float
    is_exact: bool
    pids: tuple[int, ...] = ()


def read(folder: Path) -> tuple[Culprit, ...]:
    """Who ran there, the worst first; none if no one looked or no one ran.

    Args:
        folder: of a point.
    """
    at = folder / HOST
    return merged(read_json(at).get("culprits") or ()) if at.exists() else ()


def merged(seen: Iterable[Mapping[str, Any]]) -> tuple[Culprit, ...]:
    """Tasks of one name as one: a daemon's workers are one culprit."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for one in seen:
        by_name.setdefault(str(one["task"]), []).append(one)
    culprits = [_sum(name, group) for name, group in by_name.items()]
    return tuple(sorted(culprits, key=lambda one: (-one.long_runs_per_s, -one.cpu_share)))


def _sum(name: str, group: list[Mapping[str, Any]]) -> Culprit:
    ranked = sorted(group, key=lambda one: -float(one["cpu_share"]))
    known = [float(one["longest_ms"]) for one in group if one["longest_ms"] is not None]
    return Culprit(
        task=name,
        long_runs_per_s=sum(float(one["runs_over_0_3ms_per_s"]) for one in group),
        longest_ms=max(known, default=None),
        cpu_share=sum(float(one["cpu_share"]) for one in group),
        is_exact=all(bool(one.get("is_exact", True)) for one in group),
        pids=tuple(dict.fromkeys(int(one["pid"]) for one in ranked if one.get("pid"))),
    )
