"""One GET of a path, as the generator asks for it.

Each is one fresh connection. A reply has to end in time, in however small parts it comes.
"""

from __future__ import annotations

import contextlib
import http
import http.client
import io
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from sojourn.services.clients import connect, http2
from sojourn.services.clients.where import HTTP2, SECURED, Where

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

USUAL_S = 5.0  # a part of a reply may take, where no one says otherwise
WHOLE_S = 10.0  # a reply may take: one without an end, such as a stream of events, never comes
INTERIM = range(100, 200)  # statuses of replies that another one follows
PART_BYTES = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """A reply to one GET.

    Attributes:
        body_bytes: of the body as it came.
        took_s: from the request to the end of the body, s; connecting does not count.
        location: of a redirection; wants: what a server that refuses asks for.
    """

    status: int
    body_bytes: int
    took_s: float = 0.0
    location: str = ""
    wants: str = field(default="")


def get(where: Where, path: str, within_s: float) -> Got:
    """Ask for a path as the generator does, in the version of HTTP that the scheme names.

    Raises:
        OSError: it cannot be reached, hangs up, or is silent for that long.
        TimeoutError: its reply does not end in time (`whole_s`).
        http.client.HTTPException: what came back is not that version.
    """
    if where.scheme in HTTP2:
        status, body, took_s = _asked_in_http2(where, path, within_s)
        return Got(status=status, body_bytes=len(body), took_s=took_s)
    with _asking(where, within_s) as connection:
        began_s = time.monotonic()
        # No coding is asked for: the length must be the one that the generator will see.
        connection.putrequest("GET", path, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", where.named)
        connection.putheader("User-Agent", "sojourn")
        connection.putheader("Accept", "*/*")
        connection.endheaders()
        reply = connection.getresponse()
        return Got(
            status=reply.status,
            body_bytes=sum(map(len, iter(lambda: reply.read1(PART_BYTES), b""))),
            took_s=time.monotonic() - began_s,
            location=reply.getheader("Location", ""),
            wants=reply.getheader("WWW-Authenticate", ""),
        )


class _Reply(http.client.HTTPResponse):
    """A reply whose interim ones (1xx) are passed over; the library itself knows only 100.

    RFC 9110, 15.2: there may be any number of them, of any status. 101 is the last word on the
    connection, in another protocol.
    """

    def begin(self) -> None:
        """Read heads until the one of the reply itself."""
        super().begin()
        while self.status in INTERIM and self.status != http.HTTPStatus.SWITCHING_PROTOCOLS:
            self.headers = self.msg = None  # type: ignore[assignment]  # else it has begun
            super().begin()


class _Bounded(io.RawIOBase):
    """What comes from a socket until an instant, in however small parts it comes."""

    def __init__(self, connection: socket.socket, within_s: float, whole_s: float) -> None:
        self._connection = connection
        self._raw = connection.makefile("rb", buffering=0)
        self._within_s, self._whole_s = within_s, whole_s
        self._until_s = time.monotonic() + whole_s

    def readable(self) -> bool:
        return True

    def readinto(self, into: WriteableBuffer) -> int | None:
        """The next bytes; TimeoutError if there are none in time."""
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(f"a reply that does not end in {self._whole_s:g} s")
        self._connection.settimeout(min(self._within_s, left_s))
        return self._raw.readinto(into)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Connection:
    """A socket as `http.client` uses one, whose reply has to end in time."""

    def __init__(self, connection: socket.socket, within_s: float) -> None:
        self._connection, self._within_s = connection, within_s
        connection.settimeout(within_s)
        self.sendall, self.close = connection.sendall, connection.close

    def makefile(self, _mode: str) -> io.BufferedReader:
        """The reply as a file."""
        return io.BufferedReader(
            _Bounded(self._connection, self._within_s, whole_s(self._within_s))
        )


def whole_s(within_s: float) -> float:
    """How long a reply may take to its end, s, for one who waits `within_s` for each part."""
    return WHOLE_S + max(0.0, within_s - USUAL_S)


def page(where: Where, path: str, within_s: float) -> bytes | None:
    """The body of a path in HTTP/2; None if the status is not 200.

    Raises:
        OSError: it cannot be reached, hangs up, or is silent for that long.
        http.client.HTTPException: what came back is not HTTP/2.
    """
    status, body, _ = _asked_in_http2(where, path, within_s)
    return body if status == 200 else None


def _asked_in_http2(where: Where, path: str, within_s: float) -> tuple[int, bytes, float]:
    """Status, body, and how long they took, s."""
    with connect.connected_in_http2(where, within_s) as connection:
        scheme, began_s = "https" if where.scheme in SECURED else "http", time.monotonic()
        status, body = http2.ask(
            connection, where.named, path, scheme=scheme, whole_s=whole_s(within_s)
        )
        return status, body, time.monotonic() - began_s


@contextlib.contextmanager
def _asking(where: Where, within_s: float) -> Iterator[http.client.HTTPConnection]:
    """An HTTP connection over TCP, TLS or a unix socket."""
    made = http.client.HTTPConnection(where.host or "localhost", where.port or 80)
    made.response_class = _Reply
    made.sock = connect.connected(where, within_s)
    if where.scheme == "https":
        try:
            made.sock = connect.tls_context(identity=where.identity).wrap_socket(
                made.sock, server_hostname=where.host
            )
        except OSError:
            made.sock.close()
            raise
    try:
        made.sock = cast("socket.socket", _Connection(made.sock, within_s))
        yield made
    finally:
        made.close()
