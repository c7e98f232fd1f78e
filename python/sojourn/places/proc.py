"""What /proc says about a process: enough to know it again, to pin it and to weigh it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn.places.task import Task
from sojourn.text import schedstat

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
TICK_NS = 1_000_000_000 // TICKS_PER_S
SLEEPS, PENDING = "voluntary_ctxt_switches:", "ShdPnd:"  # of a thread's status, proc(5)


def now_ticks() -> int:
    """The time on the clock of `Stat.start_ticks`, ticks since boot."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * TICKS_PER_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat:
    """One line of /proc/PID/stat.

    Attributes:
        ended_ns: CPU time of its children that have ended, ns.
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
    ended_ns: int = 0


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
        ended_ns=(int(fields[13]) + int(fields[14])) * TICK_NS,
    )


def pids() -> tuple[int, ...]:
    """Numbers of all processes that can be seen."""
    return tuple(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def session(leader: int) -> tuple[Stat, ...]:
    """All processes of the session that `leader` opened, and what came of them; no dead ones.

    A server's processes may open sessions of their own, as each of PostgreSQL's does. None has
    session 0, because no lab opened it: the kernel's threads are in it, and often process 1, from
    which every other one comes. In a container so are processes with a leader outside.
    """
    if leader < 1:
        return ()
    every = everybody()
    return _with_descendants({pid for pid, one in every.items() if one.session == leader}, every)


def family(first: int) -> tuple[Stat, ...]:
    """A process and all that came of it, dead ones left out; () if it is gone."""
    every = everybody()
    return _with_descendants({first} & set(every), every)


def everybody() -> dict[int, Stat]:
    """All processes that can be seen, by number."""
    return {result.pid: result for pid in pids() if (result := stat(pid)) is not None}


def _with_descendants(numbers: set[int], every: Mapping[int, Stat]) -> tuple[Stat, ...]:
    """Some processes and all that came of them, in order, dead ones left out."""
    grew = bool(numbers)
    while grew:
        fresh = {pid for pid, one in every.items() if one.parent in numbers} - numbers
        numbers |= fresh
        grew = bool(fresh)
    return tuple(every[pid] for pid in sorted(numbers) if every[pid].state != "Z")


def tasks(leader: int) -> tuple[Task, ...]:
    """All threads of all processes of a session."""
    return tasks_of(session(leader))


def tasks_of(members: Iterable[Stat]) -> tuple[Task, ...]:
    """All threads of some processes."""
    return tuple(
        Task(pid=member.pid, tid=tid, name=name, command=_command(member.pid))
        for member in members
        for tid, name in threads(member.pid)
    )


def cpu_ns(leader: int) -> int:
    """CPU time that the living processes of a session have used, ns."""
    return sum(member.cpu_ns for member in session(leader))


def used_ns(leader: int) -> int:
    """The same with those that have ended, whose parents live: for who starts many short ones."""
    return sum(member.cpu_ns + member.ended_ns for member in session(leader))


def thread_ns(pid: int, tid: int) -> int:
    """CPU time of one thread, ns; 0 if it is gone."""
    result = _schedstat(pid, tid)
    return result.ran_ns if result else 0


def wanted_ns(pid: int, tid: int) -> int:
    """How long one thread has run, or waited for a CPU, ns; 0 if it is gone."""
    result = _schedstat(pid, tid)
    return result.ran_ns + result.waited_ns if result else 0


def sleeps(pid: int, tid: int) -> int:
    """How often one thread has gone to sleep, by the kernel's count; 0 if it is gone."""
    return int(_status(pid, tid, SLEEPS) or 0)


def is_pending(pid: int, number: int) -> bool:
    """Whether a signal was sent to a process that has not taken it yet; False if it is gone."""
    return bool(int(_status(pid, pid, PENDING) or "0", 16) >> (number - 1) & 1)


def _status(pid: int, tid: int, field: str) -> str:
    """One field of a thread's status; "" if it is gone."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/task/{tid}/status").read_text("utf-8", "replace")
        listed = [line.split()[1] for line in text.splitlines() if line.startswith(field)]
        return listed[0] if listed else ""
    return ""


def _schedstat(pid: int, tid: int) -> schedstat.Schedstat | None:
    with contextlib.suppress(OSError, ValueError):
        return schedstat.parse(Path(schedstat.path(pid, tid)).read_text(encoding="ascii"))
    return None


def threads(pid: int) -> list[tuple[int, str]]:
    """Number and name of each thread of a process; none of one that is gone."""
    results: list[tuple[int, str]] = []
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return results
    for thread in threads:
        with contextlib.suppress(OSError):
            name = (thread / "comm").read_text("utf-8", "replace").strip()  # any bytes may be in it
            results.append((int(thread.name), name))
    return results


def _command(pid: int) -> str:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    return raw.replace(b"\0", b" ").decode("utf-8", "replace").strip()


def members(leader: int, start_ticks: int) -> tuple[Stat, ...]:
    """What is left of a session that a process opened which started at `start_ticks`.

    While a session has members, the kernel gives its number to no other process. So if the number
    belongs to a process that started at another time, the session is gone and the number was used
    again. If there is no such process, what is in the session must have started later and bear the
    number as its session. Process 1 opened none for anybody: all others come of it.
    """
    if leader <= 1:
        return ()
    now = stat(leader)
    if now is not None and now.start_ticks != start_ticks:
        return ()
    return tuple(m for m in session(leader) if m.start_ticks >= start_ticks)


def kill(member: Stat) -> None:
    """Kill a process and no other."""
    send(member, signal.SIGKILL)


def send(member: Stat, number: signal.Signals) -> None:
    """Signal a process and no other: through a handle, checked after it was opened."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        handle = os.pidfd_open(member.pid)
        try:
            if is_alive(member):
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def is_alive(member: Stat) -> bool:
    """Whether it is still the same process, and not only its remains."""
    now = stat(member.pid)
    return now is not None and now.start_ticks == member.start_ticks and now.state != "Z"


def end(stats: Sequence[Stat], *, within_s: float) -> bool:
    """Kill processes; whether all of them are gone within the time."""
    for member in stats:
        kill(member)
    until = time.monotonic() + within_s
    while any(is_alive(member) for member in stats):
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True
