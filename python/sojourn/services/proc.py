"""What /proc says about a process: enough to know it again, to pin it and to weigh it."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from sojourn.services.kind import Task

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat:
    """One line of /proc/PID/stat.

    Attributes:
        state: "R", "S", "D", "T" (stopped), "Z" (dead, not reaped), …
        start_ticks: when it started, clock ticks after boot; with the number it names a process
            for good, because numbers are used again.
    """

    pid: int
    name: str
    state: str
    parent: int
    session: int
    cpu_ns: int
    start_ticks: int


def stat(pid: int) -> Stat | None:
    """Read one process; None if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name may hold spaces and brackets; fields are counted from the last one (proc(5)).
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    return Stat(
        pid=pid,
        name=head.partition("(")[2],
        state=fields[0],
        parent=int(fields[1]),
        session=int(fields[3]),
        cpu_ns=(int(fields[11]) + int(fields[12])) * TICK_NS,
        start_ticks=int(fields[19]),
    )


def pids() -> tuple[int, ...]:
    """Numbers of all processes that can be seen."""
    return tuple(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def session(leader: int) -> tuple[Stat, ...]:
    """All processes of the session that `leader` opened, dead ones left out."""
    found = (stat(pid) for pid in pids())
    return tuple(s for s in found if s is not None and s.session == leader and s.state != "Z")


def tasks(leader: int) -> tuple[Task, ...]:
    """All threads of all processes of a session."""
    return tuple(
        Task(pid=member.pid, tid=tid, name=name, command=_command(member.pid))
        for member in session(leader)
        for tid, name in _threads(member.pid)
    )


def cpu_ns(leader: int) -> int:
    """CPU time that the living processes of a session have used, ns."""
    return sum(member.cpu_ns for member in session(leader))


def _threads(pid: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return found
    for thread in threads:
        with contextlib.suppress(OSError):
            found.append((int(thread.name), (thread / "comm").read_text(encoding="utf-8").strip()))
    return found


def _command(pid: int) -> str:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    return raw.replace(b"\0", b" ").decode("utf-8", "replace").strip()
