"""Makes a point's folder as the generator would, from given times: for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from sojourn import quantiles
from sojourn.plan import Point, codec

MAX_NS = 3_600_000_000_000
SLOT_BITS = 11  # of a time, that a histogram of three digits stores


def hdr(times_ns: Sequence[float] | NDArray[np.float64]) -> str:
    """The finite times as base64 HdrHistogram V2, compressed; what is out of its range is left out.

    Slot by slot, because to record each time by itself takes longest of all that is made here.
    """
    histogram = HdrHistogram(1, MAX_NS, 3)
    times = np.asarray(times_ns, float)
    ns = times[np.isfinite(times) & (times >= 0)].astype(np.int64)
    low = np.maximum(np.frexp(ns)[1] - SLOT_BITS, 0)  # bits of each time that are not stored
    slots = (low << (SLOT_BITS - 1)) + (ns >> low)
    slots = slots[slots < len(histogram.counts)]
    if len(slots):
        counts = np.bincount(slots)
        np.frombuffer(histogram.counts, np.int64)[: len(counts)] += counts
        histogram.set_internal_tacking_values(int(slots.min()), int(slots.max()), len(slots))
    return str(histogram.encode().decode())


def span(times_ns: Sequence[float] | NDArray[np.float64]) -> dict[str, Any]:
    """As a result has it."""
    times = np.sort(np.asarray(times_ns, float))
    finite = times[np.isfinite(times)]

    def at(q: float) -> float | None:
        value = times[max(0, int(np.ceil(q * len(times))) - 1)] if len(times) else np.inf
        return float(value) if np.isfinite(value) else None

    return {
        "mean": float(finite.mean()) if len(finite) else None,
        **{name: at(q) for name, q in quantiles.keys().items()},
        "max": float(finite.max()) if len(finite) else None,
        "count": len(times),
        "lost": int(len(times) - len(finite)),
        "hdr": hdr(finite),
    }


def result(times_ns: Sequence[float] | NDArray[np.float64], **changes: Any) -> dict[str, Any]:
    """A whole result; `changes` replace its keys."""
    times = span(times_ns)
    nothing = span([])
    table = {
        "schema": "sojourn.load.result/1",
        "program": "sojourn-load 0",
        "job": {"qos_bound": "", "qos_quantile": 0.0},
        "started_unix_ns": 1,
        "measured_s": 1.0,
        "offered_rps": float(len(times_ns)),
        "achieved_rps": float(len(times_ns)),
        "requests": len(times_ns),
        "errors": {},
        "reply_bytes": 0,
        "timely_ratio": 1.0,
        "outages": {
            "count": 0,
            "total_ns": 0,
            "longest_ns": 0,
            "share_time": 0.0,
            "share_excluded": 0.0,
            "log": [],
        },
        "verdict": "holds",
        "reasons": [],
        "sojourn_ns": times,
        "sojourn_all_ns": times,
        "wire_ns": times,
        "first_byte_ns": times,
        "send_lag_ns": nothing,
        "pick_up_ns": nothing,
        "probe_sojourn_ns": None,
        "checks": {"rate_error": 0.0},
        "cost": {"cpu_ns_per_request": 1000.0},
    }
    return {**table, **changes}


def windows(
    n: Sequence[int], k: Sequence[int], *, lost: int = 0, disturbed: Sequence[int] = ()
) -> dict[str, Any]:
    """Requests and misses by windows of 10 ms; `lost` of the misses never completed."""
    return {
        "length_ns": 10_000_000,
        "n": list(n),
        "k": list(k),
        "over": sum(k) - lost,
        "disturbed": list(disturbed),
    }


def put(folder: Path, point: Point, load: dict[str, Any]) -> Path:
    """Write `point.json` and `load.json` into a folder, which is made; returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "point.json").write_text(codec.dumps(point), encoding="utf-8")
    (folder / "load.json").write_text(json.dumps(load), encoding="utf-8")
    return folder


def put_raw(
    folder: Path,
    sojourn_ns: NDArray[np.float64],
    excluded: NDArray[np.bool_] | None = None,
    *,
    gap_ns: int = 10_000,
) -> None:
    """Write `raw.parquet`: requests due `gap_ns` apart; lost ones are never done."""
    intended = np.arange(1, len(sojourn_ns) + 1, dtype=np.int64) * gap_ns
    lost = ~np.isfinite(sojourn_ns)
    done = intended + np.where(lost, 0, sojourn_ns).astype(np.int64)
    columns = {
        "intended_ns": pa.array(intended),
        "done_ns": pa.array(done, mask=lost),
        "outcome": pa.array(np.where(lost, "pending", "hit")),
        "excluded": pa.array(np.zeros(len(lost), np.bool_) if excluded is None else excluded),
    }
    pq.write_table(pa.table(columns), folder / "raw.parquet")


def put_host(folder: Path, *, length_s: float, server_cpu_s: float) -> None:
    """Write `host.json`: how long the point took and what CPU time the server used, s."""
    table = {"length_s": length_s, "server_cpu_s": server_cpu_s}
    (folder / "host.json").write_text(json.dumps(table), encoding="utf-8")


def put_trace(folder: Path, *, mean_ns: float, requests: int) -> None:
    """Write `trace.json`: two stages, 7 to 3, and no residual."""
    times = {"mean_ns": mean_ns, "p50_ns": mean_ns, "p95_ns": 2 * mean_ns, "p99_ns": 3 * mean_ns}
    groups = [
        {"name": "EPoll", "mean_ns": 0.7 * mean_ns},
        {"name": "application", "mean_ns": 0.3 * mean_ns},
    ]
    causes = [{"cause": "queuing", "share": 0.6}, {"cause": "work", "share": 0.4}]
    table = {
        "schema": "sojourn.trace.result/1",
        "requests": requests,
        "matched": requests,
        "unmatched_share": 0.0,
        "dropped": 0,
        "verdict": {"verdict": "holds", "reasons": []},
        "answer": "",
        "total": times,
        "residual": {**times, "mean_ns": 0.0},
        "groups": groups,
        "causes": causes,
        "tail": {"q": 0.99, "requests": 10, "total": times, "groups": groups, "causes": causes},
        "cpu": {"user_share": 0.2, "kernel_share": 0.8, "softirq_share_of_kernel": 0.3},
    }
    (folder / "trace.json").write_text(json.dumps(table), encoding="utf-8")


def put_hlog(folder: Path, seconds: Sequence[Sequence[float] | NDArray[np.float64]]) -> None:
    """Write `load.hlog` with sojourn times, ns, of each second from 0 on."""
    lines = ["#[Histogram log format version 1.3]", '"StartTimestamp","Interval_Length","x","y"']
    lines += [f"{n}.000,1.000,0.001,{hdr(times)}" for n, times in enumerate(seconds)]
    (folder / "load.hlog").write_text("\n".join(lines) + "\n", encoding="utf-8")
