"""What a point would have left in its folder, from queues that are simulated once and used often.

A pool holds a few simulated runs for every step of utilisation; a point takes one by its seed. So
the files have the size and the form of real ones (2 s of a real memcached leave some 100 KB of
histograms) and 10,000 points are made in minutes.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from sojourn import samples
from sojourn.plan.points import Outcome, Point
from sojourn.plan.setting import Level, Setting
from sojourn.samples import made
from sojourn.spec.levels import short
from sojourn.stats.testing import mg1

SAMPLES = 5  # of resources in a run
SLICES = 40  # of a run, as many as the generator writes
WINDOW_NS = 10_000_000
STEPS = 20  # of utilisation
VARIANTS = 3  # simulated runs per step
REQUESTS_MAX = 60_000  # that are simulated; more would only count higher
RPS = {"memcached": 120_000.0, "nginx": 30_000.0, "synthetic": 1_000.0}  # capacities
BY_FACTOR: dict[str, dict[Level, float]] = {  # planted: what a level makes of the capacity
    "threads": {1: 1.0, 2: 1.6, 4: 2.3},
    "value_bytes": {200: 1.0, 4000: 0.8},
    "connections": {16: 1.0, 64: 1.0},  # no effect: what is reported about it is noise
    "workers": {1: 1.0, 2: 1.7},
    "neighbour": {"none": 1.0, "spin": 0.85, "stream": 0.93},
}
RESTART_SD = 0.03


@dataclass(frozen=True)
class Files:
    """What a run leaves, as text; `load` lacks what differs between points."""

    load: dict[str, Any]
    hlog: str


@dataclass
class Simulated:
    """A service per label; each life has a capacity of its own."""

    seed: int = 1
    lives: dict[str, float] = field(default_factory=dict)
    known: dict[tuple[object, ...], Outcome] = field(default_factory=dict)

    def measure(self, point: Point, folder: Path) -> Outcome:
        """Write the folder as the run would have and read it back as the lab does."""
        capacity = self._capacity(point)
        offered = point.offered_rps or capacity
        rho = min(offered / capacity, 1.2)
        step = max(1, round(rho * STEPS))
        files = simulated(point.service, step, point.seed % VARIANTS)
        closed = point.offered_rps is None
        rate = capacity if closed else min(offered, capacity)
        bound = dict(point.overrides).get("qos_bound", "")
        load = files.load | {
            "offered_rps": offered,
            "achieved_rps": rate,
            "requests": files.load["sojourn_ns"]["count"],
            "job": {"qos_bound": bound, "qos_quantile": 0.99 if bound else 0.0},
        }
        if bound:
            load["windows"] = made_windows(point.service, step, point.seed % VARIANTS, str(bound))
        (folder / "load.json").write_text(json.dumps(load), encoding="utf-8")
        (folder / "load.hlog").write_text(files.hlog, encoding="utf-8")
        (folder / "host.json").write_text(json.dumps(HOST), encoding="utf-8")
        used = resources(point.service, step, point.seed % VARIANTS, rate)
        (folder / "resources.json").write_text(used, encoding="utf-8")
        (folder / "service.json").write_text(json.dumps(served(point)), encoding="utf-8")
        of = (point.service, step, point.seed % VARIANTS, bound, closed)
        if of not in self.known:
            self.known[of] = samples.read(folder)
        return replace(
            self.known[of], point=point, folder=str(folder), offered_rps=offered, achieved_rps=rate
        )

    def _capacity(self, point: Point) -> float:
        draw = random.Random(f"{self.seed}/{point.life}")  # noqa: S311 - not a secret
        own = self.lives.setdefault(point.life, draw.gauss(1.0, RESTART_SD))
        return RPS[point.service] * own * effect(point.setting)


def effect(setting: Setting) -> float:
    """What the levels of a setting make of a capacity, all together."""
    known = ((BY_FACTOR.get(short(key), {}), level) for key, level in setting.items())
    return math.prod(of.get(level, 1.0) for of, level in known)


@cache
def times_ns(service: str, step: int, variant: int) -> NDArray[np.float64]:
    """Sojourn times of 2 s of an M/M/1 queue at a step of utilisation, in order, ns."""
    rate = RPS[service]
    rho = step / STEPS
    count = int(min(REQUESTS_MAX, max(500, 2 * rate * min(rho, 1.0))))
    rng = np.random.default_rng([step, variant, len(service)])
    return np.asarray(mg1(rng, rho, count) * 1e9 / rate + 40_000, float)


@cache
def simulated(service: str, step: int, variant: int) -> Files:
    """The files of one run of the pool."""
    times = times_ns(service, step, variant)
    slices = np.array_split(times, SLICES)
    lags = np.random.default_rng(variant).exponential(2_000, len(times))
    lines = ["#sojourn times, ns", '"StartTimestamp","Interval_Length","Interval_Max","x"']
    for n, part in enumerate(slices):
        text = f"{n * 0.05:.3f},0.050,{part.max():.3f},{hdr(part)}"
        lines += [text, f"Tag=all,{text}"]
    load = made.result([], measured_s=2.0, cost={"cpu_ns_per_request": 3000.0, "wait": "spin"})
    spans = {name: span(times) for name in ("sojourn_ns", "sojourn_all_ns")}
    spans |= {name: span(times - 20_000) for name in ("wire_ns", "first_byte_ns")}
    spans |= {name: span(lags) for name in ("send_lag_ns", "pick_up_ns")}
    return Files(load=load | spans, hlog="\n".join(lines) + "\n")


@cache
def made_windows(service: str, step: int, variant: int, bound: str) -> dict[str, Any]:
    """Requests and misses by windows of 10 ms."""
    times = times_ns(service, step, variant)
    late = times > float(bound.removesuffix("ns"))
    n = [len(part) for part in np.array_split(late, 200)]
    k = [int(part.sum()) for part in np.array_split(late, 200)]
    return made.windows(n, k)


def hdr(times: NDArray[np.float64]) -> str:
    """As `made.hdr`, but by distinct times of three digits: thirty times as fast."""
    scale = 10.0 ** (np.floor(np.log10(np.maximum(times, 1.0))) - 3)
    values, counts = np.unique(np.round(times / scale) * scale, return_counts=True)
    histogram = HdrHistogram(1, made.MAX_NS, 3)
    for value, count in zip(values, counts, strict=True):
        histogram.record_value(max(1, int(value)), int(count))
    return str(histogram.encode().decode())


def span(times: NDArray[np.float64]) -> dict[str, Any]:
    """A result's span of finite times."""
    quantiles = {"50": 0.5, "90": 0.9, "95": 0.95, "99": 0.99, "999": 0.999}
    at = np.quantile(times, list(quantiles.values()), method="higher")
    return {
        "mean": float(times.mean()),
        **{f"p{name}": float(value) for name, value in zip(quantiles, at, strict=True)},
        "max": float(times.max()),
        "count": len(times),
        "lost": 0,
        "hdr": hdr(times),
    }


HOST = {
    "schema": "sojourn.host/1",
    "length_s": 2.8,
    "steal_share": {"server": 0.0, "client": 0.0},
    "server_cpu_s": 1.2,
    "others_on_server_share": 0.0,
}


@cache
def drawn(service: str, step: int, variant: int) -> dict[str, NDArray[np.float64]]:
    """Use of each resource by utilisation, a row for each sample; network per request."""
    rng = np.random.default_rng([7, step, variant, len(service)])
    rho = min(1.0, step / STEPS)
    cpu = np.clip(rho * rng.normal(1.0, 0.02, SAMPLES), 0.0, 1.0)
    around = {name: rng.normal(1.0, 0.05, SAMPLES) for name in ("wait", "net", "switch")}
    return {
        "service_cpu_share": cpu,
        "service_user_share": 0.2 * cpu,
        "service_system_share": 0.8 * cpu,
        "thread_cpu_share_max": 0.97 * cpu,
        "runq_delay_share": 0.05 * rho**2 * np.abs(around["wait"]),
        "switches_voluntary_per_s": 9_000 * (1 - rho) * around["switch"] + 50,
        "switches_involuntary_per_s": 100 * rho * around["switch"],
        "server_busy_share": np.minimum(1.0, 1.02 * cpu),
        "server_steal_share": np.zeros(SAMPLES),
        "machine_busy_share": np.minimum(1.0, 0.5 + 0.5 * cpu),
        "machine_steal_share": np.zeros(SAMPLES),
        "network_rx_bytes_per_s": 150 * around["net"],
        "network_tx_bytes_per_s": 350 * around["net"],
        "network_rx_packets_per_s": around["net"],
        "network_tx_packets_per_s": around["net"],
        "disk_read_bytes_per_s": np.zeros(SAMPLES),
        "disk_write_bytes_per_s": np.zeros(SAMPLES),
        "resident_bytes": np.full(SAMPLES, 7.4e7),
        "major_faults_per_s": np.zeros(SAMPLES),
    }


def resources(service: str, step: int, variant: int, rate: float) -> str:
    """What a run's sampler would have written."""
    columns = {
        name: [float(f"{value * (rate if name.startswith('network') else 1):.6g}") for value in row]
        for name, row in drawn(service, step, variant).items()
    }
    ends = [int((1 + 0.4 * n) * 1e9) for n in range(1, SAMPLES + 1)]
    thread = {
        "cpu_share": columns["thread_cpu_share_max"],
        "runq_delay_share": columns["runq_delay_share"],
    }
    table = {
        "schema": "sojourn.resources/1",
        "period_s": 0.4,
        "server_cpus": [1],
        "cpus": 2,
        "interfaces": ["lo"],
        "probe": {"cpu_s": 0.006, "wall_s": 2.8, "cpus": [0], "is_apart": True},
        "end_unix_ns": ends,
        "length_s": [0.4] * SAMPLES,
        "is_late": [False] * SAMPLES,
        "columns": columns,
        "units": {},
        "capacity": {
            "service_cpu_share": 1.0,
            "thread_cpu_share_max": 1.0,
            "server_busy_share": 1.0,
            "machine_busy_share": 1.0,
            "resident_bytes": 2.5e10,
        },
        "not_counted": {"llc_bytes": "no resctrl here", "memory_bytes_per_s": "no resctrl here"},
        "threads": [{"pid": 1, "tid": n, "name": "worker", **thread} for n in range(8)],
        "events": {},
        "measured_unix_ns": [1_000_000_000, 3_000_000_000],
    }
    return json.dumps(table)


def served(point: Point) -> dict[str, Any]:
    """The facts of a service, as its life writes them."""
    return {
        "schema": "sojourn.service/1",
        "label": point.service,
        "kind": point.service,
        "life": point.life,
        "version": f"{point.service} 1.0",
        "workers": 1,
        "placement": {"server": [1], "client": [0], "text": "server on CPU 1", "shared": []},
        "shield": "none",
        "setup": [["version", "1.0"], ["transport", "TCP"]],
    }
