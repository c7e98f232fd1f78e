"""How fast a service may send (HTB with a u32 filter on its port; C25).

On the link that its replies leave by: the inner end of its place's veth pair, or loopback. Loopback
gets a queue by that which it has not otherwise: everybody's packets take its lock, so in a network
namespace of its own the price is the service's alone (`place = "netns"`). One service at a time on
loopback.

It is felt by datagrams from the service's own port number, which the filter sends the same way. As
many from another port, which nothing holds up, show how fast a probe can be at all: a rate that it
does not exceed then cannot be in force.
"""

from __future__ import annotations

import secrets
import socket
import time
from dataclasses import replace
from functools import partial
from ipaddress import IPv4Address

from sojourn import units
from sojourn.errors import HostFault
from sojourn.host import rights
from sojourn.knobs import htb
from sojourn.knobs.htb import Bucket
from sojourn.knobs.knob import Asked, Felt, Knob, KnobKind, Lack, Turned
from sojourn.knobs.limit import NONE, no_effect
from sojourn.places import network

NAME = "egress"
INNER, LOOPBACK = "eth0", "lo"
MAJORS = range(0x1000, 0x7FFF)  # of handles that no one gives by habit
WINDOW_S = 0.4
SLACK = 1.1
REACHED = 0.5  # of the limit: what is slower was not held up by it
TOLERANCE = 0.01  # the kernel keeps rates in bytes/s, as told; the tables round
LEAST_BPS = 1_000  # the kernel's table counts how long a burst takes, in 32 bits of 64 ns
MOST_BPS = 2**64 - 1
NET_ADMIN = 12


class Egress(Knob):
    """The bandwidth that one service sends with."""

    def __init__(self, on: Turned) -> None:
        self._on = on
        self._level = ""
        self._bucket: Bucket | None = None
        self._entry = 0
        self._effect: Felt | None = None

    @property
    def by(self) -> str:
        """HTB, and on which link."""
        return f"htb on {INNER if self._on.netns else LOOPBACK}"

    @property
    def bucket(self) -> Bucket | None:
        """What the rate is set on, while there is a limit; None before."""
        return self._bucket

    def read(self) -> str:
        """The rate in force; "none" without."""
        bps = htb.rate(self._bucket) if self._bucket else 0
        return f"{bps / 1e6:.9g}MB/s" if bps else NONE

    def apply(self, level: str) -> None:
        """Make the bucket, if it is not there yet, and set its rate."""
        if level == NONE:
            self.restore()
            self._level = level
            return
        try:
            bucket = self._bucket or self._made()
            htb.set_rate(bucket, bps_of(level))
        except OSError as error:
            self.restore()
            raise HostFault(
                f"{self._on.label} cannot be left {level} to send: {error.strerror}",
                at=self._on.at(NAME),
                fix='run as root, on a kernel with htb and u32; place = "netns" has its own link',
            ) from None
        self._level, self._effect = level, None

    def _made(self) -> Bucket:
        link = INNER if self._on.netns else LOOPBACK
        bucket = Bucket(link=link, netns=self._on.netns, major=secrets.choice(MAJORS))
        kind, handle = htb.root_of(bucket)
        if handle:
            raise OSError(0, f"{link} has a qdisc {kind} already, which is not the lab's to change")
        self._bucket = bucket
        self._entry = self._on.book.note(htb.ENTRY, **bucket.facts())
        htb.make(bucket, self._on.port)
        return bucket

    def verify(self) -> Felt:
        """Whether the bucket has that rate, and datagrams from the port are held to it."""
        if self._level in {"", NONE}:
            return Felt(holds=None, why="there is no limit to be measured")
        bucket, bps = self._bucket, bps_of(self._level)
        if bucket is None or not htb.is_there(bucket):
            return Felt(holds=False, why="the bucket is gone")
        result = htb.rate(bucket)
        if abs(result - bps) > TOLERANCE * bps:
            return Felt(holds=False, why=f"the kernel says {result / 1e6:.3g} MB/s")
        if self._effect is None:
            self._effect = self._probed(bps)
        return self._effect

    def _probed(self, bps: int) -> Felt:
        try:
            sent, took_s = send(self._on)
            free, free_s = send(replace(self._on, port=0))
        except OSError as error:
            return Felt(holds=None, why=f"it reads back, but no probe could send: {error.strerror}")
        return judge(bps, sent, took_s, free=free, free_s=free_s)

    def restore(self) -> None:
        """Remove the bucket; the link has what it had."""
        if self._bucket is not None:
            try:
                htb.remove(self._bucket)
            except OSError:
                return  # its entry stays in the book
            self._on.book.undone(self._entry)
        self._bucket, self._level = None, ""


def judge(bps: int, sent: int, took_s: float, *, free: int, free_s: float) -> Felt:
    """Whether a sender is held to a rate.

    Args:
        bps: the limit, bytes/s.
        sent: bytes that left, or wait in the sender's own buffer.
        took_s: in what time.
        free: bytes that one without a limit sent.
        free_s: in what time.
    """
    text = f"a probe sent {sent / took_s / 1e6:.3g} MB/s where {bps / 1e6:.3g} are allowed"
    if sent > most_bytes(bps, took_s):
        return no_effect(text)
    if free <= most_bytes(bps, free_s):
        why = f"not measured: without a limit it sends {free / free_s / 1e6:.3g} MB/s"
        return Felt(holds=None, why=f"it reads back; {text}: {why}")
    if sent < REACHED * bps * took_s:
        return Felt(holds=None, why=f"it reads back; {text}: too slow to be held up")
    return Felt(holds=True, why=text)


#: What may wait in the sender's buffer, which counts overheads: bytes.
BUFFER = 1 << 17


def most_bytes(bps: int, took_s: float) -> float:
    """What may have been sent in a time, with what may be sent at once or waits in the buffer."""
    return SLACK * bps * took_s + htb.burst_bytes(bps) + BUFFER


def send(on: Turned) -> tuple[int, float]:
    """Send datagrams from the service's port (0: any other) as fast as the link takes them.

    Returns:
        Bytes, and how long it took, s.

    Raises:
        OSError: the port is not free for datagrams, or nothing leads there.
    """
    outside = str(IPv4Address(on.host) - 1) if on.netns else on.host  # the bridge, see `netns`
    size = 1_400 if on.netns else 32_000  # a fragment would bear no port
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sink:
        sink.bind((outside, 0))
        act = partial(_send, (on.host, on.port), sink.getsockname(), size)
        return network.inside(on.netns, act) if on.netns else act()


def _send(own: tuple[str, int], to: tuple[str, int], size: int) -> tuple[int, float]:
    block, sent = bytes(size), 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER // 2)
        sender.settimeout(WINDOW_S)
        sender.bind(own)
        began = time.monotonic()
        while time.monotonic() < began + WINDOW_S:
            try:
                sent += sender.sendto(block, to)
            except TimeoutError:
                break
        return sent, time.monotonic() - began


def bps_of(level: str) -> int:
    """Bytes a second of a level.

    >>> bps_of("10MB/s"), bps_of("100Mbit/s")
    (10000000, 12500000)
    """
    if level.endswith("bit/s"):
        return round(units.parse_count(level.removesuffix("bit/s")) / 8)
    return units.parse_bytes(level.removesuffix("/s"))


def refuses(level: str) -> str:
    """Why no link takes it.

    >>> refuses("0Mbit/s"), refuses("1Mbit/s"), refuses("none")
    ('a limit is 1000 bytes a second at least', '', '')
    """
    if level == NONE:
        return ""
    bps = bps_of(level)
    if bps < LEAST_BPS:
        return f"a limit is {LEAST_BPS} bytes a second at least"
    return "the kernel counts bytes a second to 2^64 - 1" if bps > MOST_BPS else ""


def lacks(asked: Asked) -> Lack | None:
    """The right to shape a link."""
    return (
        None
        if rights.has(asked.tree, NET_ADMIN)
        else Lack(missing="the right to shape a link (CAP_NET_ADMIN)", fix=rights.fix(asked.tree))
    )


KIND = KnobKind(
    name=NAME,
    about="bytes a second that a service may send (HTB on the link of its place)",
    level='"10MB/s", "100Mbit/s" or "none"',
    pattern=r"none|\d+(\.\d+)?([kMG]i?B|[kMG]bit)/s",
    needs=("root (CAP_NET_ADMIN)", "a kernel with htb and u32"),
    source="C25, and M23",
    refuses=refuses,
    lacks=lacks,
    build=Egress,
    undo={htb.ENTRY: htb.undo},
)
