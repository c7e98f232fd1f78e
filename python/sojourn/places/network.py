"""Network namespaces and the links between them: made, found again by name and address, removed.

What is made bears a name and a hardware address that the lab drew by lot and wrote down before; a
link is removed only where both are found, so it is certainly the lab's. Spoken to the kernel by
netlink (pyroute2); no `ip` is run.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Network
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from sojourn.disk import tables

RUN = Path("/run/netns")  # where `ip netns` looks as well
CLONE_NEWNET = 0x4000_0000  # include/uapi/linux/sched.h
MS_BIND, MNT_DETACH = 4096, 2  # include/uapi/linux/mount.h, include/linux/fs.h
TUN = Path("/dev/net/tun")
TUNSETIFF, TUNSETPERSIST = 0x4004_54CA, 0x4004_54CB  # include/uapi/linux/if_tun.h
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
SIOCSIFHWADDR, ARPHRD_ETHER = 0x8924, 1  # include/uapi/linux/sockios.h, if_arp.h
LIBC = ctypes.CDLL(None, use_errno=True)
ROUTE_BITS_MIN = 8  # a wider one is a default route in parts
PREFIX_BITS = 29  # six addresses: the bridge, the service, and room for a neighbour
#: Private ranges (RFC 1918), then the one that is kept for benchmarks (RFC 2544).
RANGES = tuple(
    map(IPv4Network, ("10.192.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15"))
)
TRIES = 64  # blocks looked at in each range

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A network interface by what it is known by again: its name and its hardware address."""

    name: str
    mac: str


def in_thread(act: Callable[[], Answer]) -> Answer:
    """Do something in a thread of its own, whose network namespace may differ from the lab's."""
    answers: list[Answer] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            answers.append(act())
        except BaseException as error:  # noqa: BLE001  # handed on to who asked
            failed.append(error)

    thread = threading.Thread(target=work, name="netns")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return answers[0]


def inside(path: Path, act: Callable[[], Answer]) -> Answer:
    """Do something inside the network namespace that is mounted at `path`."""

    def enter() -> Answer:
        with path.open("rb") as namespace:
            _call(LIBC.setns(namespace.fileno(), CLONE_NEWNET))
        return act()

    return in_thread(enter)


def make(path: Path) -> None:
    """Make a network namespace and mount it at `path`, which must not exist; OSError if refused."""
    path.parent.mkdir(mode=0o755, exist_ok=True)

    def work() -> None:
        _call(LIBC.unshare(CLONE_NEWNET))
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o444))
        own = b"/proc/thread-self/ns/net"
        _call(LIBC.mount(own, bytes(path), b"none", MS_BIND, None))

    in_thread(work)


def remove(path: Path) -> None:
    """Remove a network namespace, mounted or not yet; OSError if it is not let go."""
    if is_mounted(path):
        unmount(path)
    path.unlink(missing_ok=True)


def unmount(path: Path) -> None:
    """Unmount what is mounted at `path`; OSError if refused."""
    _call(LIBC.umount2(bytes(path), MNT_DETACH))


def mount_points(folder: Path) -> tuple[Path, ...]:
    """Where something is mounted in a folder, the last mount first."""
    every = [*tables.mounts(tables.text(tables.MOUNTS))]
    points = (Path(mount.point) for mount in reversed(every))
    return tuple(point for point in points if point.is_relative_to(folder))


def is_mounted(path: Path) -> bool:
    """Whether a namespace is mounted at `path`."""
    every = tables.mounts(tables.text(tables.MOUNTS))
    return any(mount.point == str(path) and mount.kind == "nsfs" for mount in every)


def _call(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@contextmanager
def netlink() -> Iterator[Any]:
    """Speak to the kernel of the thread's network namespace; what it refuses is an OSError."""
    from pyroute2 import IPRoute  # noqa: PLC0415  # a third of a second, for those who need it
    from pyroute2.netlink.exceptions import NetlinkError  # noqa: PLC0415

    try:
        with IPRoute() as route:
            yield route
    except NetlinkError as error:
        raise OSError(error.code, os.strerror(error.code)) from None


def add_bridge(link: Link) -> None:
    """Make a bridge; OSError if refused."""
    with netlink() as route:
        route.link("add", ifname=link.name, kind="bridge", address=link.mac)


def add_pair(outer: Link, inner: Link, namespace: Path) -> None:
    """Make a veth pair at once: one end here, the other in the namespace; OSError if refused."""
    with netlink() as route, namespace.open("rb") as there:
        peer = {"ifname": inner.name, "address": inner.mac, "net_ns_fd": there.fileno()}
        route.link("add", ifname=outer.name, kind="veth", address=outer.mac, peer=peer)


def add_tap(link: Link) -> None:
    """Make a tap that stays until it is deleted; OSError if refused.

    It has its address before it is made to stay, so that one without the noted address never does.
    """
    with TUN.open("r+b", buffering=0) as tun, socket.socket() as asked:
        request = struct.pack("16sH22x", link.name.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR)
        fcntl.ioctl(tun, TUNSETIFF, request)
        address = bytes.fromhex(link.mac.replace(":", ""))
        where = struct.pack("16sH6s16x", link.name.encode(), ARPHRD_ETHER, address)
        fcntl.ioctl(asked, SIOCSIFHWADDR, where)
        fcntl.ioctl(tun, TUNSETPERSIST, 1)


def join(bridge: Link, port: Link) -> None:
    """Put a link on a bridge, and bring it up."""
    with netlink() as route:
        route.link("set", index=_index(route, port.name), master=_index(route, bridge.name))
        route.link("set", index=_index(route, port.name), state="up")


def bring_up(name: str, address: str = "") -> None:
    """Bring a link of this namespace up, with an address in the lab's block if one is given."""
    with netlink() as route:
        index = _index(route, name)
        if address:
            route.addr("add", index=index, address=address, prefixlen=PREFIX_BITS)
        route.link("set", index=index, state="up")


def is_there(link: Link) -> bool:
    """Whether there is a link with this name and this hardware address."""
    with netlink() as route:
        return bool(_own_addresses(route, link))


def delete(link: Link) -> None:
    """Delete a link, if it is there and is the one that is meant; OSError if refused."""
    with netlink() as route:
        for index in _own_addresses(route, link):
            route.link("del", index=index)


def _own_addresses(route: Any, link: Link) -> list[int]:
    seen = (one for one in route.get_links() if one.get_attr("IFLA_IFNAME") == link.name)
    return [one["index"] for one in seen if one.get_attr("IFLA_ADDRESS") == link.mac]


def _index(route: Any, name: str) -> int:
    return int(route.link_lookup(ifname=name)[0])


def routed() -> tuple[IPv4Network, ...]:
    """Networks that this machine knows its way to, in all its tables; default routes left out.

    A VPN writes its default route in parts, such as 0.0.0.0/1 and 128.0.0.0/1, to come before the
    machine's own. No private range has fewer than eight bits.
    """
    with netlink() as route:
        seen = [(r.get_attr("RTA_DST"), r["dst_len"]) for r in route.get_routes(family=2)]
    return tuple(IPv4Network(f"{to}/{bits}") for to, bits in seen if to and bits >= ROUTE_BITS_MIN)


def free_block(taken: Iterable[IPv4Network], lot: int) -> IPv4Network | None:
    """A block of private addresses that overlaps with none that are taken.

    Args:
        taken: networks that addresses must not be taken from.
        lot: where to begin to look: labs that draw differently do not meet.

    Returns:
        The block; None if nothing is free.
    """
    others = tuple(taken)
    blocks = (block for wide in RANGES for block in islice(_blocks(wide, lot), TRIES))
    return next((b for b in blocks if not any(b.overlaps(other) for other in others)), None)


def _blocks(wide: IPv4Network, lot: int) -> Iterator[IPv4Network]:
    """Its blocks, from a drawn one on, far apart so that one wide route does not hide them all."""
    count = 1 << (PREFIX_BITS - wide.prefixlen)
    size = 1 << (32 - PREFIX_BITS)
    first, step = int(wide.network_address), count // TRIES + 1
    for nth in range(count):
        yield IPv4Network((first + (lot + nth * step) % count * size, PREFIX_BITS))
