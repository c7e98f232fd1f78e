"""The referee against a known truth: planted stops, full generators, quiet runs, and its cost.

    TOOLS=DIR:DIR .venv/bin/python bench/judge/run.py stops --only hey,vegeta --lengths 200
    TOOLS=DIR     .venv/bin/python bench/judge/run.py limits --undisturbed 20 --only hey
    TOOLS=DIR     .venv/bin/python bench/judge/run.py cost --rounds 7

`stops`: NGINX with one worker is stopped (SIGSTOP, SIGCONT) for 20 ms, 200 ms or 2 s, at fixed
times. A public tool runs at a fixed rate and is judged. `sojourn-load` runs at the same rate,
paced, beside the same stops: its sojourn times are the truth. A row has what the tool printed, what
the server's side saw, what the referee says, and the truth.

`limits`: tools are asked for far more than one CPU can send (the client must be named), and for a
tenth of what they can (no one must be named). A run is disturbed if a thread of the bench that only
sleeps was late by 50 ms, or if strangers used 0.3 s of CPU time: then both sides were crowded.
`--undisturbed N` goes on until there are N undisturbed runs of each kind, for 3 N rounds at most.
`cost`: throughput of wrk with the referee, and with its hooks alone, over that without.

Rows are written into bench/judge/runs as JSON lines.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import cost  # noqa: E402
import duckdb  # noqa: E402
import numpy as np  # noqa: E402
from cost import CLIENT_CPU, SERVER_CPU  # noqa: E402
from servers import family, started  # noqa: E402
from tools import TOOLS, Tool  # noqa: E402

RATES = {
    20: 1000,
    200: 1000,
    2000: 300,
}  # a stop of 2 s may not need more connections than NGINX has
#: Of stops, from begin to begin: no multiple of a tick, because tools send by ticks.
PERIODS_S = {20: 0.487, 200: 1.943, 2000: 5.877}
SECONDS = {20: 8, 200: 10, 2000: 18}
FIRST_S = 0.6  # of the load before the first stop
LOAD = Path(sys.executable).parent / "sojourn-load"
MUCH = {"hey": 60_000, "vegeta": 60_000, "bombardier": 200_000, "autocannon": 100_000}
KEYS = ((0.9, "p90"), (0.99, "p99"), (0.999, "p999"))
LATE_S = 0.05  # of a thread of this bench that sleeps: somebody stopped or crowded it
FOREIGN_S = 0.3  # CPU time of processes that are not of this bench, in one run
LITTLE = {"hey": 1000, "vegeta": 1000}


@contextlib.contextmanager
def stopping(pids: list[int], length_ms: int, delay_s: float) -> Iterator[None]:
    """Stop processes again and again, as long as load runs."""
    end = threading.Event()

    def work() -> None:
        at = time.monotonic() + delay_s + FIRST_S
        while not end.wait(max(0.0, at - time.monotonic())):
            signal_all(pids, signal.SIGSTOP)
            time.sleep(length_ms / 1e3)
            signal_all(pids, signal.SIGCONT)
            at += PERIODS_S[length_ms]

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def signal_all(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        os.kill(pid, number)


def judged(port: int, argv: list[str], *words: str) -> tuple[dict[str, Any], str]:
    """The referee's JSON, and what the tool printed."""
    command = [sys.executable, "-m", "sojourn", "judge", "--port", str(port), "--json", *words]
    done = subprocess.run(
        [*command, "--", "taskset", "-c", str(CLIENT_CPU), *argv],
        capture_output=True,
        text=True,
        check=False,
    )
    if not done.stdout:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout), done.stderr


def truth(port: int, length_ms: int, pids: list[int]) -> dict[str, Any]:
    """The same load by the lab's own generator, whose connections are never all busy."""
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "load.json"
        raw = Path(name) / "raw.parquet"
        rate = RATES[length_ms]
        line = f"http://127.0.0.1:{port}/4k --rate {rate} --arrivals fixed --raw {raw}"
        words = (
            f"--warmup 0s --timeout 30s --duration {SECONDS[length_ms]}s --connections 512 "
            f"--cpus {CLIENT_CPU} --json {out}"
        )
        with stopping(pids, length_ms, 0.0):
            subprocess.run(
                [str(LOAD), *line.split(), *words.split()], capture_output=True, check=False
            )
        result = json.loads(out.read_text())
        took_ns = duckdb.sql(
            f"select done_ns - intended_ns as ns from '{raw}' where done_ns is not null"  # noqa: S608
        ).fetchnumpy()["ns"]
    exact = {f"true_{key}_ms": in_ms(np.quantile(took_ns, q)) for q, key in KEYS}
    return {"load_verdict": result["verdict"], "true_requests": int(took_ns.size), **exact}


def stops(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for length_ms in asked.lengths:
        for number in range(asked.rounds):
            with started("http", SERVER_CPU) as (pid, port):
                pids = family(pid)
                true = truth(port, length_ms, pids)
                for tool in chosen(asked):
                    row = stop_row(tool, length_ms, port, pids, true)
                    yield {**row, "round": number}


def stop_row(
    tool: Tool, length_ms: int, port: int, pids: list[int], true: dict[str, Any]
) -> dict[str, Any]:
    url = f"http://127.0.0.1:{port}/4k"
    # The referee needs about a second to attach before it starts the load.
    with stopping(pids, length_ms, 1.0):
        rate = RATES[length_ms]
        words = [] if tool.has_rate else ["--rate", str(rate)]
        result, text = judged(port, tool.argv(url, rate, SECONDS[length_ms]), *words)
    numbers = {one["q"]: one for one in result["numbers"]}
    row: dict[str, Any] = {
        "what": "stop",
        "tool": tool.name,
        "stop_ms": length_ms,
        "verdict": result["verdict"],
        "limit": result["limit"]["who"],
        "stops": len(result["gaps"]["stops"]),
        "requests": result["requests"],
        "omitted": result["omitted"],
        "late": result["late"],
        "shape": result["shape"]["kind"],
        "users_rps": result["users_rps"],
        "unknown": result["unknown"],
        "tool_p99_ms": tool.own_p99(text),
        **true,
    }
    for q, key in KEYS:
        users, server = numbers[q]["users"], numbers[q]["server"]
        row[f"server_{key}_ms"] = in_ms(server["value"])
        row[f"users_{key}_ms"] = in_ms(users["value"] if users else None)
        row[f"here_{key}_ms"] = in_ms(numbers[q]["here"])
    return row


def in_ms(ns: float | None) -> float | None:
    return None if ns is None else round(float(ns) / 1e6, 3)


def foreign_s() -> float:
    """CPU time of all processes so far, less that of this bench and what came of it, s."""
    ticks = os.sysconf("SC_CLK_TCK")
    words = Path("/proc/stat").read_text().split("\n")[0].split()[1:]
    busy = sum(int(words[at]) for at in (0, 1, 2, 5, 6)) / ticks
    own = 0.0
    for pid in family(os.getpid()):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            own += sum(map(int, fields[11:15])) / ticks
    return busy - own


@contextlib.contextmanager
def sentinel() -> Iterator[list[float]]:
    """How late a thread was that only sleeps, s, and the CPU time of strangers meanwhile, s."""
    end, late = threading.Event(), [0.0, 0.0]

    def work() -> None:
        used = foreign_s()
        while not end.is_set():
            before = time.monotonic()
            time.sleep(0.01)
            late[0] = max(late[0], time.monotonic() - before - 0.01)
        late[1] = foreign_s() - used

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield late
    finally:
        end.set()
        thread.join()


def limits(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    with started("http", SERVER_CPU) as (_, port):
        counts: dict[tuple[str, str], int] = {}
        for number in range(3 * asked.undisturbed or asked.rounds):
            for tool in chosen(asked):
                for what, rates in (("full", MUCH), ("quiet", LITTLE)):
                    kind = tool.name, what
                    is_done = asked.undisturbed and counts.get(kind, 0) >= asked.undisturbed
                    if tool.name not in rates or is_done:
                        continue
                    argv = tool.argv(f"http://127.0.0.1:{port}/4k", rates[tool.name], asked.seconds)
                    with sentinel() as late:
                        result, _ = judged(port, argv)
                    is_disturbed = late[0] > LATE_S or late[1] > FOREIGN_S
                    counts[kind] = counts.get(kind, 0) + (not is_disturbed)
                    yield {
                        "is_disturbed": is_disturbed,
                        "late_s": round(late[0], 4),
                        "foreign_cpu_s": round(late[1], 3),
                        "what": what,
                        "tool": tool.name,
                        "round": number,
                        "limit": result["limit"]["who"],
                        "why": result["limit"]["why"],
                        "verdict": result["verdict"],
                        "unknown": result["unknown"],
                        "rate_rps": result["load"]["rate_rps"],
                        "came_rps": round(result["came_rps"]),
                        "client": result["client"],
                        "server": result["server"],
                    }


def chosen(asked: argparse.Namespace) -> list[Tool]:
    return [tool for tool in TOOLS if not asked.only or tool.name in asked.only]


def summary(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        if row["what"] == "stop" and row["here_p99_ms"] and row["true_p99_ms"]:
            p99 = row["here_p99_ms"] / row["true_p99_ms"]
            far = row["here_p999_ms"]
            p999 = far / row["true_p999_ms"] if far and row["true_p999_ms"] else None
            lines.append(
                f"{row['tool']:12}{row['stop_ms']:5} ms  tool p99 {row['tool_p99_ms']}  server "
                f"{row['server_p99_ms']}  users {row['here_p99_ms']}  true {row['true_p99_ms']}  "
                f"ratio p99 {p99:.3f}  p99.9 {p999 and round(p999, 3)}  {row['verdict']}"
            )
    for what, right in (("full", "client"), ("quiet", "none")):
        every = [row for row in rows if row["what"] == what]
        own = [row for row in every if not row["is_disturbed"]]
        left_out = len(every) - len(own)
        good = sum(right in row["limit"] for row in own)
        text = f"{what}: '{right}' is named in {good} of {len(own)}, {left_out} disturbed left out"
        lines += [text] if every else []
    lines += cost.summary([row for row in rows if row["what"] == "cost"])
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("stops", "limits", "cost"))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--undisturbed", type=int, default=0, help="of `limits`: runs of each kind")
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--only", type=lambda text: text.split(","), default=[])
    parser.add_argument(
        "--lengths",
        type=lambda text: [int(one) for one in text.split(",")],
        default=[20, 200, 2000],
    )
    asked = parser.parse_args()
    path = HERE / "runs" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{asked.what}.jsonl"
    path.parent.mkdir(exist_ok=True)
    rows = []
    with path.open("w", encoding="utf-8") as file:
        for row in {
            "stops": stops,
            "limits": limits,
            "cost": lambda asked: cost.rows(asked, judged),
        }[asked.what](asked):
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(summary([row]), flush=True)
    print("\n" + summary(rows))
    print(f"kept in {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
