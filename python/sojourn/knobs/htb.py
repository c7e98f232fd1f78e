"""A hierarchical token bucket on one link: made, changed, found again by its handle, removed.

    root qdisc HTB H:0 ── class H:1, with the rate      u32: source port of the service → H:1
                          everything else goes past all classes, unlimited

A link that is one group's alone has no filter: all that leaves by it is in H:1.

H is drawn by lot and noted before; a root qdisc is removed only where it is HTB with that handle,
so it is certainly the lab's. With it go its class and its filter, and the link has what it had.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sojourn.knobs import net_space
from sojourn.places import network
from sojourn.places.ledger import Undone

ENTRY = "qdisc"
KIND = "htb"
ROOT = 0xFFFF_FFFF  # include/uapi/linux/pkt_sched.h: TC_H_ROOT
ETH_P_IP = 0x0800
PORT_AT = 20  # of the IPv4 header without options: the source port of TCP and UDP alike
PACKET_MAX = 65_536  # of loopback, or what a card is handed at once (GSO)
BURST_S = 0.01

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """One bucket: on which link, of which namespace (None: the lab's), and its handle's number.

    Attributes:
        space: number of a namespace that others made; `netns` is where it could be entered last.
    """

    link: str
    netns: Path | None
    major: int
    space: str = ""

    @property
    def handle(self) -> int:
        """The same as the kernel counts."""
        return self.major << 16

    def ask(self, act: Callable[[Any, int], Answer]) -> Answer:
        """Speak to the kernel of its namespace: `act` gets a netlink socket and the link number.

        Raises:
            OSError: the kernel refused; with ENODEV, link or namespace are gone.
        """

        def work() -> Answer:
            if self.space and net_space.are_one("thread-self", 1):
                raise PermissionError(errno.EPERM, "these are the machine's own links")
            with network.netlink() as route:
                result = route.link_lookup(ifname=self.link)
                if not result:
                    raise OSError(errno.ENODEV, f"there is no link {self.link}")
                return act(route, int(result[0]))

        if not self.space:
            return network.inside(self.netns, work) if self.netns else work()
        with net_space.opened(self.space, self.netns) as entrance:
            if entrance is None:
                raise OSError(errno.ENODEV, "the network namespace is gone")
            return network.inside(entrance, work)

    def facts(self) -> dict[str, object]:
        """What the book needs to undo it."""
        netns = "" if self.space else str(self.netns or "")
        return {"link": self.link, "netns": netns, "major": self.major, "space": self.space}


def root_of(bucket: Bucket) -> tuple[str, int]:
    """Kind and handle of the link's root qdisc; handle 0: the kernel's own."""

    def act(route: Any, index: int) -> tuple[str, int]:
        for one in route.get_qdiscs(index=index):
            if one["parent"] == ROOT:
                return str(one.get_attr("TCA_KIND")), int(one["handle"])
        return "", 0

    return bucket.ask(act)


def make(bucket: Bucket, port: int | None, bps: int = PACKET_MAX) -> None:
    """Make it, with the way into its class; OSError if refused.

    Args:
        bucket: that is made.
        port: whose packets are in the class; None: all that leave by the link.
        bps: rate until `set_rate` sets another, bytes/s.
    """

    def act(route: Any, index: int) -> None:
        handle = bucket.handle
        route.tc("add", KIND, index, handle, default=int(port is None))
        _class(route, index, "add-class", handle, bps)
        if port is None:
            return
        key = f"{port << 16:#010x}/0xffff0000+{PORT_AT}"
        route.tc(
            "add-filter",
            "u32",
            index,
            parent=handle,
            prio=1,
            protocol=ETH_P_IP,
            target=handle | 1,
            keys=[key],
        )

    bucket.ask(act)


def set_rate(bucket: Bucket, bps: int) -> None:
    """Set the class's rate, bytes/s; OSError if refused."""
    bucket.ask(lambda route, index: _class(route, index, "change-class", bucket.handle, bps))


def _class(route: Any, index: int, command: str, handle: int, bps: int) -> None:
    route.tc(
        command,
        KIND,
        index,
        handle | 1,
        parent=handle,
        rate=bps,
        ceil=bps,
        burst=burst_bytes(bps),
        cburst=burst_bytes(bps),
        mtu=PACKET_MAX,
        quantum=PACKET_MAX,
    )


def burst_bytes(bps: int) -> int:
    """What may be sent at once: 10 ms, and no less than two of the largest packets."""
    return max(2 * PACKET_MAX, int(bps * BURST_S))


def rate(bucket: Bucket) -> int:
    """The class's rate as the kernel tells it, bytes/s; 0: there is none."""

    def act(route: Any, index: int) -> int:
        for one in route.get_classes(index=index):
            if one["handle"] == bucket.handle | 1:
                options = one.get_attr("TCA_OPTIONS")
                wide = options.get_attr("TCA_HTB_RATE64")
                return int(wide or options.get_attr("TCA_HTB_PARMS")["rate"])
        return 0

    return bucket.ask(act)


def is_there(bucket: Bucket) -> bool:
    """Whether the link has this bucket; OSError if that cannot be seen."""
    if bucket.netns and not bucket.space and not network.is_mounted(bucket.netns):
        return False
    try:
        return root_of(bucket) == (KIND, bucket.handle)
    except OSError as error:
        if error.errno == errno.ENODEV:  # the link is gone, and all that was on it
            return False
        raise


def remove(bucket: Bucket) -> bool:
    """Remove it; whether it was there. OSError if refused."""
    if not is_there(bucket):
        return False
    try:
        bucket.ask(
            lambda route, index: route.tc("del", index=index, handle=bucket.handle, root=True)
        )
    except OSError:
        if is_there(bucket):  # else it went meanwhile
            raise
    return True


def undo(facts: Mapping[str, Any]) -> Undone | None:
    """Remove a bucket that a lab noted, if it is there."""
    netns = Path(str(facts["netns"])) if facts["netns"] else None
    if netns and netns.parent != network.RUN:
        raise ValueError(f"{netns} is not a network namespace of the lab's")
    space = str(facts.get("space", ""))
    if space and not net_space.NUMBER.fullmatch(space):
        raise ValueError(f"{space} is not the number of a network namespace")
    major = int(facts["major"])
    bucket = Bucket(link=str(facts["link"]), netns=netns, major=major, space=space)
    what = f"bandwidth limit on {bucket.link}"
    try:
        if not remove(bucket):
            return None
    except OSError as error:
        return Undone(what=what, how=f"cannot be removed: {error.strerror}", is_done=False)
    return Undone(what=what, how="removed", is_done=True)
