"""The CPUs that take packets in, for what arrives over loopback (RPS; C23).

Over loopback a packet is taken in by the CPU that sent it, unless receive packet steering hands it
to others: with it the softirq work of a service can be put beside its threads or on top of them, as
the queues of a card would. Only on loopback: the receive queue of a service in a network namespace
of its own is not seen from outside. (XPS needs several transmit queues, which loopback has not.)

It is measured by datagrams that are sent from a CPU that is not among these.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence

from sojourn.disk import tables
from sojourn.host.tree import Tree, cpu_list, cpu_text
from sojourn.knobs import settings
from sojourn.knobs.knob import ONLINE, Asked, Felt, KnobKind, Lack, backwards, offline
from sojourn.knobs.limit import NONE, no_effect
from sojourn.knobs.machine import Machine, only_read, unwritable

NAME = "rps"
PATH = "/sys/class/net/lo/queues/rx-0/rps_cpus"
LOCAL = "local"
PACKETS = 2000
MOST = 0.5  # of the packets
TAKEN_S_MAX = 0.3


class Rps(Machine):
    """Receive packet steering of loopback."""

    name, by = NAME, "sysfs, loopback"

    def kind(self, path: str) -> str:
        """The file holds a mask."""
        del path
        return settings.FILE

    def read(self) -> str:
        """CPUs that packets are steered to; "none" where they are not."""
        return cpu_text(settings.file_cpus(PATH, self._on.tree.text(PATH) or "0")) or NONE

    def wanted(self, level: str) -> Sequence[tuple[str, str]]:
        """The one queue that loopback has."""
        return files(level)

    def effect(self) -> Felt:
        """Send datagrams from a CPU outside of the level."""
        wanted = () if self._level == NONE else cpu_list(self._level)
        others = sorted({*_online(self._on.tree)} - {*wanted})
        if not wanted or not others or not self._on.tree.is_live:
            return only_read("there is no other CPU to send from" if wanted else "no steering")
        before = processed(self._on.tree)
        _send_from(others[0])
        until = time.monotonic() + TAKEN_S_MAX  # a CPU that is busy takes them in when it can
        while (the_effect := self._judged(before, wanted, others[0])).holds is not True and (
            time.monotonic() < until
        ):
            time.sleep(0.01)
        return the_effect

    def _judged(self, before: Mapping[int, int], wanted: Sequence[int], sender: int) -> Felt:
        now = processed(self._on.tree)
        return judge(wanted, sender, {cpu: now[cpu] - before.get(cpu, 0) for cpu in now})


def files(level: str) -> tuple[tuple[str, str], ...]:
    """What a level writes: (path, text)."""
    return ((PATH, "" if level == NONE else cpu_text(cpu_list(level))),)


def judge(wanted: Sequence[int], sender: int, taken: dict[int, int]) -> Felt:
    """Whether packets that were sent elsewhere were taken in by the CPUs that should.

    Not steered, all of them are taken in by the CPU that sent them: fewer there than were sent is
    the proof that they were. With so much traffic of others beside them nothing can be known.

    Args:
        wanted: CPUs.
        sender: CPU that they were sent from.
        taken: packets that each CPU took in meanwhile, those of others included.
    """
    there = sum(count for cpu, count in taken.items() if cpu in wanted)
    stayed = taken.get(sender, 0)
    text = f"{there} packets were taken in there and {stayed} where {PACKETS} were sent"
    if stayed < PACKETS:
        return Felt(holds=True if there >= MOST * PACKETS else None, why=text)
    return no_effect(text) if there < MOST * PACKETS else Felt(holds=None, why=text)


def processed(tree: Tree) -> dict[int, int]:
    """Packets that each CPU has taken in or had no room for so far (/proc/net/softnet_stat)."""
    rows = [line.split() for line in tables.lines(tree.text("/proc/net/softnet_stat") or "")]
    return {
        int(row[12], 16) if len(row) > 12 else number: int(row[0], 16) + int(row[1], 16)
        for number, row in enumerate(rows)
    }


def _send_from(cpu: int) -> None:
    home = os.sched_getaffinity(0)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here,
    ):
        there.bind(("127.0.0.1", 0))
        os.sched_setaffinity(0, {cpu})
        try:
            for _ in range(PACKETS):
                here.sendto(b"x", there.getsockname())
        finally:
            os.sched_setaffinity(0, home)


def _online(tree: Tree) -> tuple[int, ...]:
    return cpu_list(tree.text(ONLINE))


def lacks(asked: Asked) -> Lack | None:
    """A kernel that steers, a place that it is seen from, and CPUs that are online."""
    if asked.place != LOCAL:
        return Lack(missing=f"a view of the queues of place {asked.place}", fix='place = "local"')
    if not asked.tree.exists(PATH):
        return Lack(missing="receive packet steering", fix="a kernel with CONFIG_RPS")
    lack = offline(asked.tree, asked.level)
    return lack or unwritable(asked, files(asked.level), kind=settings.FILE)


KIND = KnobKind(
    name=NAME,
    about="the CPUs that take in what arrives over loopback (receive packet steering)",
    level='CPUs, such as "0" or "0-1"; "server", "client" or "lab": theirs; or "none"',
    pattern=r"none|server|client|lab|\d+(-\d+)?(,\d+(-\d+)?)*",
    needs=("root", "CONFIG_RPS", "place local"),
    source="C23",
    refuses=backwards,
    lacks=lacks,
    label=lambda level: (
        "packets where they arrive"
        if level == "none"
        else f"packets on CPUs of the {level}"
        if level.isalpha()
        else f"packets on CPU {level}"
    ),
    build=Rps,
)
