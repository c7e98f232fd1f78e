"""A few words with a server, before any load: who speaks there, and does it answer as it should?

Each question is one fresh connection and a short wait. What comes back is classified by its first
bytes, whatever was asked: a server says what it is best by how it refuses what it does not know.
"""

from __future__ import annotations

import contextlib
import errno
import http
import http.client
import io
import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from sojourn.services.clients import http2
from sojourn.services.clients.where import HTTP2, SECURED, Where

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CONNECT_S = 2.0
GREETS_S = 0.15  # those that speak first do so at once
ANSWERS_S = 0.5
USUAL_S = 5.0  # a part of a reply may take, where no one says otherwise
WHOLE_S = 10.0  # a reply may take: one without an end, such as a stream of events, never comes
HEARD_MAX = 4096
INTERIM = range(100, 200)  # statuses of replies that another one follows
PART_BYTES = 65_536
PING = b"*1\r\n$4\r\nPING\r\n"
VERSION = b"version\r\n"
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
SSL_REQUEST = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"  # PostgreSQL, "Message Formats"
SSL_REPLIES = (b"S", b"N")
HTTP, RESP, MEMCACHE, TLS = "http", "resp", "memcache", "tls"
#: What it is → its name for people.
NAMES = {
    HTTP: "HTTP/1",
    RESP: "RESP (Redis)",
    MEMCACHE: "memcache",
    TLS: "TLS",
    "http2": "HTTP/2",
    "ssh": "SSH",
    "smtp": "SMTP or FTP",
    "imap": "IMAP",
    "mysql": "MySQL",
    "postgres": "PostgreSQL",
}
#: Of several addresses that cannot be reached, which error says most: nothing listens there, no
#: port of this machine is free, it did not answer in time; others say only that there is no way.
_TELLING = {errno.ECONNREFUSED: 0, errno.EADDRNOTAVAIL: 1, errno.EMFILE: 2, 0: 3}
_PLAIN_TO_TLS = (b"HTTPS port", b"HTTPS server", b"over a TLS", b"SSL-enabled")


def connected(where: Where, within_s: float = CONNECT_S) -> socket.socket:
    """A connection to it, by the first of its addresses that takes one.

    Raises:
        OSError: nothing listens there, or the name represents no address.
    """
    if where.socket is not None:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.settimeout(within_s)
        try:
            made.connect(str(where.socket))
        except OSError:
            made.close()
            raise
        return made
    try:
        return socket.create_connection((where.host, where.port), timeout=within_s, all_errors=True)
    except ExceptionGroup as group:  # one for each address of the name
        each = [error for error in group.exceptions if isinstance(error, OSError)]
        raise min(each, key=lambda error: _TELLING.get(error.errno or 0, len(_TELLING))) from None


def say(where: Where, words: bytes, within_s: float = ANSWERS_S) -> bytes:
    """Say something on a fresh connection, and hear what comes until it is quiet.

    Returns:
        At most some kilobytes; b"" if it is silent, hangs up, or cannot be reached.
    """
    heard = b""
    try:
        with connected(where) as connection:
            connection.settimeout(within_s)
            if words:
                connection.sendall(words)
            while len(heard) < HEARD_MAX and (part := connection.recv(HEARD_MAX)):
                heard += part
                connection.settimeout(GREETS_S)
    except OSError:
        return heard
    return heard


def classified(heard: bytes) -> str:  # noqa: PLR0911  # a table of first bytes
    """Who says such a thing: a key of `NAMES`; "" if it is not known.

    >>> classified(b"-ERR unknown command"), classified(b"SSH-2.0-OpenSSH"), classified(b"?")
    ('resp', 'ssh', '')
    """
    if heard.startswith(b"HTTP/1."):
        return TLS if any(text in heard for text in _PLAIN_TO_TLS) else HTTP
    if heard[:1] in {b"\x14", b"\x15", b"\x16"} and heard[1:2] == b"\x03":
        return TLS
    if heard.startswith((b"ERROR\r\n", b"VERSION ", b"CLIENT_ERROR", b"SERVER_ERROR")):
        return MEMCACHE
    if heard.startswith((b"+PONG", b"-ERR", b"-NOAUTH", b"-DENIED", b"-NOPERM", b"-LOADING")):
        return RESP
    if len(heard) >= 9 and heard[3:4] == b"\x04" and heard[5:9] == bytes(4):
        return "http2"  # a SETTINGS frame of stream 0, RFC 9113, 6.5
    greetings = {b"SSH-": "ssh", b"220": "smtp", b"* OK": "imap"}
    for begins, name in greetings.items():
        if heard.startswith(begins):
            return name
    return "mysql" if len(heard) > 5 and heard[3:5] == b"\x00\x0a" else ""


def recognise(where: Where) -> tuple[str, bytes]:
    """What is spoken there, and the first bytes that were heard; ("", …) if it cannot be told."""
    first = b""
    for words, within_s in (
        (b"", GREETS_S),
        (GET, ANSWERS_S),
        (PING, ANSWERS_S),
        (VERSION, ANSWERS_S),
        (_client_hello(), ANSWERS_S),
    ):
        heard = say(where, words, within_s)
        first = first or heard
        if name := classified(heard):
            return name, heard
    if say(where, SSL_REQUEST) in SSL_REPLIES:
        return "postgres", first
    return "", first


def refusal(where: Where) -> str:
    """How a server ends a TLS connection on which nothing was asked; "" if it leaves it open.

    A client that it does not know has made its handshake by then, and may have written a request,
    whose loss hides what the server reported.
    """
    context = _context(http2.ALPN, "http/1.1", identity=where.identity)
    try:
        with (
            connected(where) as made,
            context.wrap_socket(made, server_hostname=where.host) as secured,
        ):
            secured.settimeout(ANSWERS_S)
            secured.recv(1)
    except OSError as error:
        return str(error)
    return ""


def _client_hello() -> bytes:
    """The first bytes of a TLS connection."""
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        _context().wrap_bio(into, out, server_hostname="localhost").do_handshake()
    return out.read()


def _context(*protocols: str, identity: Sequence[str] = ()) -> ssl.SSLContext:
    """One that trusts everybody: what is asked is whether it answers; the generator is strict."""
    context = ssl.create_default_context()
    if identity:
        context.load_cert_chain(*identity)
    if protocols:
        context.set_alpn_protocols(list(protocols))
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


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
    with _in_http2(where, within_s) as connection:
        scheme, began_s = "https" if where.scheme in SECURED else "http", time.monotonic()
        status, body = http2.ask(
            connection, where.named, path, scheme=scheme, whole_s=whole_s(within_s)
        )
        return status, body, time.monotonic() - began_s


def greets_in_http2(where: Where, within_s: float) -> bool:
    """Whether it answers the preface of HTTP/2 with its own.

    Raises:
        OSError: it cannot be reached, hangs up, or is silent for that long.
        http.client.HTTPException: over TLS it did not agree on HTTP/2.
    """
    with _in_http2(where, within_s) as connection:
        return http2.greets(connection)


@contextlib.contextmanager
def _in_http2(where: Where, within_s: float) -> Iterator[socket.socket]:
    """A connection on which HTTP/2 may be spoken at once."""
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(connected(where, within_s))
        if where.scheme in SECURED:
            secured = _context(http2.ALPN, identity=where.identity).wrap_socket(
                made, server_hostname=where.host
            )
            made = stack.enter_context(secured)
            if secured.selected_alpn_protocol() != http2.ALPN:
                why = "it does not agree on HTTP/2 over TLS (ALPN)"
                raise http.client.HTTPException(why)
        made.settimeout(within_s)
        yield made


@contextlib.contextmanager
def _asking(where: Where, within_s: float) -> Iterator[http.client.HTTPConnection]:
    """An HTTP connection over TCP, TLS or a unix socket."""
    made = http.client.HTTPConnection(where.host or "localhost", where.port or 80)
    made.response_class = _Reply
    made.sock = connected(where, within_s)
    if where.scheme == "https":
        try:
            made.sock = _context(identity=where.identity).wrap_socket(
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
