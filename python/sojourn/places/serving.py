"""Which of the processes that hold a listening socket serves it.

A socket is inherited: whoever opened it for the server (systemd, another supervisor, the first
process of a container) holds it as the server does and never accepts, and so may a program that the
server started. So somebody connects, and whoever has the other end afterwards is the server:

    holders → connect some times → who accepted → up to the first process of that program

A first process whose workers accept is found by its workers: they are its forks, or several that
were started alike. PID 1, service managers and those who started the lab are climbed to by no one.
Who only passes connections on to a server elsewhere, as `docker-proxy` does, is none.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from sojourn.places import ports, proc
from sojourn.text.some import some

PROBES = 4
ACCEPT_S_MAX = 1.0
HAND_LOOKS, HAND_S = 3, 0.03  # whether a connection stays with who took it
MANAGERS = {"systemd", "init", "launchd", "runit", "s6-svscan"}
#: Who listens for a server in a container, in a pod or on another machine. These are the kernel's
#: names, which end after 15 characters. Most pass connections on. dockerd, conmon and kube-proxy
#: may only hold a port, so that no one else takes it while the firewall diverts it.
# fmt: off
FORWARDERS = {
    "docker-proxy", "dockerd", "conmon", "rootlessport", "rootlesskit", "slirp4netns",
    "pasta", "pasta.avx2", "passt", "passt.avx2", "gvproxy", "kube-proxy",
    "ssh", "sshd", "sshd-session", "socat", "rinetd", "systemd-socket-proxyd"[:15],
}
# fmt: on
#: Programs that do so only with one of these words.
FORWARDING = {name: {b"port-forward", b"proxy"} for name in ("kubectl", "oc")}
PARENT = 1  # fields of /proc/PID/stat after the name, from 0 (proc(5))
START_CODE, END_CODE, START_STACK = 23, 24, 25
NAMED_MAX = 4
Connect: TypeAlias = Callable[[], socket.socket]


class AmbiguousError(Exception):
    """Several processes may serve there; the text says which, for people."""


class ForwarderError(AmbiguousError):
    """Who listens there only does so for a server elsewhere; the text names it."""


@dataclass(frozen=True, slots=True)
class Serving:
    """The first process of a server, and those that only hold its socket."""

    pid: int
    idle: tuple[int, ...] = ()


def find(
    inodes: frozenset[int], connect: Connect, accepted: Callable[[], set[int]]
) -> Serving | None:
    """The server of some listening sockets; None if no process is seen to hold them.

    Args:
        inodes: of the sockets.
        connect: opens a connection to the server; OSError if it is not there.
        accepted: inodes of the server's ends of all connections.

    Raises:
        AmbiguousError: several may serve, only a service manager holds them, or who takes
            connections hands them to a process outside of its family.
        ForwarderError: who takes connections passes them on.
    """
    holders = frozenset(ports.holders(inodes, proc.pids()))
    if not holders:
        return None
    if outside := _handed_on(holders, connect, accepted):
        raise AmbiguousError(_process_names(holders | outside))
    barred = _barred(holders)
    serving = frozenset({*holders} - barred)
    if len(holders) == 1 and not _managers(holders):
        _refuse_forwarders(holders)
        return Serving(next(iter(holders)))  # no one else can accept
    takers = _takers(holders, connect, accepted) if len(holders) > 1 else frozenset()
    _refuse_forwarders(takers or serving)
    chosen = _first_ones(takers or serving, holders, barred)
    if len(chosen) != 1 or _managers(chosen):
        raise AmbiguousError(_process_names(takers or serving or holders))
    first = next(iter(chosen))
    own = {member.pid for member in proc.family(first)}
    return Serving(first, tuple(sorted(holders - own)))


def _refuse_forwarders(pids: frozenset[int]) -> None:
    """ForwarderError where all of these only listen for somebody else."""
    if pids and all(map(_is_forwarder, pids)):
        raise ForwarderError(_process_names(pids))


def _is_forwarder(pid: int) -> bool:
    stat = proc.stat(pid)
    if stat is None:
        return False
    words = set(_command_line(pid).split(b"\0"))
    return stat.name in FORWARDERS or bool(FORWARDING.get(stat.name, set()) & words)


def _handed_on(
    holders: frozenset[int], connect: Connect, accepted: Callable[[], set[int]]
) -> frozenset[int]:
    """Who was handed a connection by those that took it, and is none of them nor came of them.

    A socket can be sent to any process (unix(7), SCM_RIGHTS). Then the CPU time of those who listen
    is not that of the service. None where it stays with them, or is not taken in time.
    """
    before, until = accepted(), time.monotonic() + ACCEPT_S_MAX
    with contextlib.suppress(OSError), contextlib.closing(connect()):
        while not (ends := accepted() - before) and time.monotonic() < until:
            time.sleep(0.01)
        for _ in range(HAND_LOOKS if ends else 0):
            owners = {*ports.holders(ends, proc.pids())}
            outside = {pid for pid in owners if not holders & {pid, *_ancestors(pid)}}
            if outside and outside == owners:
                return frozenset(outside)
            time.sleep(HAND_S)
    return frozenset()


def _takers(
    holders: frozenset[int], connect: Connect, accepted: Callable[[], set[int]]
) -> frozenset[int]:
    """Which of the holders take connections, by making some; none if no one does in time."""
    before = accepted()
    until = time.monotonic() + ACCEPT_S_MAX
    numbers: set[int] = set()
    with ExitStack() as open_ones:
        for _ in range(PROBES):
            with contextlib.suppress(OSError):
                open_ones.enter_context(connect())
        while True:
            ends = accepted() - before
            numbers |= _owners(ends, holders)
            if len(ends) >= PROBES or time.monotonic() > until or (numbers and not ends):
                break
            time.sleep(0.01)
    above = {
        one for taker in numbers for one in _ancestors(taker)
    }  # forks have their words as well
    twins = {pid for pid in holders - above for taker in numbers if _is_twin(pid, taker)}
    return frozenset(numbers | twins)


def _owners(ends: set[int], holders: frozenset[int]) -> set[int]:
    """Holders that have these ends, or whose descendants were given them."""
    owners = set(ports.holders(ends, holders))
    if not ends or owners:
        return owners
    for pid in ports.holders(ends, proc.pids()):
        above = next((one for one in _ancestors(pid) if one in holders), None)
        owners |= {above} if above else set()
    return owners


def _first_ones(
    pids: Collection[int], holders: frozenset[int], barred: frozenset[int]
) -> frozenset[int]:
    """The first processes of the programs that some processes are of."""
    numbers = {_first(pid, holders, barred) for pid in pids}
    above = {_parent(pid) for pid in numbers}
    if len(numbers) > 1 and len(above) == 1 and not above & barred:
        (parent,) = above
        if parent > 1 and all(_is_fork(parent, pid) for pid in numbers):
            return frozenset(above)  # its workers opened a socket each (SO_REUSEPORT)
    return frozenset(numbers)


def _first(pid: int, holders: frozenset[int], barred: frozenset[int]) -> int:
    while (above := _parent(pid)) in holders and above not in barred:
        alike = [one for one in holders if one != pid and _parent(one) == above]
        if not _is_fork(above, pid) and not any(_is_twin(one, pid) for one in alike):
            break
        pid = above
    return pid


def _is_fork(above: int, pid: int) -> bool:
    """Whether a process runs its parent's program by fork alone: it has the same place in memory.

    Addresses are drawn anew with each program. Where they are not told or not drawn, the same
    program and words have to do.
    """
    own, its = (_fields(one)[START_CODE : START_STACK + 1] for one in (pid, above))
    is_reported = len(own) == 3 and all(int(word) > 1 for word in (*own, *its))
    if is_reported and _are_drawn():
        return own == its
    return _is_twin(above, pid)


def _is_twin(one: int, other: int) -> bool:
    """Whether two processes run the same program with the same words, numbers apart."""
    return one == other or (_words(one) == _words(other) and bool(_words(one)[1]))


def _words(pid: int) -> tuple[str, bytes]:
    try:
        exe = str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        exe = ""
    return exe, re.sub(rb"\d+", b"", _command_line(pid))


def _command_line(pid: int) -> bytes:
    """The words of a process, each with a zero behind it; b"": it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _are_drawn() -> bool:
    try:
        return (
            Path("/proc/sys/kernel/randomize_va_space").read_text(encoding="ascii").strip() != "0"
        )
    except OSError:
        return False


def _barred(holders: frozenset[int]) -> frozenset[int]:
    """Holders to whom no one climbs: the first process, managers, and those who started the lab."""
    return holders & frozenset({1, os.getpid(), *_ancestors(os.getpid()), *_managers(holders)})


def _managers(pids: Collection[int]) -> set[int]:
    return {pid for pid in pids if (stat := proc.stat(pid)) and stat.name in MANAGERS}


def _ancestors(pid: int) -> Iterator[int]:
    """Its parent, and so on up."""
    seen = {pid}
    while (pid := _parent(pid)) > 0 and pid not in seen:
        seen.add(pid)
        yield pid


def _parent(pid: int) -> int:
    stat = proc.stat(pid)
    return stat.parent if stat else 0


def _fields(pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _process_names(pids: Collection[int]) -> str:
    """Processes by name and number."""
    named = [f"{stat.name} ({pid})" for pid in sorted(pids) if (stat := proc.stat(pid))]
    return some(named, NAMED_MAX)
