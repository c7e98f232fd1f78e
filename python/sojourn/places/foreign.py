"""Processes that the lab did not start: seen, weighed, and left as they are.

A service of the user's own has no session that the lab opened and no warden. Its processes are a
first one with all that came of it, or all of a control group. The handle below answers what a
`Process` does, and ends nothing: `stop` lets go of it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from pathlib import Path

from sojourn import disk
from sojourn.places import ports, proc, serving
from sojourn.places.proc import Stat
from sojourn.places.process_end import Ended

CGROUPS = (
    Path("/sys/fs/cgroup"),
    Path("/sys/fs/cgroup/unified"),
    Path("/sys/fs/cgroup/cpu"),
    Path("/sys/fs/cgroup/cpu,cpuacct"),
)


class Foreign:
    """A program that somebody else started.

    Attributes:
        pid: its first process.
        group: folder of its control group; None: its descendants are its own.
        idle: processes that hold its socket as well and serve nothing.
    """

    def __init__(self, pid: int, group: Path | None = None) -> None:
        """`pid` must live; OSError if it does not, or may not be watched."""
        self.pid = pid
        self.group = group
        self.idle: tuple[int, ...] = ()
        self._is_over = False
        self._handle = -1
        self._handle = os.pidfd_open(pid)

    def __del__(self) -> None:
        self.stop()

    def fileno(self) -> int:
        """Becomes readable when the first process has ended; -1 after it was let go."""
        return self._handle

    def poll(self, within_s: float = 0.0) -> Ended | None:
        """That it ended, which is all that can be known; None if it has not within `within_s`."""
        if not self._is_over and self._handle >= 0:
            self._is_over = bool(select.select([self._handle], [], [], within_s)[0])
        if not self._is_over:
            return None
        return Ended(
            status=0, cpu_s=0.0, rss_kb_max=0, is_clean=True, message="has ended by itself"
        )

    def send(self, number: signal.Signals) -> None:
        """Send nothing: it is not the lab's."""

    def stop(self, *, term_s: float = 0.0, first: signal.Signals = signal.SIGTERM) -> None:
        """Let go of it; it runs on."""
        del term_s, first
        handle, self._handle = self._handle, -1
        if handle >= 0:
            with contextlib.suppress(OSError):
                os.close(handle)

    def members(self) -> tuple[Stat, ...]:
        """Its processes that live now; the lab and what came of it are none."""
        if self.group is not None:
            every = (proc.stat(pid) for pid in _pids(self.group))
            results = tuple(s for s in every if s is not None and s.state != "Z")
        else:
            results = proc.family(self.pid)
        return _without_lab(results, self.pid)

    def cpus(self) -> tuple[int, ...]:
        """CPUs on which any of them may run, ascending."""
        numbers: set[int] = set()
        for member in self.members():
            with contextlib.suppress(OSError):
                numbers |= os.sched_getaffinity(member.pid)
        return tuple(sorted(numbers))


def _without_lab(stats: tuple[Stat, ...], first: int) -> tuple[Stat, ...]:
    """Processes of a service without the lab and all that came of it, where it is among them.

    Whoever started the lab, as a supervisor or a test does, is an ancestor of all that it starts.
    """
    of = {one.pid: one for one in stats}
    top = os.getpid()
    if top not in of or top == first:
        return stats
    while (above := of[top].parent) in of and above != first:
        top = above
    lab = {one.pid for one in proc.family(top)}
    return tuple(one for one in stats if one.pid not in lab) or stats


def of_process(pid: int) -> Foreign | None:
    """That process and all that came of it; None if there is none."""
    try:
        return Foreign(pid)
    except OSError:
        return None


def of_group(name: str) -> Foreign | None:
    """All processes of a control group and those below it; None if there is none.

    Args:
        name: a folder, or its path below the mount of control groups.
    """
    for top in (Path("/"), *CGROUPS):
        folder = top / name.lstrip("/")
        if (folder / "cgroup.procs").is_file() and (pids := _pids(folder)):
            with contextlib.suppress(OSError):
                return Foreign(pids[0], folder)
    return None


def _pids(folder: Path) -> list[int]:
    numbers: set[int] = set()
    for below, _ in disk.tree.walk(folder):
        with contextlib.suppress(OSError):
            text = Path(below, "cgroup.procs").read_text(encoding="ascii")
            numbers |= {int(word) for word in text.split()}
    return sorted(numbers - {0})  # 0: in another namespace of processes


def listening(
    port: int, path: Path | None = None, connect: serving.Connect | None = None
) -> Foreign | None:
    """Who serves a port, or a unix socket, of this machine; None if that cannot be seen.

    Args:
        port: it listens on; 0 for a unix socket.
        path: of the unix socket.
        connect: opens a connection to it; None: to the loopback address, or the socket.

    Raises:
        serving.AmbiguousError: several processes hold the socket, and it is not seen who serves.
    """
    inodes = ports.unix_listeners(path) if path else ports.listeners(port)
    result = serving.find(
        inodes,
        connect or (lambda: _connected(port, path)),
        lambda: set(ports.unix_accepted(path) if path else ports.accepted(port)),
    )
    handle = of_process(result.pid) if result else None
    if handle is not None and result is not None:
        handle.idle = result.idle
    return handle


def _connected(port: int, path: Path | None) -> socket.socket:
    if path is None:
        return socket.create_connection((ports.HOST, port), timeout=serving.ACCEPT_S_MAX)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(serving.ACCEPT_S_MAX)
    try:
        made.connect(str(path))
    except OSError:
        made.close()
        raise
    return made
