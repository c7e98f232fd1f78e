"""p99 at half load, with each tracer and without.

Three answers, for p99 without a tracer varies by a factor of ten from minute to minute:

1. **Pairs.** Runs with a tracer over runs without one in the same round, of which both were
   undisturbed: the client's logs of the server's CPUs (`--server-pid`: waits in the run queue, CPUs
   that were stopped) and of its own have stops for at most `STOPPED_MAX` of the time. Those that
   begin while the tracer attaches, traces or detaches are its doing and do not count.
2. **Within a run**, for a tracer that works in windows: p99 of all requests over p99 of those that
   were sent when nothing was attached and what attaching left behind was gone. What the machine
   does strikes both. Beside it stands what each phase of a window is: share of requests, and p99.
3. **The same without the client's own stops.** On two CPUs the tracer attaches on the client's,
   and stops it for some milliseconds: what was due then comes late, and all at once, by no doing of
   the service. So the same ratio is there once more, of requests of which none was under way
   while the client was stopped (its log of outages says when), and how many are left out.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from tracers import NICE, Memcached, Start, attach, result_of, stop

STOPPED_MAX = 0.002  # share of the time: at 40 % busy it holds up a third of 1 % of the requests
RUN_S = 24  # a tracer that runs for a minute has eight windows in it
AFTER_NS = 5_000_000  # what detaching left behind is gone by then
PHASES = ("attach and settle", "window", "drain and detach", "after")
Spans = list[tuple[int, int]]  # ns


@dataclass(frozen=True, slots=True)
class Half:
    """One run at half load.

    Attributes:
        p99_ns: client's p99 sojourn time of all requests.
        stopped: time in which others than the tracer stopped the server, and the client, ÷ length.
        is_sound: that is at most `STOPPED_MAX`.
        between_p99_ns: of requests that were sent between windows; None: no windows.
        phases: by phase of a window: share of all requests, and their p99, ns.
        served_p99_ns: of requests that were not under way while the client was stopped.
        served_between_p99_ns: of those, sent between windows.
        client_stopped_share: of all requests, those that were.
    """

    p99_ns: float
    stopped: float
    is_sound: bool
    between_p99_ns: float | None = None
    phases: dict[str, tuple[float, float | None]] | None = None
    served_p99_ns: float | None = None
    served_between_p99_ns: float | None = None
    client_stopped_share: float | None = None


def half_load(
    server: Memcached, kinds: dict[str, Start], rounds: int, *, rps: float, paths: tuple[Path, Path]
) -> dict[str, list[Half]]:
    """Runs at `rps`, with each tracer and without, in random turns.

    `paths`: of the programs, and for what they write.
    """
    bin_dir, scratch = paths
    halves: dict[str, list[Half]] = {name: [] for name in ["none", *kinds]}
    raw = scratch / "half.parquet"
    words = f"--preload --items 1000 --rate {rps:.0f} --connections 64 --cpus 1 --wait spin"
    words += f" --server-cpus 0 --server-pid {server.process.pid} --warmup 0.3s --duration {RUN_S}s"
    command = [*NICE.split(), str(bin_dir / "sojourn-load"), f"memcache://127.0.0.1:{server.port}"]
    command += [*words.split(), "--raw", str(raw), "--json", "-"]
    order = random.Random(1)  # noqa: S311 - an order, no secret
    for name in [name for _ in range(rounds) for name in order.sample(list(halves), len(halves))]:
        process = attach(kinds[name], server) if name in kinds else None
        since_boot_ns = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.monotonic_ns()
        run = subprocess.run(command, capture_output=True, check=False)
        result = json.loads(run.stdout)
        zero_ns = result["started_unix_ns"] - since_boot_ns
        trace = None
        if process:
            stop(process)
            trace = result_of(name, scratch)
        halves[name].append(half(result, *requests(raw, zero_ns), zero_ns, trace))
    return halves


def requests(raw: Path, zero_ns: int) -> tuple[np.ndarray, np.ndarray]:
    """When each was due, monotonic ns, ascending, and its sojourn time, ns."""
    sql = f"select intended_ns, done_ns from '{raw}' where done_ns is not null order by 1"  # noqa: S608
    columns = duckdb.sql(sql).fetchnumpy()
    return columns["intended_ns"] + zero_ns, columns["done_ns"] - columns["intended_ns"]


def half(
    result: dict[str, Any],
    due_ns: np.ndarray,
    took_ns: np.ndarray,
    zero_ns: int,
    trace: dict[str, Any] | None,
) -> Half:
    """What a run was, from the client's result and requests, and the tracer's result."""
    places = trace["sampling"]["places"] if trace else []
    spans = [(place["attached_ns"], place["detached_ns"] + AFTER_NS) for place in places]
    seen = [result[key] or {"log": []} for key in ("server_stops", "outages")]
    stops = [(zero_ns + at, ns) for log in seen for at, ns in log["log"]]
    stopped = foreign_ns(stops, spans) / (result["measured_s"] * 1e9)
    outcome = Half(p99(took_ns) or 0.0, stopped, stopped <= STOPPED_MAX)
    if not places:
        return outcome
    phase = phase_of(due_ns, places)
    phases = {
        name: (float((phase == k).mean()), p99(took_ns[phase == k]))
        for k, name in enumerate(PHASES)
    }
    between = phase < 0
    was_stopped = under_way(due_ns, took_ns, [(zero_ns + at, ns) for at, ns in seen[1]["log"]])
    return Half(
        outcome.p99_ns,
        stopped,
        outcome.is_sound,
        p99(took_ns[between]),
        phases,
        p99(took_ns[~was_stopped]),
        p99(took_ns[between & ~was_stopped]),
        float(was_stopped.mean()),
    )


def under_way(due_ns: np.ndarray, took_ns: np.ndarray, stops: Spans) -> np.ndarray:
    """Which requests were due before the end of a stop (begin, length) and done after its begin.

    >>> due, took = np.array([0, 10, 20, 30]), np.array([5, 5, 5, 5])
    >>> under_way(due, took, [(14, 4), (36, 9)]).tolist()
    [False, True, False, False]
    """
    values = np.zeros(due_ns.size, dtype=bool)
    for at, ns in stops:
        values |= (due_ns <= at + ns) & (due_ns + took_ns >= at)
    return values


def foreign_ns(stops: Spans, spans: Spans) -> int:
    """Length of the stops (begin, length) that begin in none of `spans` (begin, end)."""
    return sum(ns for at, ns in stops if not any(begin <= at < end for begin, end in spans))


def phase_of(due_ns: np.ndarray, places: list[dict[str, int]]) -> np.ndarray:
    """Index in `PHASES` of each request; -1: between windows."""
    phase = np.full(due_ns.size, -1)
    for place in places:
        ends = [place[key] for key in ("attached_ns", "started_ns", "ended_ns", "detached_ns")]
        at = np.searchsorted(due_ns, [*ends, ends[-1] + AFTER_NS])
        for k in range(len(PHASES)):
            phase[at[k] : at[k + 1]] = k
    return phase


def p99(took_ns: np.ndarray) -> float | None:
    return float(np.quantile(took_ns, 0.99)) if took_ns.size else None


def p99_ratios(halves: dict[str, list[Half]]) -> dict[str, dict[str, Any]]:
    """By tracer: over none in the same round where both were sound, and within its own runs."""
    results: dict[str, dict[str, Any]] = {}
    for name, each in halves.items():
        pairs = [
            pair
            for pair in zip(each, halves["none"], strict=True)
            if all(half.is_sound for half in pair)
        ]
        results[name] = {
            "rounds": len(each),
            "sound": len(pairs),
            "ratio": summary([with_it.p99_ns / without.p99_ns for with_it, without in pairs]),
            "within": summary([h.p99_ns / h.between_p99_ns for h in each if h.between_p99_ns]),
            "within_served": summary(
                [
                    h.served_p99_ns / h.served_between_p99_ns
                    for h in each
                    if h.served_p99_ns and h.served_between_p99_ns
                ]
            ),
            "client_stopped_share": summary(
                [h.client_stopped_share for h in each if h.client_stopped_share is not None]
            ),
            "stopped": summary([half.stopped for half in each]),
            "phases": {
                phase: {
                    "share": statistics.median(h.phases[phase][0] for h in each if h.phases),
                    "p99_ns": summary(
                        [at for h in each if h.phases and (at := h.phases[phase][1]) is not None]
                    ),
                }
                for phase in PHASES
                if any(h.phases for h in each)
            },
        }
    return results


def summary(values: list[float]) -> dict[str, float] | None:
    """Least, median and most; None of none."""
    if not values:
        return None
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def stored_rows(halves: dict[str, list[Half]]) -> dict[str, list[dict[str, Any]]]:
    return {name: [asdict(half) for half in each] for name, each in halves.items()}
