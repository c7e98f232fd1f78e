"""Whether clients reach the service that the lab started, and no other program.

An answer proves nothing: another program may have taken the port. It may also have the same port of
another address. A name such as `localhost` means 127.0.0.1 and ::1, and clients take the first
that answers.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Collection, Sequence
from functools import partial
from urllib.parse import urlsplit

from sojourn.errors import HostFault
from sojourn.places import network, ports, proc
from sojourn.places.ports import Address
from sojourn.run.live import RunningService
from sojourn.services.capabilities import needs

CONNECT_S_MAX = 1.0
#: Why open files are hidden from a user, and from root, and what helps.
_CAPABLE = (
    "its program has capabilities or a setuid bit",
    "run as root, or start a copy of the program, which has no capabilities (getcap lists them)",
)
_CONTAINED = (
    "it is another user's, and this root has no CAP_SYS_PTRACE",
    'start the container with --cap-add SYS_PTRACE, or give user = "self"',
)


def is_own(live: RunningService, pids: Sequence[int], wanted: Collection[int]) -> bool:
    """Whether a service that answers is the one that was started.

    Args:
        live: the service.
        pids: its processes.
        wanted: the ports that it should listen on.

    Returns:
        False if another program has one of the ports, and another port may be taken.

    Raises:
        HostFault: it cannot be seen who has a port, or clients reach another program on a port that
            the user gave.
    """
    for port in wanted:
        if live.place.owner(port, pids) is None:
            _refuse_unseen(live, pids, port)
            return False
    at = _peer(live)
    if at is None or at.host == live.address.host or at.port not in wanted:
        return True
    there = ports.listeners_at(*at)
    if not there or ports.holds(there, pids) is not None:
        return True
    if not needs(live.service).port:
        return False
    raise HostFault(
        f"clients of {live.label} reach {ports.holder_of(there)} at {_text(at)}: "
        f"{live.label} has the same port of another address",
        at=f"service {live.label}, target = {live.service.endpoint(live.address).target}",
        fix=f"write {live.address.host} in target, give another port, or end that program",
    )


def elsewhere(live: RunningService, pids: Sequence[int]) -> str:
    """Where a service listens that takes no connection at its address, such as `[::1]:8080`.

    Returns:
        "" if it takes connections there, or does not listen anywhere that can be seen.
    """
    with contextlib.suppress(OSError), socket.create_connection(live.address, CONNECT_S_MAX):
        return ""
    act = partial(ports.listened_by, pids)
    return ", ".join(network.inside(live.place.netns, act) if live.place.netns else act())


def _refuse_unseen(live: RunningService, pids: Sequence[int], port: int) -> None:
    """HostFault where the service may have the port all the same: its open files are hidden."""
    hidden = ports.unreadable(pids)
    if hidden and ports.owner(port, proc.pids()) is None:
        why, fix = _CAPABLE if os.geteuid() else _CONTAINED
        raise HostFault(
            f"whether {live.label} has port {port} cannot be seen: the kernel hides the open files "
            f"of process {hidden[0]}, because {why}",
            at=f"{live.address}: {' '.join(live.argv)}",
            fix=fix,
        )


def _peer(live: RunningService) -> Address | None:
    """Where a client's connection arrives; None: it goes to no port, or no process listens."""
    with contextlib.suppress(OSError, ValueError):
        target = urlsplit(live.service.endpoint(live.address).target)
        host, port = target.hostname, target.port or live.port
        if host is None or host == live.address.host:
            return None
        with socket.create_connection((host, port), timeout=CONNECT_S_MAX) as made:
            return Address(*made.getpeername()[:2])
    return None


def _text(at: Address) -> str:
    return f"[{at.host}]:{at.port}" if ":" in at.host else str(at)
