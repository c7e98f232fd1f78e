"""What planted stops do to a number whose truth is known, and to whether there is one (M33).

Usage: .venv/bin/python bench/stops/run.py [--rounds 4] [--seconds 10] [--only truth]

*truth*: the synthetic service serves 200 µs (exponential), so p99 of the sojourn time is
S ln 100/(1 − ρ) plus the way through the kernel. A real-time task takes the client's CPU for 0 to
12 % of the time (`hog.py`). Shares and loads take turns within a round, so that what the machine
does in a minute meets all of them. Stops of the service, which is part of the instrument here, are
excluded too. The way through the kernel is the p50 of a service of 1 µs at a low load. Wanted: the
median of p99 over theory from 0.95 to 1.12 at each load, and 85 % of the intervals hold theory;
the lower end of one is divided by the allowance of its run (M33).

*real*: memcached and NGINX at shares of their peak, 1 to 6 % of both CPUs taken. Wanted: nine of
ten runs give numbers. Both together take about 20 minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from hog import planted
from measure import CLIENT_CPU, SERVER_CPU
from servers import await_port, started

from sojourn.places import ports
from sojourn.samples.histogram import decode
from sojourn.samples.interval import intervals
from sojourn.stats import independence, quantiles
from sojourn.stats.times import from_histogram

BIN = Path(os.environ.get("SOJOURN_BIN") or Path(sys.executable).parent)
RUNS = Path(__file__).parents[1] / "runs"
SERVICE_S = 200e-6
SHARES = (0.0, 0.01, 0.03, 0.06, 0.12)
LOADS = (0.3, 0.5, 0.8)
WITHIN, COVERED, NUMBERS = (0.95, 1.12), 0.85, 0.9
REAL = {
    "memcached": ("memcache", "memcache://127.0.0.1:{}"),
    "NGINX": ("http", "http://127.0.0.1:{}"),
}
REAL_SHARES, REAL_LOADS = (0.01, 0.03, 0.06), (0.3, 0.5)
PEAK_S = 3


def main() -> int:
    asked = arguments()
    selected: dict[str, Any] = {}
    wanted = ("truth", "real") if asked.only is None else (asked.only,)
    with tempfile.TemporaryDirectory(prefix="sojourn-stops-") as name:
        for part in wanted:
            selected |= {"truth": truth, "real": real}[part](asked, Path(name))
    for part in wanted:
        print({"truth": table, "real": real_table}[part](selected))
    path = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-stops.json"
    path.write_text(json.dumps(selected, indent=1) + "\n")
    print(f"kept in {path}")
    return 0


def truth(asked: argparse.Namespace, out: Path) -> dict[str, Any]:
    """The synthetic service, whose p99 theory knows."""
    rows: list[dict[str, Any]] = []
    with serving("fixed:1us") as server:
        way_s = run(server, 500.0, 3, out, seed=1)["sojourn_ns"]["p50"] / 1e9
    with serving("exponential:200us") as server:
        for number in range(asked.rounds):
            for share in SHARES:
                for load in LOADS:
                    with planted([CLIENT_CPU], share, seed=number):
                        rate = load / SERVICE_S
                        result = run(server, rate, asked.seconds, out, seed=number + 1)
                    rows.append(row(number, share, load, way_s=way_s, result=result, out=out))
                    print(words(rows[-1]), flush=True)
    return {"way_s": way_s, "rows": rows}


def real(asked: argparse.Namespace, out: Path) -> dict[str, Any]:
    """Real servers, whose p99 no one knows: do runs give numbers?"""
    rows: list[dict[str, Any]] = []
    for service, (protocol, target) in REAL.items():
        with started(protocol, SERVER_CPU) as (pid, port):
            server = (target.format(port), pid)
            more = ["--paths", "/4k"] if protocol == "http" else []
            if protocol == "memcache":
                load(server, out, "--preload", "--rate", "100", "--duration", "100ms", seconds=1)
            peak = load(
                server, out, "--find-max", *more, "--duration", f"{PEAK_S}s", seconds=PEAK_S
            )
            for number in range(asked.rounds):
                for share in REAL_SHARES:
                    for of_peak in REAL_LOADS:
                        with planted([CLIENT_CPU, SERVER_CPU], share, seed=number):
                            rate = of_peak * peak["achieved_rps"]
                            result = load(
                                server,
                                out,
                                "--rate",
                                f"{rate:.0f}",
                                *more,
                                "--seed",
                                str(number + 1),
                                "--duration",
                                f"{asked.seconds}s",
                                seconds=asked.seconds,
                            )
                        rows.append(real_row(service, number, share, of_peak, result))
                        print(real_words(rows[-1]), flush=True)
    return {"real": rows}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=4, help="runs of each share and load (4)")
    parser.add_argument("--seconds", type=int, default=10, help="length of a run, s (10)")
    parser.add_argument("--only", choices=("truth", "real"), help="one of both parts")
    return parser.parse_args()


@contextlib.contextmanager
def serving(law: str) -> Iterator[tuple[int, int]]:
    """The synthetic service on the server's CPU; yields its port and process."""
    port = ports.free()
    line = [
        "nice",
        "-n",
        "-15",
        str(BIN / "sojourn-serve"),
        "--cpus",
        str(SERVER_CPU),
        "--protocol",
        "echo",
        "--service",
        law,
        "--port",
        str(port),
    ]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            await_port(port)
            yield port, process.pid
        finally:
            process.terminate()


def run(
    server: tuple[int, int], rate: float, seconds: int, out: Path, *, seed: int
) -> dict[str, Any]:
    """One run against the synthetic service, whose stops count as the instrument's."""
    port, pid = server
    return load(
        (f"echo://127.0.0.1:{port}", pid),
        out,
        "--rate",
        f"{rate:.0f}",
        "--seed",
        str(seed),
        "--duration",
        f"{seconds}s",
        "--instrument-cpus",
        str(SERVER_CPU),
        seconds=seconds,
    )


def load(server: tuple[str, int], out: Path, *words: str, seconds: int) -> dict[str, Any]:
    """One run of the generator on its CPU, with its log by slices beside the result."""
    target, pid = server
    at = out / "load.json"
    at.unlink(missing_ok=True)
    line = [
        "nice",
        "-n",
        "-15",
        BIN / "sojourn-load",
        target,
        "--connections",
        "64",
        "--wait",
        "spin",
        "--cpus",
        str(CLIENT_CPU),
        "--server-cpus",
        str(SERVER_CPU),
        "--server-pid",
        str(pid),
        "--json",
        at,
        "--hlog",
        out / "load.hlog",
        *words,
    ]
    subprocess.run(
        [str(word) for word in line],
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=seconds + 60,
    )
    return dict(json.loads(at.read_text()))


def row(
    number: int, share: float, load: float, *, way_s: float, result: dict[str, Any], out: Path
) -> dict[str, Any]:
    """A run of the synthetic service, as it is stored."""
    theory_s = SERVICE_S * math.log(100) / (1 - load) + way_s
    p99_ns = result["sojourn_ns"]["p99"]
    keys = ("share_time", "share_excluded", "allowance")
    return {
        "round": number,
        "share": share,
        "load": load,
        "p99_of_theory": None if p99_ns is None else p99_ns / 1e9 / theory_s,
        "interval_of_theory": interval(result, theory_s, out / "load.hlog"),
        "verdict": result["verdict"],
        "reasons": result["reasons"],
        **{key: result["outages"].get(key) for key in keys},
    }


def interval(result: dict[str, Any], theory_s: float, log: Path) -> list[float] | None:
    """The 95 % interval of p99 as the lab has it, over theory; None if it is refused.

    Its lower end is divided by what the stops may have added.
    """
    parts = [from_histogram(part.sojourn) for part in intervals(log) if not part.tag]
    cut = independence.batches(parts)
    if cut is None or result["outages"].get("allowance") is None:
        return None
    ratio = independence.widened(independence.of_cut(cut, 0.99), 0.95)
    span = result["sojourn_ns"]
    times = from_histogram(decode(span["hdr"], at="load.json"), lost=span["lost"])
    outcome = quantiles.estimate(times, 0.99, correlation=ratio).interval
    if outcome is None:
        return None
    lo = outcome.lo / result["outages"]["allowance"]
    return [lo / 1e9 / theory_s, outcome.hi / 1e9 / theory_s]


def real_row(
    service: str, number: int, share: float, load: float, result: dict[str, Any]
) -> dict[str, Any]:
    """A run of a real service, as it is stored."""
    return {
        "service": service,
        "round": number,
        "share": share,
        "load": load,
        "p99_ns": result["sojourn_ns"]["p99"],
        "verdict": result["verdict"],
        "reasons": result["reasons"],
        "share_time": result["outages"].get("share_time"),
        "share_excluded": result["outages"].get("share_excluded"),
        "share_disturbed": (result["server_stops"] or {}).get("share_disturbed"),
    }


def has_number(one: dict[str, Any]) -> bool:
    """Whether a run gives a p99."""
    value = one["p99_ns"] if "p99_ns" in one else one["p99_of_theory"]
    return one["verdict"] != "unknown" and value is not None


def words(one: dict[str, Any]) -> str:
    value = one["p99_of_theory"]
    ratio = "no p99" if value is None else f"p99 {value:.3f} of theory"
    return (
        f"{one['share']:4.0%} planted, {share_text(one['share_time'])} seen, "
        f"{share_text(one['share_excluded'])} excluded, load {one['load']}: {ratio}, {why(one)}"
    )


def real_words(one: dict[str, Any]) -> str:
    return (
        f"{one['service']}, {one['share']:.0%} of both CPUs, load {one['load']}: "
        f"{share_text(one['share_excluded'])} excluded, {why(one)}"
    )


def why(one: dict[str, Any]) -> str:
    """The verdict, and the beginning of its reason."""
    return str(one["verdict"]) + (f" ({one['reasons'][0][:70]})" if one["reasons"] else "")


def share_text(share: float | None) -> str:
    """A run that broke off has no shares."""
    return "   –" if share is None else f"{share:5.1%}"


def table(selected: dict[str, Any]) -> str:
    """Median of p99 over theory where a number is given, and how many runs gave one."""
    rows = selected["rows"]
    lines = ["planted  " + "  ".join(f"load {load:<12}" for load in LOADS)]
    for share in (*SHARES, None):
        cells = []
        for load in LOADS:
            own = [r for r in rows if r["load"] == load and share in {r["share"], None}]
            inputs = [r["p99_of_theory"] for r in own if has_number(r)]
            middle = f"{statistics.median(inputs):.2f}" if inputs else "–"
            cells.append(f"{middle:>5} ({len(inputs)} of {len(own)})".ljust(17))
        lines.append(f"{'all' if share is None else f'{share:.0%}':>7}  " + "  ".join(cells))
    ends = [r["interval_of_theory"] for r in rows if has_number(r) and r["interval_of_theory"]]
    held = sum(lo <= 1 <= hi for lo, hi in ends)
    lines.append(f"wanted: {WITHIN[0]} to {WITHIN[1]}")
    lines.append(f"intervals that hold theory: {of(held, len(ends))}, {COVERED:.0%} wanted")
    return "\n".join(lines)


def real_table(selected: dict[str, Any]) -> str:
    """How many runs of real services gave numbers, and why others did not."""
    lines = []
    for service in REAL:
        for share in REAL_SHARES:
            own = [r for r in selected["real"] if (r["service"], r["share"]) == (service, share)]
            inputs = sum(map(has_number, own))
            lines.append(f"{service}, {share:.0%} of both CPUs: {of(inputs, len(own))}")
    every = selected["real"]
    inputs = sum(map(has_number, every))
    lines.append(f"runs that give numbers: {of(inputs, len(every))}, {NUMBERS:.0%} wanted")
    void = Counter(
        (r["reasons"] or ["no p99"])[0].partition(":")[0] for r in every if not has_number(r)
    )
    lines += [f"  void: {count} × {why}" for why, count in void.most_common()]
    return "\n".join(lines)


def of(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({part / whole:.0%})" if whole else "")


if __name__ == "__main__":
    sys.exit(main())
