"""Does the black box last a day? As many requests as in 24 hours come in one.

memcached (one thread) of a name of its own on CPU 0, an open-loop client on CPU 1, `sojourn-trace
--ring --comm NAME` beside them. By default 24,000 requests/s come for an hour: those of a day at
1,000/s. Meanwhile the server stops at random times, for 1 to 50 ms. It is started anew six times.
The log is moved away, and SIGHUP opens a new one, six times as well. Every ten seconds the metrics
are read as Prometheus would, with the memory of the process and the bytes of its dumps. At the end
the counts are held against the client's. Exit code 1: a request or an event was lost, or memory
grew in the second half by more than a twentieth.
Needs root, memcached, two CPUs. Rows: bench/ring/results.

    .venv/bin/python bench/ring/day.py [--rate 24000] [--seconds 3600] [--lives 6] [--seed 1]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sojourn.places import ports

HERE = Path(__file__).parent
PROGRAMS = HERE.parent.parent / "target/release"
NAME = "ringday"  # a name that no other memcached of the machine has
EVERY_S, APART_S = 10.0, 10.0
GROWTH_MAX = 1.05
VALUE = re.compile(r"^sojourn_ring_(\w+)\{service=\"[^\"]*\"\} ([\d.e+-]+)$", re.MULTILINE)
COUNTS = ("request_seconds_count", "dropped_total", "events_lost_total", "dumps_total")
BESIDE = ("dumps_failed_total", "passed_over_total", "unwatched_seconds_total", "cpu_seconds_total")


@contextmanager
def server(binary: Path, port: int) -> Iterator[int]:
    """One life of memcached; its process."""
    words = ["-u", "root", "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-t", "1", "-m", "64"]
    process = subprocess.Popen(["taskset", "-c", "0", binary, *words])
    try:
        time.sleep(2.0)  # the black box finds a new process within half a second
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)


def loaded(
    asked: argparse.Namespace,
    port: int,
    pid: int,
    draw: random.Random,
    on_look: Callable[[], object],
) -> int:
    """Load for one life, with stalls; how many requests the client sent."""
    seconds = asked.seconds // asked.lives
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        words = ["--rate", str(asked.rate), "--duration", f"{seconds}s", "--warmup", "0s"]
        words += ["--connections", "64", "--cpus", "1", "--wait", "sleep", "--json", file.name]
        target = f"memcache://127.0.0.1:{port}"
        program = PROGRAMS / "sojourn-load"
        client = subprocess.Popen(
            [program, target, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        next_stall = time.monotonic() + draw.expovariate(1 / APART_S)
        next_look = time.monotonic() + EVERY_S
        while client.poll() is None:
            next_s = min(next_stall, next_look, time.monotonic() + 0.5)
            time.sleep(max(0.01, next_s - time.monotonic()))
            if time.monotonic() >= next_stall:
                os.kill(pid, signal.SIGSTOP)
                time.sleep(draw.uniform(1e-3, 50e-3))
                os.kill(pid, signal.SIGCONT)
                next_stall = time.monotonic() + draw.expovariate(1 / APART_S)
            if time.monotonic() >= next_look:
                on_look()
                next_look += EVERY_S
        return int(json.loads(Path(file.name).read_text())["sojourn_all_ns"]["count"])


def look(address: str, tracer: int, dumps: Path) -> dict[str, float]:
    """What Prometheus would read, and what the kernel says of the process."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as reply:
        values = dict(VALUE.findall(reply.read().decode()))
    status = Path(f"/proc/{tracer}/status").read_text()
    kib = re.search(r"VmRSS:\s+(\d+) kB", status)
    return {
        "at_s": round(time.monotonic(), 1),
        "rss_mb": int(kib[1]) / 1024 if kib else 0.0,
        "dumps_mb": sum(it.stat().st_size for it in dumps.iterdir()) / 1e6 if dumps.exists() else 0,
        **{name: float(values[name]) for name in (*COUNTS, *BESIDE)},
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rate", type=int, default=24_000)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--lives", type=int, default=6, help="of the server (6)")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        answer = day(asked, Path(name))
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    file = HERE / "results" / f"{stamp}-day-{asked.rate}.json"
    file.write_text(json.dumps(answer, indent=1) + "\n")
    return judged(answer, file.name)


def day(asked: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All lives of the server, one life of the black box."""
    shutil.copy(shutil.which("memcached") or "memcached", folder / NAME)
    port, listen = ports.free(), f"127.0.0.1:{ports.free()}"
    dumps, log = folder / "dumps", folder / "ring.log"
    words = ["--ring", "--comm", NAME, "--over", "5ms", "--listen", listen, "--dumps", dumps]
    tracer = subprocess.Popen([PROGRAMS / "sojourn-trace", *words, "--log", log])
    draw, looks, sent = random.Random(asked.seed), [], []  # noqa: S311 - a schedule, no secret
    try:
        for life in range(asked.lives):
            with server(folder / NAME, port) as pid:
                every = lambda: looks.append(look(listen, tracer.pid, dumps))  # noqa: E731
                sent.append(loaded(asked, port, pid, draw, every))
                time.sleep(2.0)  # the metrics are of the last second
                every()
            log.rename(folder / f"ring.log.{life}")
            tracer.send_signal(signal.SIGHUP)
            shown = looks[-1] | {"sent": sum(sent)}
            print({key: round(value, 1) for key, value in shown.items()}, flush=True)
        logs = [it.stat().st_size for it in sorted(folder.glob("ring.log*"))]
    finally:
        tracer.terminate()
        tracer.wait(60)
    return {
        "rate": asked.rate,
        "seed": asked.seed,
        "sent": sent,
        "logs_bytes": logs,
        "looks": looks,
    }


def judged(answer: dict[str, Any], name: str) -> int:
    """Print what came of it; whether it is as it must be."""
    looks, last, sent = answer["looks"], answer["looks"][-1], sum(answer["sent"])
    seen = last["request_seconds_count"]
    half = len(looks) // 2
    early, late = (
        statistics.median(it["rss_mb"] for it in some)
        for some in (looks[half // 2 : half], looks[half:])
    )
    most = max(it["rss_mb"] for it in looks)
    print(f"requests: {sent:,} sent, {seen:,.0f} seen ({seen / sent:.4%})")
    print(f"events lost {last['events_lost_total']:.0f}, slow ones without room", end=" ")
    print(f"{last['dropped_total']:.0f}")
    print(f"dumps {last['dumps_total']:.0f}, failed {last['dumps_failed_total']:.0f}")
    print(f"memory: {early:.1f} MB, then {late:.1f} MB, at most {most:.1f} MB; rows: {name}")
    is_whole = seen >= sent and not last["events_lost_total"] and not last["dropped_total"]
    return int(not is_whole or late > GROWTH_MAX * early)


if __name__ == "__main__":
    sys.exit(main())
