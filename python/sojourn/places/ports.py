"""Ports of an address: a free one, whether one is taken, by whom, and what answers there.

All of it holds for the network namespace of the thread that asks (`netns.inside`).
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import NamedTuple, TypeAlias

from sojourn.disk import tables
from sojourn.places import owner as of_owner
from sojourn.places import proc
from sojourn.visible import in_line

HOST = "127.0.0.1"
IPAddress: TypeAlias = IPv4Address | IPv6Address
NEVER = 3  # a rank
BESIDE_MAX = 1 << 20  # bytes of a reply beside what ends it
WHOLE_S, SLOWEST = 2.0, 10e6  # for a reply in parts, and bytes/s of a long one
LISTEN, ESTABLISHED = "0A", "01"  # TCP_LISTEN, TCP_ESTABLISHED: include/net/tcp_states.h


class Address(NamedTuple):
    """Where a server listens and its clients reach it: an IPv4 address and a TCP or UDP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def free(host: str = HOST) -> int:
    """A port that was free a moment ago. Another program may take it: start, and try again."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def is_free(port: int, host: str = HOST) -> bool:
    """Whether a server could listen there now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def listeners(port: int) -> frozenset[int]:
    """Inodes of the sockets that listen on `port`, on any IPv4 or IPv6 address."""
    return frozenset(inode for at, inode in _listening() if at == port)


def listeners_at(host: str, port: int) -> frozenset[int]:
    """Inodes of the sockets that take connections to an address, as the kernel chooses.

    One that is bound to the address comes before one that is bound to all of its family. That comes
    before one of IPv6 that takes IPv4 as well.

    Args:
        host: an IPv4 or IPv6 address, such as "::1"; a zone behind "%" is left out.
        port: of it.
    """
    wanted = _plain(ip_address(host.partition("%")[0]))
    there = [(_address(at), inode) for at, number, inode in _bound(LISTEN) if number == port]
    ranked = [(_rank(at, wanted), inode) for at, inode in there]
    first = min((rank for rank, _ in ranked), default=NEVER)
    return frozenset(inode for rank, inode in ranked if rank == first < NEVER)


def _rank(at: IPAddress, wanted: IPAddress) -> int:
    """When a socket that is bound to `at` has its turn; NEVER: it takes no such connections."""
    if at == wanted:
        return 0
    if not at.is_unspecified or at.version < wanted.version:
        return NEVER
    return 1 if at.version == wanted.version else 2


def _plain(at: IPAddress) -> IPAddress:
    """The IPv4 address that one of IPv6 maps; else the same."""
    return getattr(at, "ipv4_mapped", None) or at


def listened_by(pids: Iterable[int]) -> tuple[str, ...]:
    """Where some processes listen, such as `[::1]:8080`; those that are hidden are left out."""
    own = {link for pid in pids for link in of_owner.open_files(pid) or ()}
    each = [(ip_address(_raw(at)), port, f"socket:[{inode}]") for at, port, inode in _bound(LISTEN)]
    shown = (
        f"[{at}]:{port}" if at.version == 6 else f"{at}:{port}"
        for at, port, link in each
        if link in own
    )
    return tuple(dict.fromkeys(shown))


def listening() -> tuple[int, ...]:
    """Ports on which somebody listens, ascending, on any IPv4 or IPv6 address."""
    return tuple(sorted({port for port, _ in _listening()}))


def _listening() -> Iterator[tuple[int, int]]:
    """Port and inode of each socket that listens."""
    return _sockets(LISTEN)


def _sockets(state: str) -> Iterator[tuple[int, int]]:
    """Own port and inode of each TCP socket in that state."""
    return ((port, inode) for _, port, inode in _bound(state))


def _bound(state: str) -> Iterator[tuple[str, int, int]]:
    """Own address as the kernel writes it, own port and inode of each TCP socket in that state."""
    for table in ("/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"):
        try:
            lines = tables.lines(tables.text(Path(table)))[1:]
        except OSError:
            continue
        for words in (line.split() for line in lines):
            if words[3] == state:
                host, _, port = words[1].rpartition(":")
                yield host, int(port, 16), int(words[9])


def _address(text: str) -> IPAddress:
    """An address of those tables; one of IPv6 that maps IPv4 is that of IPv4."""
    return _plain(ip_address(_raw(text)))


def _raw(text: str) -> bytes:
    """Its bytes: each four of them are a number in this machine's order."""
    raw = bytes.fromhex(text)
    parts = (raw[at : at + 4] for at in range(0, len(raw), 4))
    order = -1 if sys.byteorder == "little" else 1
    return b"".join(part[::order] for part in parts)


def accepted(port: int) -> frozenset[int]:
    """Inodes of the server's ends of connections to a port; one that no one accepted has none."""
    return frozenset(inode for at, inode in _sockets(ESTABLISHED) if at == port and inode)


def unix_listeners(path: Path) -> frozenset[int]:
    """Inodes of the unix sockets that listen at `path`."""
    return frozenset(inode for state, inode in _unix(path) if state == int(LISTEN, 16))


def unix_accepted(path: Path) -> frozenset[int]:
    """Inodes of the server's ends of connections to `path`; one that no one accepted has none."""
    return frozenset(i for state, i in _unix(path) if state == int(ESTABLISHED, 16) and i)


def _unix(path: Path) -> list[tuple[int, int]]:
    """State and inode of each unix socket that is bound to `path`; accepted ones are as well.

    The kernel is asked by netlink, because /proc/net/unix has line feeds of a path as they are: a
    path could be followed by a socket that there is not. Where the file that is at `path` now has
    sockets, others of that name (in another mount namespace, or from before) are left out.
    """
    from pyroute2.netlink.diag import DiagSocket  # noqa: PLC0415  # a third of a second
    from pyroute2.netlink.exceptions import NetlinkError  # noqa: PLC0415

    try:
        here = path.stat().st_ino
        with DiagSocket() as asked:
            asked.bind()
            results = [*asked.get_sock_stats(family=socket.AF_UNIX)]
    except (OSError, NetlinkError):
        return []
    named = [one for one in results if one.get("UNIX_DIAG_NAME") == str(path)]
    same = [one for one in named if (one.get("UNIX_DIAG_VFS") or {}).get("udiag_vfs_ino") == here]
    return [(one["udiag_state"], one["udiag_ino"]) for one in same or named]


def owner(port: int, pids: Iterable[int]) -> int | None:
    """Which of `pids` has a socket that listens on `port`; None if none has.

    A port that answers proves nothing: between `free()` and the server's bind another program may
    have taken it, and its replies would be measured.
    """
    return holds(listeners(port), pids)


def holds(inodes: Iterable[int], pids: Iterable[int]) -> int | None:
    """The first of `pids` that has one of these sockets open; None if none has."""
    return next(_holders(inodes, pids), None)


def holders(inodes: Iterable[int], pids: Iterable[int]) -> tuple[int, ...]:
    """Which of `pids` have one of these sockets open."""
    return tuple(_holders(inodes, pids))


def _holders(inodes: Iterable[int], pids: Iterable[int]) -> Iterator[int]:
    wanted = {f"socket:[{inode}]" for inode in inodes}
    for pid in pids if wanted else ():
        if wanted & set(of_owner.open_files(pid) or ()):
            yield pid


def holder(port: int) -> str:
    """Who listens on `port`, for an error message: `nginx (process 812)`, or "another program"."""
    return holder_of(listeners(port))


def holder_of(inodes: Iterable[int]) -> str:
    """Who has one of these sockets, for an error message, as `holder` has it."""
    pid = holds(inodes, proc.pids())
    if pid is None:
        return "another program"
    try:
        name = Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        name = "a program that just ended"
    return f"{in_line(name)} (process {pid})"


def unreadable(pids: Iterable[int]) -> tuple[int, ...]:
    """Which of `pids` live, and may not be asked which files they have open."""
    return tuple(pid for pid in pids if of_owner.open_files(pid) is None)


def ask(address: Address, request: bytes, *, within_s: float, until: bytes) -> bytes | None:
    """Send one request on a fresh connection and read until `until` was seen.

    Returns:
        The reply; None if the server refuses, closes, is silent for `within_s`, or says too much:
        what listens there may be another program, which never comes to an end.
    """
    reply, most = bytearray(), len(until) + BESIDE_MAX
    end_s = time.monotonic() + within_s + WHOLE_S + len(until) / SLOWEST
    try:
        with socket.create_connection(address, timeout=within_s) as connection:
            connection.sendall(request)
            while len(reply) < len(until) or until not in reply:
                part = connection.recv(65536)
                if not part or len(reply) + len(part) > most or time.monotonic() > end_s:
                    return None
                reply += part
    except OSError:
        return None
    return bytes(reply)
