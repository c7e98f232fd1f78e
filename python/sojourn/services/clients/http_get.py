"""One GET of a path, as the generator asks for it.

Each is one fresh connection. A reply has to end in time, in however small parts it comes.
"""

from __future__ import annotations

import contextlib
import io
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from typing import TYPE_CHECKING, Any, cast

from sojourn.places.ports import Address
from sojourn.services.clients import connect, http1, http2
from sojourn.services.clients.where import HTTP2, SECURED, Where

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

USUAL_S = 5.0  # a part of a reply may take, where no one says otherwise
ENDLESS = "begins a reply that does not end"  # in faults
WHOLE_S = 10.0  # a reply may take: one without an end, such as a stream of events, never comes


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
    with _connected(where, within_s) as connection:
        began_s = time.monotonic()
        connection.sendall(http1.request(path, where.named))
        with io.BufferedReader(_Bounded(connection, within_s, whole_s(within_s))) as file:
            reply = http1.reply(file)
        return Got(
            status=reply.status,
            body_bytes=reply.body_bytes,
            took_s=time.monotonic() - began_s,
            location=reply.header("location"),
            wants=", ".join(reply.headers.get("www-authenticate", ())),
        )


def text(address: Address, path: str, within_s: float, most: int) -> tuple[int, str]:
    """Status and body of a page in HTTP/1.

    Args:
        address: of the server.
        path: that is asked for.
        within_s: how long a part of the reply may take, s.
        most: bytes of the body that are read.

    Returns:
        (0, ""): it is refused, silent for `within_s`, not HTTP, or does not end in time.
    """
    where = Where(scheme="http", host=address.host, port=address.port)
    try:
        with _connected(where, within_s) as connection:
            connection.sendall(http1.request(path, where.named))
            with io.BufferedReader(_Bounded(connection, within_s, whole_s(within_s))) as file:
                reply = HTTPResponse(cast("socket.socket", _Read(file)))
                reply.begin()
                return reply.status, reply.read(most).decode(errors="replace")
    except (OSError, HTTPException, ValueError):  # ValueError: of a header that is no number
        return 0, ""


@dataclass(frozen=True, slots=True)
class _Read:
    """A socket, as far as the standard library reads replies from one."""

    file: io.BufferedReader[Any]

    def makefile(self, mode: str) -> io.BufferedReader[Any]:
        """Where what it says is read from."""
        del mode
        return self.file


class _Bounded(io.RawIOBase):
    """What comes from a socket until an instant, in however small parts it comes."""

    def __init__(self, connection: socket.socket, within_s: float, whole_s: float) -> None:
        self._connection = connection
        self._raw = connection.makefile("rb", buffering=0)
        self._within_s, self._whole_s = within_s, whole_s
        self._until_s = time.monotonic() + whole_s
        self._has_begun = False

    def readable(self) -> bool:
        return True

    def readinto(self, into: WriteableBuffer) -> int | None:
        """The next bytes; TimeoutError if there are none in time."""
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(f"{ENDLESS} in {self._whole_s:g} s")
        self._connection.settimeout(min(self._within_s, left_s))
        try:
            count = self._raw.readinto(into)
        except TimeoutError:
            if not self._has_begun:
                raise
            raise TimeoutError(f"{ENDLESS}: {self._within_s:g} s without more of it") from None
        self._has_begun = self._has_begun or bool(count)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


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
def _connected(where: Where, within_s: float) -> Iterator[socket.socket]:
    """A connection over TCP, TLS or a unix socket."""
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(connect.connected(where, within_s))
        made.settimeout(within_s)
        if where.scheme == "https":
            context = connect.tls_context(identity=where.identity)
            secured = context.wrap_socket(made, server_hostname=where.server_name)
            made = stack.enter_context(secured)
        yield made
