"""What tracing does to the tail that a user of the service sees: ways to trace in turn, and none.

A server on one CPU at about half of its load. In every round each way runs once, in random order:
the tracer starts beside the load and ends with it. What counts is the client's own log, as it is:
no run is left out, for a tracer that stops the client is noticed too. Each way is set against
"none" of the same round; the answer is the median ratio, with quartiles and a 95 % interval (of
the median, by the binomial distribution). Beside it stands what the tracer itself estimates
(`sampling.tail_cost`).

What the machine does differs from run to run by far more than a good tracer does. So a run with
windows has a second answer, "within": all of its requests over those that were sent when nothing
was attached and what detaching left behind was gone. What the machine does strikes both.

"closed" are all hooks of `--all`, attached once, that leave at once: the least that a tracer costs
whose hooks stay. Needs root, memcached, NGINX, Go for `--server go`, and the programs:

    cargo build --release -p sojourn-tools --features bpf
    cargo build --release -p sojourn-trace --features bpf --example idle
    .venv/bin/python bench/trace/tail.py [--rounds 20] [--server memcache] [--only windows]
"""

from __future__ import annotations

import argparse
import json
import math
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
}
SEEN = ("mean", "p99", "p999", "cpu")  # ns; the last one: of the server, for one request
#: Requests a second that take about half of a CPU, and the load's words.
LOADS = {
    "memcache": (40_000, "memcache://127.0.0.1:{port} --preload --items 1000"),
    "http": (10_000, "http://127.0.0.1:{port}/4k"),
    "go": (10_000, "http://127.0.0.1:{port}/"),
}
BEFORE_S = 1.0  # the tracer begins so long before requests count
WITHIN = {
    "mean": lambda took_ns: float(took_ns.mean()),
    "p99": lambda took_ns: float(np.quantile(took_ns, 0.99)),
    "p999": lambda took_ns: float(np.quantile(took_ns, 0.999)),
}
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def go_server(folder: Path) -> Path:
    """Builds `hello.go` there."""
    built = folder / "hello"
    env = {**os.environ, "GOCACHE": str(folder / "cache"), "GO111MODULE": "off"}
    subprocess.run(["go", "build", "-o", str(built), str(HERE / "hello.go")], env=env, check=True)
    return built


@contextmanager
def tracer(args: argparse.Namespace, way: str, pid: int, folder: Path) -> Iterator[None]:
    """Traces `pid` in this way, from now on until the load has ended."""
    if way == "none":
        yield
        return
    if way == "closed":
        command = [str(args.bin / "examples/idle"), str(pid), "all"]
    else:
        words = [word.format(folder=folder) for word in WAYS[way] or ()]
        command = [str(args.bin / "sojourn-trace"), "--pid", str(pid), "--duration"]
        command += [f"{args.seconds + 1}s", "--json", str(folder / "trace"), *words]
    process = subprocess.Popen(command, **QUIET)
    try:
        yield
        if way == "closed":
            process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
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
        folder = Path(name)
        kept = folder / "load"
        load = load.format(port=port) + f" --rate {args.rate or rate} --connections 64 --wait sleep"
        load += f" --cpus {args.client_cpus}" if args.client_cpus else ""
        load += f" --warmup {BEFORE_S + 1}s --duration {args.seconds}s --json {kept}"
        load += f" --raw {folder / 'raw.parquet'} --raw-max 4M"
        since_boot_ns = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.monotonic_ns()
        began_ns = cpu_ns(pid)
        client = subprocess.Popen([str(args.bin / "sojourn-load"), *load.split()], **QUIET)
        time.sleep(BEFORE_S)
        with tracer(args, way, pid, folder):
            client.wait(timeout=args.seconds + 60)
            cpu = cpu_ns(pid) - began_ns
        client_saw = json.loads(kept.read_text())
        times, zero_ns = client_saw["sojourn_ns"], client_saw["started_unix_ns"] - since_boot_ns
        traced = folder / "trace"
        said = json.loads(traced.read_text())["sampling"] if traced.exists() else {}
        within = within_run(folder / "raw.parquet", zero_ns, said.get("places"))
    if any(times[seen] is None for seen in SEEN[:-1]):
        raise SystemExit("requests were lost: the machine is too busy for this load")
    found = {seen: float(times[seen]) for seen in SEEN[:-1]}
    found["cpu"] = cpu / (args.rate or rate) / (args.seconds + BEFORE_S + 1)
    return {**found, **within, **said_of_tail(said)}


def within_run(
    raw: Path, zero_ns: int, places: list[dict[str, int]] | None
) -> dict[str, float | None]:
    """All requests of a run over those that were sent between its windows."""
    if not places:
        return {}
    due_ns, took_ns = half.requests(raw, zero_ns)
    phase = half.phase_of(due_ns, places)
    between_ns = took_ns[phase < 0]
    found = {f"within_{seen}": of(took_ns) / of(between_ns) for seen, of in WITHIN.items()}
    for number, name in enumerate(("attach", "window", "detach", "after")):
        part_ns = took_ns[phase == number]
        found[f"share_{name}"] = part_ns.size / took_ns.size
        found[f"p99_{name}"] = half.p99(part_ns)
    return {**found, "p99_between": half.p99(between_ns)}


def cpu_ns(pid: int) -> int:
    """CPU time of all processes of a server, by the clocks of clock_getcpuclockid(3)."""
    return sum(time.clock_gettime_ns((~each << 3) | 2) for each in servers.family(pid))


def said_of_tail(sampling: dict[str, Any]) -> dict[str, float | None]:
    """What the tracer itself estimates, and how many windows it had."""
    cost = sampling.get("tail_cost") or {}
    names = ("steps", "longest_ns", "steps_ratio", "mean_ratio", "p99_ratio", "p999_ratio")
    price = sampling.get("cost") or {}
    more = {"windows": sampling.get("windows"), "duty": sampling.get("duty")}
    more |= {name: price.get(name) for name in ("measured", "tracer_cpu_ratio")}
    return {
        f"said_{name}": value for name, value in {**{n: cost.get(n) for n in names}, **more}.items()
    }


def median_limits(n: int) -> int:
    """How many of n ascending values lie beyond either end of a 95 % interval of the median."""
    below, out = 0.0, 0
    while (below := below + math.comb(n, out) / 2**n) <= 0.025:
        out += 1
    return out - 1


def summary(rounds: list[dict[str, dict[str, float | None]]]) -> dict[str, Any]:
    """Median of each way, ns, and what it is over none of the same round."""
    found: dict[str, Any] = {}
    for way in rounds[0]:
        found[way] = {}
        for seen in SEEN:
            found[way][seen] = {
                "median_ns": statistics.median(r[way][seen] for r in rounds),
                **spread("over_none", [r[way][seen] / r["none"][seen] for r in rounds]),
            }
            within = [r[way][f"within_{seen}"] for r in rounds if f"within_{seen}" in r[way]]
            if within:
                found[way][seen]["within"] = spread("median", within)
    return found


def spread(name: str, ratios: list[float]) -> dict[str, Any]:
    """Their median, under this name, with quartiles and its interval."""
    ratios, out = sorted(ratios), median_limits(len(ratios))
    return {
        name: statistics.median(ratios),
        "quartiles": statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios,
        "interval": [ratios[out], ratios[-1 - out]] if out >= 0 else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--server", choices=LOADS, default="memcache")
    parser.add_argument("--rate", type=int, default=0, help="another than half of a CPU")
    parser.add_argument("--seconds", type=int, default=12)
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
    ways = ["none", *(args.only or [way for way in WAYS if way != "none"])]
    order, rounds = random.Random(1), []  # noqa: S311 - an order, no secret
    when = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    out = args.out or HERE / "runs" / f"tail-{args.server}-{when}-vm.json"
    told = {"when": when, "kernel": os.uname().release, "server": args.server}
    with tempfile.TemporaryDirectory(prefix="sojourn-tail-") as name:
        args.protocol, args.argv = args.server, servers.command
        if args.server == "go":
            built = go_server(Path(name))
            args.argv = lambda _protocol, port, _folder: [str(built), str(port)]
        for number in range(args.rounds):
            load_1min = os.getloadavg()[0]
            found = {way: run(args, way) for way in order.sample(ways, len(ways))}
            rounds.append({way: {"load_1min": load_1min, **found[way]} for way in ways})
            print(number, {way: round(found[way]["p99"] / 1e3) for way in ways}, flush=True)
            out.write_text(
                json.dumps({**told, "rounds": rounds, "summary": summary(rounds)}, indent=1)
            )
    for way, numbers in summary(rounds).items():
        for seen, it in numbers.items():
            print(way, seen, *(f"{key}: {value}" for key, value in it.items()))


if __name__ == "__main__":
    main()
