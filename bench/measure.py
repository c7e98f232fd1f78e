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
from dataclasses import dataclass, fields
from pathlib import Path

from peers import Case, Peer
from servers import Served, family

CLIENT_CPU = 1
SERVER_CPU = 0
LOOK_S = 0.25
STEAL_MAX = 0.02
FOREIGN_MAX = 0.05
USER_MIN_S = 0.08  # 20 ticks


@dataclass(frozen=True, slots=True)
class Row:
    """One run: CPU time is the kernel's for the whole process, requests are the server's count.

    Both are taken while the load ran, so that no tool pays for its start, its prefill or its
    summary. Where the server has no count, requests are the tool's own number a second. `told_rps`
    is what the tool itself reports, `verdict` what it says of its own numbers ("" if it says
    nothing). `user_us_per_request` is CPU time outside the kernel: counted by its clock ticks (4 ms
    at 250 Hz), so 10 s of a busy tool tell a share of 7 % to within a tenth; `None`: fewer than 20
    ticks were seen. Shares are of one CPU's time: `server_busy` what the server used,
    `foreign_share` what neither tool, server nor this bench used of either CPU.
    """

    round: int
    case: str
    peer: str
    rps: float
    told_rps: float
    cpu_us_per_request: float
    user_us_per_request: float | None
    p50_us: float | None
    p99_us: float | None
    requests: int
    cpu_s: float
    wall_s: float
    steal_share: float
    server_busy: float
    foreign_share: float
    verdict: str

    @property
    def is_disturbed(self) -> bool:
        """Whether others used so much of the CPUs that the run says little about the tool."""
        return self.steal_share > STEAL_MAX or self.foreign_share > FOREIGN_MAX


@dataclass(frozen=True, slots=True)
class Look:
    """Counters at one moment, all since their own beginning; times in s.

    Attributes:
        cpu_s: of the tool.
        user_s: the part of it that was not in the kernel.
        requests: that the server has seen; 0 where it has no count.
        server_s: of the server, all its processes.
        used_s: of anybody, on the tool's and the server's CPU.
        own_s: of this bench and the children that it has waited for.
    """

    at_s: float
    cpu_s: float
    user_s: float
    requests: int
    server_s: float
    used_s: float
    own_s: float


def measure(case: Case, peer: Peer, server: Served, seconds: int, number: int) -> Row:
    """Runs `peer` once against a server.

    Raises:
        RuntimeError: it failed; with its last words.
    """
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as name:
        scratch = Path(name)
        preload = peer.preload(case, server.port, scratch)
        if preload:
            run(preload, server, seconds=30)
        steal, began = steal_ticks(), time.monotonic()
        command = peer.command(case, server.port, seconds, scratch)
        stdout, looks = run(command, server, seconds + 20)
        ticks = (time.monotonic() - began) * os.sysconf("SC_CLK_TCK") * (os.cpu_count() or 1)
        reading = peer.read(stdout, scratch)
    spent = under_load(looks) if server.seen is not None else in_the_middle(looks)
    wall_s, cpu_s = spent.at_s, spent.cpu_s
    requests = spent.requests if server.seen is not None else round(reading.rps * wall_s)
    if not requests:
        raise RuntimeError(f"nothing was answered: {stdout[-400:]}")
    foreign_s = spent.used_s - spent.cpu_s - spent.server_s - spent.own_s
    return Row(
        round=number,
        case=case.name,
        peer=peer.name,
        rps=requests / wall_s,
        told_rps=reading.rps,
        cpu_us_per_request=cpu_s / requests * 1e6,
        user_us_per_request=spent.user_s / requests * 1e6 if spent.user_s >= USER_MIN_S else None,
        p50_us=reading.p50_us,
        p99_us=reading.p99_us,
        requests=requests,
        cpu_s=cpu_s,
        wall_s=wall_s,
        steal_share=(steal_ticks() - steal) / ticks,
        server_busy=spent.server_s / wall_s,
        foreign_share=max(foreign_s, 0.0) / wall_s,
        verdict=reading.verdict,
    )


def under_load(looks: list[Look]) -> Look:
    """What passed and was used in the time in which load ran.

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
    if not taken:
        raise RuntimeError("the load was too uneven to tell it from outages")
    return passed(taken)


def in_the_middle(looks: list[Look]) -> Look:
    """What passed and was used in the middle half of a tool's life, for a server without a count.

    The quarter at either end is more than a start, a warm-up and a summary take in runs of some
    seconds; load is taken to be as high in the middle as the tool says of the whole.
    """
    if not looks:
        raise RuntimeError("it ended before it was looked at")
    quarter_s = (looks[-1].at_s - looks[0].at_s) / 4
    first_s, last_s = looks[0].at_s + quarter_s, looks[-1].at_s - quarter_s
    inner = [one for one in looks if first_s <= one.at_s <= last_s]
    if len(inner) < 3:
        raise RuntimeError("it ran for too short a time to be looked at")
    return passed(list(itertools.pairwise(inner)))


def passed(steps: list[tuple[Look, Look]]) -> Look:
    """What passed from the first to the second look of each pair, all pairs together."""
    names = [field.name for field in fields(Look)]
    return Look(**{n: sum(getattr(b, n) - getattr(a, n) for a, b in steps) for n in names})


def run(command: list[str], server: Served, seconds: float) -> tuple[str, list[Look]]:
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
                looks.append(look(process.pid, server))
            if time.monotonic() > deadline:
                process.kill()
            time.sleep(LOOK_S)
        out.seek(0)
        text = out.read()
    if process.returncode not in {0, 3}:  # 3: ours, "unknown"; kept, for steal is beside it
        why = signal.Signals(-process.returncode).name if process.returncode < 0 else "an error"
        raise RuntimeError(f"{command[0]} ended with {why}: {text[-400:]}")
    return text, looks


def look(tool: int, server: Served) -> Look:
    """All counters, as close together as they can be read."""
    own = os.times()
    return Look(
        at_s=time.monotonic(),
        cpu_s=cpu_s(tool),
        user_s=times_s(tool)[0],
        requests=server.seen() if server.seen is not None else 0,
        server_s=sum(cpu_s(pid) for pid in family(server.pid)),
        used_s=used_s(),
        own_s=own.user + own.system + own.children_user + own.children_system,
    )


def cpu_s(pid: int) -> float:
    """CPU time of a process so far, all its threads, s: of its clock, which counts nanoseconds.

    The times in `/proc` are whole ticks, of which a run at a low rate has too few. That a negative
    number of a clock names a process is the kernel's interface (`clock_getcpuclockid(3)`).

    Raises:
        ProcessLookupError: it has ended.
    """
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError as error:
        raise ProcessLookupError(pid) from error


def used_s() -> float:
    """Time that was used of the tool's and the server's CPU so far, by anybody, s (proc(5))."""
    lines = {
        line.split()[0]: line.split()[1:]
        for line in Path("/proc/stat").read_text().split("\n")
        if line
    }
    of = [[int(n) for n in lines[f"cpu{cpu}"]] for cpu in (CLIENT_CPU, SERVER_CPU)]
    ticks = sum(user + nice + system + irq + soft for user, nice, system, _, _, irq, soft, *_ in of)
    return ticks / os.sysconf("SC_CLK_TCK")


def times_s(pid: int) -> tuple[float, float]:
    """CPU time of a process so far, all its threads, in user mode and in the kernel, s."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system = int(after_name[11]), int(after_name[12])
    return user / os.sysconf("SC_CLK_TCK"), system / os.sysconf("SC_CLK_TCK")


def steal_ticks() -> int:
    """Time the hypervisor gave to others so far, all CPUs, clock ticks."""
    return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8])
