"""What the referee costs a saturated NGINX, and what its hooks cost alone."""

from __future__ import annotations

import argparse
import contextlib
import math
import random
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from servers import started
from tools import TOOLS

CLIENT_CPU, SERVER_CPU = 1, 0
TRACE = Path(sys.executable).parent / "sojourn-trace"
Judged = Callable[[int, list[str]], tuple[dict[str, Any], str]]


def rows(asked: argparse.Namespace, judged: Judged) -> Iterator[dict[str, Any]]:
    """Requests/s of wrk (one thread, 20 connections) in three ways, in random order.

    Args:
        asked: how many rounds, and seconds of each run.
        judged: runs a command under the referee; its second result is what the command printed.
    """
    tool = next(one for one in TOOLS if one.name == "wrk")
    with started("http", SERVER_CPU) as (server, port):
        argv = tool.argv(f"http://127.0.0.1:{port}/4k", 0, asked.seconds)

        def alone() -> str:
            command = ["taskset", "-c", str(CLIENT_CPU), *argv]
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout

        def hooked() -> str:
            with hooks(server, port):
                return alone()

        ways = {"without": alone, "hooks": hooked, "with": lambda: judged(port, argv)[1]}
        for number in range(asked.rounds):
            order = random.sample(list(ways), len(ways))
            rates = {name: rate_of(ways[name]()) for name in order}
            yield {"what": "cost", "round": number, "seconds": asked.seconds, **rates}


@contextlib.contextmanager
def hooks(server: int, port: int) -> Iterator[None]:
    """The tap without the referee."""
    with tempfile.TemporaryDirectory() as name:
        words = f"--pid {server} --port {port} --duration 60s --buffer 64MiB"
        files = ["--times", f"{name}/times.parquet", "--json", f"{name}/times.json"]
        tracer = subprocess.Popen(
            [str(TRACE), *words.split(), *files], stderr=subprocess.PIPE, text=True
        )
        assert tracer.stderr is not None  # noqa: S101  # it was asked for
        tracer.stderr.readline()
        try:
            yield
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.communicate(timeout=30)


def rate_of(text: str) -> float:
    return float(text.partition("Requests/sec:")[2].split()[0])


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each way; no line without a row."""
    lines = []
    for name in ("with", "hooks") if rows else ():
        ratios = sorted(row[name] / row["without"] for row in rows)
        cut = sure(len(ratios))
        low, high = ratios[cut], ratios[-1 - cut]
        text = f"{statistics.median(ratios):.3f} ({low:.3f} to {high:.3f}), {len(ratios)} pairs"
        lines.append(f"cost: throughput {name} × {text}")
    return lines


def sure(n: int) -> int:
    """So many of n ratios at each end leave a sign test's 95 % interval between them.

    >>> sure(6), sure(15)
    (0, 3)
    """
    share, k = 0.5**n, 0
    while share + math.comb(n, k + 1) * 0.5**n <= 0.025:
        k += 1
        share += math.comb(n, k) * 0.5**n
    return k
