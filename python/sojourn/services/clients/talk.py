"""A few words with a server, before any load: who speaks there, and does it answer as it should?

Each question is one fresh connection and a short wait. What comes back is classified by its first
bytes, whatever was asked: a server says what it is best by how it refuses what it does not know.
"""

from __future__ import annotations

import contextlib
import ssl
import time

from sojourn.services.clients import connect, http2
from sojourn.services.clients.where import Where

GREETS_S = 0.15  # those that speak first do so at once
ANSWERS_S = 0.5
HEARD_MAX = 4096
WHOLE_S = 2.0  # an answer may take, in however small parts it comes
PING = b"*1\r\n$4\r\nPING\r\n"
VERSION = b"version\r\n"
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
SSL_REQUEST = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"  # PostgreSQL, "Message Formats"
SSL_REPLIES = (b"S", b"N")
BINARY = b"\x80\x0b" + bytes(22)  # `version` of a memcached that speaks no text
BINARY_REPLY = b"\x81\x0b"
HTTP, RESP, MEMCACHE, TLS = "http", "resp", "memcache", "tls"
MEMCACHE_BINARY = "memcache-binary"
#: What it is → its name for people.
NAMES = {
    HTTP: "HTTP/1",
    RESP: "RESP (Redis)",
    MEMCACHE: "memcache",
    MEMCACHE_BINARY: "memcached's binary protocol",
    TLS: "TLS",
    "http2": "HTTP/2",
    "ssh": "SSH",
    "smtp": "SMTP or FTP",
    "imap": "IMAP",
    "mysql": "MySQL",
    "postgres": "PostgreSQL",
}
_PLAIN_TO_TLS = (b"HTTPS port", b"HTTPS server", b"over a TLS", b"SSL-enabled")


def say(
    where: Where, words: bytes, within_s: float = ANSWERS_S, *, is_secured: bool = False
) -> bytes:
    """Say something on a fresh connection, and hear what comes until it is quiet.

    Args:
        where: the server.
        words: what is said first; b"": nothing.
        within_s: how long the first part may take, s.
        is_secured: TLS is spoken first.

    Returns:
        At most some kilobytes; b"" if it is silent, hangs up, or cannot be reached.
    """
    heard, until_s = b"", time.monotonic() + within_s + WHOLE_S
    try:
        with contextlib.ExitStack() as stack:
            connection = stack.enter_context(connect.connected(where))
            connection.settimeout(within_s)
            if is_secured:
                context = connect.tls_context(identity=where.identity)
                connection = stack.enter_context(
                    context.wrap_socket(connection, server_hostname=where.server_name)
                )
            if words:
                connection.sendall(words)
            while len(heard) < HEARD_MAX and (part := connection.recv(HEARD_MAX)):
                heard += part
                if _is_whole(words, heard) or time.monotonic() > until_s:
                    break
                connection.settimeout(GREETS_S)
    except OSError:
        return heard
    return heard


def _is_whole(words: bytes, heard: bytes) -> bool:
    """Whether nothing more comes: a line answers these words, or one letter."""
    if words == SSL_REQUEST:
        return heard in SSL_REPLIES
    return words in {PING, VERSION} and heard.endswith(b"\r\n")


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
    if (heard := say(where, BINARY)).startswith(BINARY_REPLY):
        return MEMCACHE_BINARY, heard
    return "", first


def refusal(where: Where) -> str:
    """How a server ends a TLS connection on which nothing was asked; "" if it leaves it open.

    A client that it does not know has made its handshake by then, and may have written a request,
    whose loss hides what the server reported.
    """
    try:
        context = connect.tls_context(http2.ALPN, "http/1.1", identity=where.identity)
        with (
            connect.connected(where) as made,
            context.wrap_socket(made, server_hostname=where.server_name) as secured,
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
        connect.tls_context().wrap_bio(into, out, server_hostname="localhost").do_handshake()
    return out.read()


def greets_in_http2(where: Where, within_s: float) -> bool:
    """Whether it answers the preface of HTTP/2 with its own.

    Raises:
        OSError: it cannot be reached, hangs up, or is silent for that long.
        http.client.HTTPException: over TLS it did not agree on HTTP/2.
    """
    with connect.connected_in_http2(where, within_s) as connection:
        return http2.greets(connection, within_s + WHOLE_S)
