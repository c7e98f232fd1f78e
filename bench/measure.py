"""One run of one tool: what it reports, and what the kernel and the server say it cost."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from peers import Case, Peer
from servers import requests_seen

CLIENT_CPU = 1
SERVER_CPU = 0
LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class Row:
    """One run: CPU time is the kernel's for the whole process, requests are the server's count.

    Both are taken while the load ran, so that no tool pays for its start, its prefill or its
    summary. `told_rps` is what the tool itself reports.
    """

    round: int
    case: str
    peer: str
    rps: float
    told_rps: float
    cpu_us_per_request: float
    p50_us: float | None
    p99_us: float | None
    requests: int
    cpu_s: float
    wall_s: float
    steal_share: float


@dataclass(frozen=True, slots=True)
class Look:
    """Counters at one moment: seconds, CPU seconds of the tool, requests the server has seen."""

    at_s: float
    cpu_s: float
    requests: int


def measure(case: Case, peer: Peer, port: int, seconds: int, number: int) -> Row:
    """Runs `peer` once; raises `RuntimeError` with its last words if it fails."""
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as name:
        scratch = Path(name)
        preload = peer.preload(case, port, scratch)
        if preload:
            run(preload, case.protocol, port, seconds=30)
        steal, began = steal_ticks(), time.monotonic()
        command = peer.command(case, port, seconds, scratch)
        stdout, looks = run(command, case.protocol, port, seconds + 20)
        ticks = (time.monotonic() - began) * os.sysconf("SC_CLK_TCK") * (os.cpu_count() or 1)
        reading = peer.read(stdout, scratch)
    wall_s, cpu_s, requests = under_load(looks)
    return Row(
        round=number, case=case.name, peer=peer.name, rps=requests / wall_s, told_rps=reading.rps,
        cpu_us_per_request=cpu_s / requests * 1e6, p50_us=reading.p50_us, p99_us=reading.p99_us,
        requests=requests, cpu_s=cpu_s, wall_s=wall_s, steal_share=(steal_ticks() - steal) / ticks,
    )  # fmt: skip


def under_load(looks: list[Look]) -> tuple[float, float, int]:
    """Wall seconds, CPU seconds and requests of the time in which load ran.

    That is the looks between which the server saw the usual number of requests, give or take half:
    fewer are start, end and outages, more are a tool's prefill before a load at a fixed rate.
    """
    steps = list(itertools.pairwise(looks))
    rates = [(b.requests - a.requests) / (b.at_s - a.at_s) for a, b in steps]
    busy = [rate for rate in rates if rate > 0.1 * max(rates, default=0.0)]
    if not busy:
        raise RuntimeError("the server saw no load")
    usual = statistics.median(busy)
    pairs = zip(steps, rates, strict=True)
    taken = [step for step, rate in pairs if usual / 2 <= rate <= usual * 1.5]
    return (
        sum(b.at_s - a.at_s for a, b in taken),
        sum(b.cpu_s - a.cpu_s for a, b in taken),
        sum(b.requests - a.requests for a, b in taken),
    )


def run(command: list[str], protocol: str, port: int, seconds: float) -> tuple[str, list[Look]]:
    """Stdout and looks of a command on the client's CPU; every tool gets the same priority."""
    deadline = time.monotonic() + seconds
    pinned = ["nice", "-n", "-15", "taskset", "-c", str(CLIENT_CPU), *command]
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(
            pinned, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        )
        looks = []
        while process.poll() is None:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                looks.append(
                    Look(time.monotonic(), cpu_s(process.pid), requests_seen(protocol, port))
                )
            if time.monotonic() > deadline:
                process.kill()
            time.sleep(LOOK_S)
        out.seek(0)
        text = out.read()
    if process.returncode not in {0, 3}:  # 3: ours, "unknown"; kept, for steal stands beside it
        why = signal.Signals(-process.returncode).name if process.returncode < 0 else "an error"
        raise RuntimeError(f"{command[0]} ended with {why}: {text[-400:]}")
    return text, looks


def cpu_s(pid: int) -> float:
    """CPU time that the process has had so far, all its threads, s."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system = int(after_name[11]), int(after_name[12])
    return (user + system) / os.sysconf("SC_CLK_TCK")


def steal_ticks() -> int:
    """Time the hypervisor gave to others so far, all CPUs, clock ticks."""
    return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8])
