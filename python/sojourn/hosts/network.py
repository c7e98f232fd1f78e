"""The network's share of the time: round trips without a server process.

While load runs, an agent opens a connection to the service once a second and closes it. The
kernel on the other side answers the first packet before the service hears of it, and the own kernel
notes how long that took (`TCP_INFO`). So it is the way there and back with both kernels, without
the service and without delays of the agent itself.

A service that forks for each connection is not asked, because that would be load.
"""

from __future__ import annotations

import contextlib
import socket
import statistics
import struct
import threading
import time
from typing import Any
from urllib.parse import urlsplit

EVERY_S = 1.0
MOST = 3600
CONNECT_S_MAX = 1.0
FORKS = ("postgres", "postgresql")
PORTS = {"http": 80, "https": 443}
_RTT_AT = 68  # of `tcpi_rtt`, us, in struct tcp_info
_BYTES = 104


def place(target: str) -> tuple[str, int] | None:
    """Host and port of a target; None: it is not reached by TCP, or must not be asked.

    >>> place("memcache://10.0.0.1:11211"), place("null:"), place("postgres://h:5432/db")
    (('10.0.0.1', 11211), None, None)
    """
    with contextlib.suppress(ValueError):
        parts = urlsplit(target)
        port = parts.port or PORTS.get(parts.scheme)
        if parts.hostname and port and parts.scheme not in FORKS:
            return parts.hostname, port
    return None


def round_trip_ns(where: tuple[str, int]) -> int | None:
    """One round trip by the kernel's account; None: there is no connection."""
    with contextlib.suppress(OSError), socket.create_connection(where, CONNECT_S_MAX) as made:
        info = made.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES)
        return int(struct.unpack_from("I", info, _RTT_AT)[0]) * 1000
    return None


class RoundTrips:
    """Round trips while a load runs, in a thread of its own."""

    def __init__(self, target: str, begins_ns: int) -> None:
        """They begin at a time of the host's clock."""
        self.times_ns: list[int] = []
        self._where, self._begins_ns = place(target), begins_ns
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._go, name="round trips", daemon=True)
        if self._where is not None:
            self._thread.start()

    def _go(self) -> None:
        assert self._where is not None  # noqa: S101  # else there is no thread
        self._stop.wait(max(0.0, (self._begins_ns - time.monotonic_ns()) / 1e9))
        while not self._stop.is_set() and len(self.times_ns) < MOST:
            if (took_ns := round_trip_ns(self._where)) is not None:
                self.times_ns.append(took_ns)
            self._stop.wait(EVERY_S)

    def end(self) -> None:
        """Measure no more of them."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(2 * CONNECT_S_MAX)

    @property
    def table(self) -> dict[str, int] | None:
        """What they took; None: there was none."""
        times = sorted(self.times_ns)
        if not times:
            return None
        middle = round(statistics.median(times))
        return {"count": len(times), "min_ns": times[0], "p50_ns": middle, "max_ns": times[-1]}


def checked(table: Any) -> dict[str, int] | None:
    """What a client says of them, which a stranger may have made.

    Raises:
        ValueError, TypeError, LookupError: it is nothing of the kind.
    """
    if table is None:
        return None
    result = {key: int(table[key]) for key in ("count", "min_ns", "p50_ns", "max_ns")}
    if not 0 <= result["min_ns"] <= result["p50_ns"] <= result["max_ns"] or result["count"] < 1:
        raise ValueError("round trips that are in no order")
    return result
