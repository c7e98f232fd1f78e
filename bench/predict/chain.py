"""Three services that call each other: simulated, then measured.

    .venv/bin/python bench/predict/chain.py --seconds 60 --repeats 3

Three `sojourn-serve` in a row: each draws a service time, then calls the next one. `sojourn-load`
offers Poisson arrivals at three loads, and counts from when a request was due. `sojourn-sim calls`
simulates the same three services from the drawn service times alone: nothing is fitted. The ratio
of measured over simulated is printed for the mean and p99. The wire and the wake-ups of three hops
are in the measurement only, so a service time should be long beside 0.1 ms. Runs whose self-check
fails are left out of the ratios and stay in the rows. Rows: bench/predict/runs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sojourn import programs
from sojourn.models.simulator import Simulator

HERE = Path(__file__).parent
SERVICES = 3
CONNECTIONS, ITEMS = 64, 100
KEYS = ("mean", "p99")
SCHEMA = "sojourn.bench.chain/1"


@contextlib.contextmanager
def chain(asked: argparse.Namespace, reports: Path) -> Iterator[str]:
    """The services, the last one first; yields the address of the first one."""
    started: list[subprocess.Popen[str]] = []
    address = ""
    try:
        for number in range(SERVICES, 0, -1):
            program = asked.serve or programs.find("sojourn-serve")
            words = [str(program), "--mode", "sleep", "--cpus", asked.server_cpus]
            words += ["--free-writes"]  # so that preloading is quick
            words += ["--service", f"exponential:{asked.mean_ms}ms", "--seed", str(number)]
            words += ["--json", str(reports / f"service-{number}.json")]
            words += ["--call", address, "--call-timeout", "30s"] if address else []
            made = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
            started.append(made)
            address = json.loads(first_line(made))["listening"]
        yield address
    finally:
        for one in reversed(started):
            one.terminate()
            one.wait(timeout=30)


def first_line(made: subprocess.Popen[str]) -> str:
    """What a service prints when it listens."""
    line = made.stdout.readline() if made.stdout else ""
    if not line:
        raise RuntimeError(f"a service did not start: exit code {made.wait()}")
    return line


def measured(address: str, rate: float, asked: argparse.Namespace, seed: int) -> dict[str, Any]:
    """One run of the generator."""
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "load.json"
        words = f"--rate {rate} --duration {asked.seconds}s --warmup {asked.seconds / 10}s"
        words += f" --connections {CONNECTIONS} --cpus {asked.client_cpus} --seed {seed}"
        words += f" --preload --items {ITEMS} --timely-within {asked.mean_ms / 10}ms"
        subprocess.run(
            [programs.find("sojourn-load"), f"memcache://{address}", *words.split(), "--json", out],
            check=False,
            capture_output=True,
        )
        result = json.loads(out.read_text())
    sojourn = result["sojourn_ns"]
    return {
        "seed": seed,
        "verdict": result["verdict"],
        "reasons": result["reasons"],
        "requests": sojourn["count"],
        "achieved_rps": result["achieved_rps"],
        **{f"{key}_ns": sojourn[key] for key in KEYS},
    }


def simulated(simulator: Simulator, mean_ms: float, rate: float) -> dict[str, Any]:
    """The same services in the simulator, with 95 % intervals."""
    services = [
        {
            "name": f"s{number}",
            "service": f"exponential:{mean_ms}",
            "unit": "ms",
            "calls": [{"to": f"s{number + 1}"}] if number < SERVICES else [],
        }
        for number in range(1, SERVICES + 1)
    ]
    result = simulator.run("calls", {"rate": str(rate), "services": services})
    if result["verdict"] == "unknown":
        raise RuntimeError(f"the simulator: {result['reasons']}")
    return {
        **{f"{key}_ns": result["sojourn_ns"][key] for key in KEYS},
        "intervals": {key: result["intervals"][key] for key in KEYS},
        "utilisation": [one["utilisation"] for one in result["services"]],
    }


def ratios(rows: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each load: medians over runs, their range, and the ratio."""
    lines = []
    for load in dict.fromkeys(row["load"] for row in rows):
        runs = [row for row in rows if row["load"] == load]
        fine = [row for row in runs if row["measured"]["verdict"] != "unknown"]
        text = f"load {load:.0%}: {len(fine)} of {len(runs)} runs count"
        for key in KEYS if fine else ():
            truth = fine[0]["simulated"][f"{key}_ns"]
            values = sorted(row["measured"][f"{key}_ns"] / truth for row in fine)
            text += (
                f"; {key} simulated {truth / 1e6:.2f} ms, measured ×"
                f"{statistics.median(values):.3f} ({values[0]:.3f} to {values[-1]:.3f})"
            )
        lines.append(text)
    return lines


def main() -> int:
    """Simulate, measure, print the ratios, write the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mean-ms", type=float, default=2.0, help="of each service time")
    parser.add_argument("--loads", default="0.3,0.6,0.8", help="shares of one service's capacity")
    parser.add_argument("--seconds", type=int, default=60, help="of one run")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each load")
    parser.add_argument("--server-cpus", default="0")
    parser.add_argument("--client-cpus", default="1")
    parser.add_argument("--serve", type=Path, help="program; default: the installed one")
    parser.add_argument("--out", type=Path, help="file of rows; default: bench/predict/runs/…")
    asked = parser.parse_args()
    simulator = Simulator.find()
    rows: list[dict[str, Any]] = []
    for load in map(float, asked.loads.split(",")):
        rate = load * 1e3 / asked.mean_ms
        predicted = simulated(simulator, asked.mean_ms, rate)
        for seed in range(1, asked.repeats + 1):
            with tempfile.TemporaryDirectory() as name:
                with chain(asked, Path(name)) as address:
                    seen = measured(address, rate, asked, seed)
                reports = [
                    json.loads((Path(name) / f"service-{one}.json").read_text())
                    for one in range(1, SERVICES + 1)
                ]
            keys = ("requests", "busy_ratio", "calls", "outages")
            services = [{key: one.get(key) for key in keys} for one in reports]
            about = {"load": load, "rate_rps": rate, "services": services}
            rows.append({**about, "simulated": predicted, "measured": seen})
        print(ratios([row for row in rows if row["load"] == load])[0], flush=True)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    out = asked.out or HERE / "runs" / f"{stamp}-chain.json"
    about = {"mean_ms": asked.mean_ms, "seconds": asked.seconds, "services": SERVICES}
    out.write_text(json.dumps({"schema": SCHEMA, **about, "rows": rows}) + "\n")
    print(f"rows: {out.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
