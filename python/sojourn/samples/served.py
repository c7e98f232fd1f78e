"""How many requests the server answered, and its CPU time for each."""

from __future__ import annotations

from pathlib import Path

from sojourn import units
from sojourn.samples.contract import LoadResult
from sojourn.samples.versioned import read_json


def served(result: LoadResult, probe: LoadResult | None = None) -> float:
    """Requests that the server answered from the generator's start to its end, the probe's too.

    They are those of the warm-up, and those of the measured part, however late they were answered.
    Where more is asked than is served, the warm-up is served whole, because it came first.
    """
    beside = served(probe) if probe else 0.0
    if result.measured_s <= 0:
        return beside
    answered = float(result.replies.count or result.achieved_rps * result.measured_s)
    before_rps = max(result.offered_rps or 0.0, answered / result.measured_s)
    warmup_s = units.parse_ns(str(result.job.get("warmup") or "0s")) / units.NS_PER_S
    return beside + answered + before_rps * warmup_s


def cpu_ns(at: Path, requests: float) -> float | None:
    """CPU time of the server for each request, ns; None: `host.json` does not count it.

    Args:
        at: `host.json`: its CPU time counts from the generator's start to its end.
        requests: that the server answered in that time (`served`).
    """
    table = read_json(at) if at.exists() else {}
    busy_s = table.get("server_cpu_s")
    return units.NS_PER_S * float(busy_s) / requests if busy_s and requests > 0 else None


def used_cpus(at: Path) -> float | None:
    """CPU time of the server in each second of the run, s; None: `host.json` does not count it."""
    table = read_json(at) if at.exists() else {}
    busy_s, length_s = table.get("server_cpu_s"), float(table.get("length_s") or 0.0)
    return float(busy_s) / length_s if busy_s and length_s > 0 else None
