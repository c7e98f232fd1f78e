"""How long a socket that has nothing to read looks into the card's queue itself, before it sleeps.

For the whole machine, by two sysctls: of reads (sockets that are opened from then on) and of poll,
select and epoll (at once). Loopback and veth have no queue to look into, so there it changes
nothing: a socket has it, and no more can be in force.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

from sojourn import units
from sojourn.knobs.knob import Asked, Felt, KnobKind, Lack
from sojourn.knobs.limit import no_effect
from sojourn.knobs.machine import Machine, only_read, unwritable

NAME = "busy_poll"
READ, POLL = "/proc/sys/net/core/busy_read", "/proc/sys/net/core/busy_poll"
MOST_US = 2**31 - 1
SO_BUSY_POLL = 46  # include/uapi/asm-generic/socket.h


class BusyPoll(Machine):
    """Busy polling of all sockets."""

    name, by = NAME, "sysctl, machine-wide"

    def read(self) -> str:
        """The time that reads have."""
        return f"{self._on.tree.number(READ) or 0}us"

    def wanted(self, level: str) -> Sequence[tuple[str, str]]:
        """The same time in both sysctls."""
        return files(level)

    def effect(self) -> Felt:
        """Ask a new socket for its time."""
        if not self._on.tree.is_live:
            return only_read("a fake machine cannot be probed")
        with socket.socket() as made:
            return judge(self._level, made.getsockopt(socket.SOL_SOCKET, SO_BUSY_POLL))


def files(level: str) -> tuple[tuple[str, str], ...]:
    """What a level writes: (path, text)."""
    text = str(units.parse_ns(level) // 1000)
    return ((READ, text), (POLL, text))


def judge(level: str, new_us: int) -> Felt:
    """Whether a new socket has the time; what it does cannot be seen on one host."""
    if new_us * 1000 != units.parse_ns(level) // 1000 * 1000:
        return no_effect(f"a new socket has {new_us} us")
    return only_read("new sockets have it; over loopback and veth there is no queue to look into")


def refuses(level: str) -> str:
    """Why the kernel, which counts in an int, takes no such time.

    >>> refuses("50us"), refuses("2147483648us")
    ('', 'the kernel counts to 2147483647us')
    """
    is_more = units.parse_ns(level) // 1000 > MOST_US
    return f"the kernel counts to {MOST_US}us" if is_more else ""


def lacks(asked: Asked) -> Lack | None:
    """A kernel that has it, and lets it be set."""
    if asked.tree.exists(READ):
        return unwritable(asked, files(asked.level))
    return Lack(missing="busy polling", fix="a kernel with CONFIG_NET_RX_BUSY_POLL")


KIND = KnobKind(
    name=NAME,
    about="how long sockets look into a card's queue themselves before they sleep",
    level='a time, such as "50us"; "0us" is off',
    pattern=r"\d+us",
    needs=("root", "CONFIG_NET_RX_BUSY_POLL", "a card, to be of use"),
    source="METHOD M25",
    refuses=refuses,
    lacks=lacks,
    build=BusyPoll,
)
