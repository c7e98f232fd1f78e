"""One run of one tool: what it reports, and what the kernel and the server say it cost."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from peers import Case, Peer
from servers import requests_seen

CLIENT_CPU = 1
SERVER_CPU = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One run: CPU time is the kernel's for the whole process, requests are the server's count."""

    round: int
    case: str
    peer: str
    rps: float
    cpu_us_per_request: float
    p50_us: float | None
    p99_us: float | None
    requests: int
    cpu_s: float
    wall_s: float
    steal_share: float


def measure(case: Case, peer: Peer, port: int, seconds: int, number: int) -> Row:
    """Runs `peer` once; raises `RuntimeError` with its last words if it fails."""
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as name:
        scratch = Path(name)
        preload = peer.preload(case, port, scratch)
        if preload:
            run(preload, seconds=30)
        before, steal = requests_seen(case.protocol, port), steal_ticks()
        stdout, cpu_s, wall_s = run(peer.command(case, port, seconds, scratch), seconds + 20)
        requests = requests_seen(case.protocol, port) - before
        reading = peer.read(stdout, scratch)
    rps = reading.rps if reading.rps == reading.rps else requests / wall_s
    stolen = (steal_ticks() - steal) / (wall_s * os.sysconf("SC_CLK_TCK") * (os.cpu_count() or 1))
    return Row(
        round=number, case=case.name, peer=peer.name, rps=rps, p50_us=reading.p50_us,
        p99_us=reading.p99_us, cpu_us_per_request=cpu_s / requests * 1e6, requests=requests,
        cpu_s=cpu_s, wall_s=wall_s, steal_share=stolen,
    )  # fmt: skip


def run(command: list[str], seconds: int) -> tuple[str, float, float]:
    """Stdout, CPU seconds and wall seconds of a command pinned to the client's CPU."""
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(
            ["taskset", "-c", str(CLIENT_CPU), *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        usage = wait(process, started + seconds)
        wall_s = time.monotonic() - started
        out.seek(0)
        text = out.read()
    if process.returncode not in {
        0,
        3,
    }:  # 3: ours, "unknown"; the row is kept, steal stands beside it
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {text[-400:]}")
    return text, usage, wall_s


def wait(process: subprocess.Popen[bytes], deadline: float) -> float:
    """CPU seconds of the finished process; ends it at the deadline."""
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_utime + usage.ru_stime
        if time.monotonic() > deadline:
            process.kill()
        time.sleep(0.01)


def steal_ticks() -> int:
    """Time the hypervisor gave to others so far, all CPUs, clock ticks."""
    return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8])
