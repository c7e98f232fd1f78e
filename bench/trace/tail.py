"""What tracing does to the tail that a user of the service sees: ways to trace in turn, and none.

A server on CPU 0 at about half of its load, the client on CPU 1. In every round each way runs
once, in random order. The tracer starts and ends beside the load: loading the hooks and reading
what they counted are part of it. What counts is the client's own log of all requests that were due
in a span of fixed length around that. In a run without a tracer it is the same span. No run is
left out.

Each way is set against "none" of the same round. The answer is the geometric mean of the ratios,
with a 95 % interval (Student's, of the logarithms). A bound is shown if the upper end is not above
it, refuted if the lower end is above it, else neither. Beside it stands what the tracer itself
estimates (`sampling.tail_cost`).

The client keeps no single requests, only how many took how long. With `--phases` it does, to say
what requests in each phase of a window saw. Other tasks on the server's CPU count as experienced:
where a kernel thread such as `kdamond` has it for 1 % of the time, p99 is that thread's.

"closed" are all hooks of `--all`, attached once, that leave at once: the least that a tracer costs
whose hooks stay. "closed-few" are those of `--sample`, none of which is on system calls. "other" is
another build of `sojourn-trace` (`--other PATH`). Needs root, memcached, NGINX, Go for
`--server go`, and the programs:

    cargo build --release -p sojourn-tools --features bpf
    cargo build --release -p sojourn-trace --features bpf --example idle
    TMPDIR=/dev/shm .venv/bin/python bench/trace/tail.py [--rounds 20] [--only windows]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import runpy
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.stats import t as student

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
half = SimpleNamespace(**runpy.run_path(str(HERE / "half.py")))
servers = SimpleNamespace(**runpy.run_path(str(HERE.parent / "servers.py")))
WAYS: dict[str, list[str] | None] = {
    "none": None,
    "windows": [],
    "sample": ["--sample", "1/64"],
    "all": ["--all"],
    "records": ["--records", "{folder}/records.parquet"],
    "closed": None,
    "closed-few": None,
    "other": [],
}
CLOSED = {"closed": "all", "closed-few": "few"}  # the words of the example `idle`
SEEN = ("mean", "p99", "p999", "cpu")  # ns; the last one: of the server, for one request
#: Requests a second that take about half of a CPU, and the load's words.
LOADS = {
    "memcache": (40_000, "memcache://127.0.0.1:{port} --preload --items 1000"),
    "http": (10_000, "http://127.0.0.1:{port}/4k"),
    "go": (10_000, "http://127.0.0.1:{port}/"),
}
WARMUP_S = 1.0
BEFORE_S = 1.3  # the tracer begins so long after the client
BESIDE_S = (
    1.2  # what counts is longer than the trace by this: to load, and to read what was counted
)
BOUNDS = {"mean": 1.05, "p99": 1.05, "p999": 1.1}
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def go_server(folder: Path) -> Path:
    """Builds `hello.go` there."""
    built = folder / "hello"
    env = {**os.environ, "GOCACHE": str(folder / "cache"), "GO111MODULE": "off"}
    subprocess.run(["go", "build", "-o", str(built), str(HERE / "hello.go")], env=env, check=True)
    return built


@contextmanager
def tracer(args: argparse.Namespace, way: str, pid: int, folder: Path) -> Iterator[list[int]]:
    """Traces `pid` in this way; yields when its process began and ended, monotonic ns."""
    span = [time.monotonic_ns()]
    if way == "none":
        yield span
        span.append(span[0])
        return
    if way in CLOSED:
        command = [str(args.bin / "examples/idle"), str(pid), CLOSED[way]]
    else:
        words = [word.format(folder=folder) for word in WAYS[way] or ()]
        program = args.other if way == "other" else args.bin / "sojourn-trace"
        command = [str(program), "--pid", str(pid), "--duration"]
        command += [f"{args.seconds}s", "--json", str(folder / "trace"), *words]
    process = subprocess.Popen(command, **QUIET)
    try:
        if way in CLOSED:
            time.sleep(args.seconds + BESIDE_S / 2)
            process.send_signal(signal.SIGTERM)
        process.wait(timeout=args.seconds + 30)
        span.append(time.monotonic_ns())
        yield span
    finally:
        process.kill()
        process.wait()


def run(args: argparse.Namespace, way: str) -> dict[str, float | None]:
    """One run: the client's times in ns, and what the tracer says of them."""
    rate, load = LOADS[args.server]
    with (
        tempfile.TemporaryDirectory(prefix="sojourn-tail-") as name,
        servers.started(args.protocol, 0, args.argv) as (pid, port),
    ):
        folder, lasts_s = Path(name), args.seconds + BESIDE_S
        path, raw = folder / "load", folder / "raw.parquet"
        load = load.format(port=port) + f" --rate {args.rate or rate} --connections 64 --wait sleep"
        load += f" --cpus {args.client_cpus}" if args.client_cpus else ""
        load += f" --warmup {WARMUP_S}s --duration {lasts_s}s --json {path}"
        load += f" --raw {raw} --raw-max 4M" if args.phases else ""
        since_boot_ns = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.monotonic_ns()
        began_ns = cpu_ns(pid)
        client = subprocess.Popen([str(args.bin / "sojourn-load"), *load.split()], **QUIET)
        time.sleep(BEFORE_S)
        with tracer(args, way, pid, folder) as span:
            client.wait(timeout=lasts_s + 60)
            cpu = cpu_ns(pid) - began_ns
        client_saw = json.loads(path.read_text())
        times, zero_ns = client_saw["sojourn_ns"], client_saw["started_unix_ns"] - since_boot_ns
        traced = folder / "trace"
        sampling = json.loads(traced.read_text())["sampling"] if traced.exists() else {}
        phases = (
            by_phase(*half.requests(raw, zero_ns), sampling.get("places")) if args.phases else {}
        )
    if any(times[seen] is None for seen in SEEN[:-1]):
        raise SystemExit("requests were lost: the machine is too busy for this load")
    results = {seen: float(times[seen]) for seen in SEEN[:-1]}
    results["cpu"] = cpu / (args.rate or rate) / (lasts_s + WARMUP_S)
    # Since the first request that counts, and until the last one: below 0, the tracer was outside.
    results["began_s"] = (span[0] - zero_ns) / 1e9
    results["left_s"] = lasts_s - (span[1] - zero_ns) / 1e9
    return {**results, **phases, **tracer_estimate(sampling)}


def by_phase(
    due_ns: np.ndarray, took_ns: np.ndarray, places: list[dict[str, int]] | None
) -> dict[str, float | None]:
    """Share and p99 of requests in each phase of a window, and p99 of those between windows."""
    if not places:
        return {}
    phase = half.phase_of(due_ns, places)
    results: dict[str, float | None] = {}
    for number, name in enumerate(("attach", "window", "detach", "after")):
        part_ns = took_ns[phase == number]
        results[f"share_{name}"] = part_ns.size / took_ns.size
        results[f"p99_{name}"] = half.p99(part_ns)
    return {**results, "p99_between": half.p99(took_ns[phase < 0])}


def cpu_ns(pid: int) -> int:
    """CPU time of all processes of a server, by the clocks of clock_getcpuclockid(3)."""
    return sum(time.clock_gettime_ns((~each << 3) | 2) for each in servers.family(pid))


def tracer_estimate(sampling: dict[str, Any]) -> dict[str, float | None]:
    """What the tracer itself estimates, and how many windows it had."""
    cost = sampling.get("tail_cost") or {}
    names = ("steps", "longest_ns", "steps_ratio", "mean_ratio", "p99_ratio", "p999_ratio")
    price = sampling.get("cost") or {}
    more = {"windows": sampling.get("windows"), "duty": sampling.get("duty")}
    more |= {name: price.get(name) for name in ("measured", "tracer_cpu_ratio")}
    return {
        f"said_{name}": value for name, value in {**{n: cost.get(n) for n in names}, **more}.items()
    }


def summary(rounds: list[dict[str, dict[str, float | None]]]) -> dict[str, Any]:
    """Median of each way, ns, and what it is over none of the same round."""
    results: dict[str, Any] = {}
    for way in rounds[0]:
        results[way] = {}
        for seen in SEEN:
            ratios = [r[way][seen] / r["none"][seen] for r in rounds]
            results[way][seen] = {
                "median_ns": statistics.median(r[way][seen] for r in rounds),
                **over_none(ratios, BOUNDS.get(seen)),
            }
    return results


def over_none(ratios: list[float], bound: float | None) -> dict[str, Any]:
    """Their geometric mean, its interval, and what follows for the bound."""
    logs = np.log(ratios)
    results: dict[str, Any] = {
        "over_none": float(np.exp(logs.mean())),
        "median": statistics.median(ratios),
        "range": [min(ratios), max(ratios)],
        "interval": None,
    }
    if logs.size > 1:
        error = logs.std(ddof=1) / logs.size**0.5 * student.ppf(0.975, logs.size - 1)
        low, high = (float(np.exp(logs.mean() + side * error)) for side in (-1, 1))
        results["interval"] = [low, high]
        if bound:
            shown = "shown" if high <= bound else "refuted" if low > bound else "neither"
            results["bound"] = {"most": bound, "is": shown}
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--server", choices=LOADS, default="memcache")
    parser.add_argument("--rate", type=int, default=0, help="another than half of a CPU")
    parser.add_argument("--seconds", type=int, default=8, help="of the trace")
    parser.add_argument("--other", type=Path, default=None, help="another sojourn-trace")
    parser.add_argument("--phases", action="store_true", help="what each phase of a window saw")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    parser.add_argument("--only", action="append", choices=WAYS, help="beside none")
    parser.add_argument(
        "--client-cpus",
        default="1",
        help='of the client; "": wherever the kernel puts it, and then p99 without a tracer '
        "differs by a factor of ten from run to run",
    )
    parser.add_argument("--bin", type=Path, default=HERE.parent.parent / "target/release")
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    ways = ["none", *(args.only or [way for way in WAYS if way not in ("none", "other")])]
    order, rounds = random.Random(args.seed), []  # noqa: S311 - an order, no secret
    when = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    out = args.out or HERE / "runs" / f"tail-{args.server}-{when}-vm.json"
    reports = {"when": when, "kernel": os.uname().release, "server": args.server}
    with tempfile.TemporaryDirectory(prefix="sojourn-tail-") as name:
        args.protocol, args.argv = args.server, servers.command
        if args.server == "go":
            built = go_server(Path(name))
            args.argv = lambda _protocol, port, _folder: [str(built), str(port)]
        for number in range(args.rounds):
            load_1min = os.getloadavg()[0]
            results = {way: run(args, way) for way in order.sample(ways, len(ways))}
            rounds.append({way: {"load_1min": load_1min, **results[way]} for way in ways})
            print(number, {way: round(results[way]["p99"] / 1e3) for way in ways}, flush=True)
            out.write_text(
                json.dumps({**reports, "rounds": rounds, "summary": summary(rounds)}, indent=1)
            )
    for way, numbers in summary(rounds).items():
        for seen, it in numbers.items():
            print(way, seen, *(f"{key}: {value}" for key, value in it.items()))


if __name__ == "__main__":
    main()
