"""Addresses of a host, with a deadline, because a name server may hang.

The C library waits for its name servers as long as /etc/resolv.conf says, which may be minutes. So
it is asked in a thread, and whoever wants the address goes on without it.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import Any, TypeAlias

#: As getaddrinfo(3) answers: family, kind, protocol, name, address.
Address: TypeAlias = tuple[int, int, int, str, Any]


class Names:
    """Asks for one host and port; no more than one question is under way."""

    def __init__(self, host: str, port: int) -> None:
        """No name server was asked yet."""
        self._host, self._port = host, port
        self._asking: threading.Thread | None = None
        self._answer: list[Address] | OSError | None = None

    def addresses(self, within_s: float) -> list[Address]:
        """All of them; OSError if there is none, or none in time.

        An address in digits is no question for a name server, and costs no thread.
        """
        with contextlib.suppress(OSError, UnicodeError):
            return self._asked(socket.AI_NUMERICHOST)
        if self._asking is None or not self._asking.is_alive():
            self._answer = None
            self._asking = threading.Thread(target=self._ask, daemon=True)
            self._asking.start()
        self._asking.join(within_s)
        if self._answer is None:
            raise TimeoutError(f"no name server has answered for {self._host} in time")
        if isinstance(self._answer, OSError):
            raise self._answer
        return self._answer

    def _ask(self) -> None:
        try:
            self._answer = self._asked(0)
        except (OSError, UnicodeError) as error:
            self._answer = error if isinstance(error, OSError) else OSError(str(error))

    def _asked(self, flags: int) -> list[Address]:
        kind = socket.SOCK_STREAM
        return [*socket.getaddrinfo(self._host, self._port, type=kind, flags=flags)]


def connected(addresses: list[Address], within_s: float) -> socket.socket:
    """A connection to the first that takes one; OSError if none does, all of them in this time."""
    why, until_s = OSError("there is no address"), time.monotonic() + within_s
    for family, kind, protocol, _, address in addresses:
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("none of its addresses takes a connection in time")
        wire = socket.socket(family, kind, protocol)
        try:
            wire.settimeout(left_s)
            wire.connect(address)
        except OSError as error:
            wire.close()
            why = error
        else:
            return wire
    raise why
