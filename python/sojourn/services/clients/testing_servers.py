"""Servers of a few words, for tests of clients: each answers what it hears once."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sojourn.services.clients import http2, talk

Replies = Callable[[bytes], bytes]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"


@contextmanager
def serving(replies: Replies, greeting: bytes, family: int, at: object) -> Iterator[socket.socket]:
    """A server that greets, answers what it hears once, and hangs up."""
    with socket.socket(socket.AddressFamily(family)) as server:
        server.bind(at)  # type: ignore[arg-type]
        server.listen()

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(20)
                    try:
                        connection.sendall(greeting)
                        if heard := connection.recv(65536):
                            connection.sendall(replies(heard))
                    except OSError:
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server
        server.shutdown(socket.SHUT_RDWR)
    thread.join(20)


def redis(heard: bytes) -> bytes:
    """A Redis that wants no password."""
    return b"+PONG\r\n" if b"PING" in heard else b"-ERR unknown command\r\n"


def locked(heard: bytes) -> bytes:
    """RESP that wants a password."""
    del heard
    return b"-NOAUTH Authentication required.\r\n"


def memcached(heard: bytes) -> bytes:
    """A memcached that is asked in text."""
    return b"VERSION 1.6.18\r\n" if heard.startswith(b"version") else b"ERROR\r\n"


def web(heard: bytes) -> bytes:
    """A page of five bytes in HTTP/1.1."""
    return OK % (5, b"hello") if b"HTTP/1.1" in heard else b"HTTP/1.1 400 Bad Request\r\n\r\n"


def web2(heard: bytes) -> bytes:
    """A page of five bytes in HTTP/2, behind a 103; who speaks otherwise is told so in it."""
    greeting = http2.frame(http2.SETTINGS, 0, 0, b"")
    if http2.PREFACE not in heard:
        return greeting + http2.frame(http2.GOAWAY, 0, 0, bytes(8))
    headers, end = http2.HEADERS, http2.END_HEADERS
    early = http2.frame(headers, end, 1, b"\x48\x03103")
    head = http2.frame(headers, end | http2.PRIORITY, 1, bytes(5) + b"\x3f\x00\x88")
    padded = http2.frame(http2.DATA, http2.PADDED, 1, b"\x02hell" + bytes(2))
    return greeting + early + head + padded + http2.frame(http2.DATA, http2.END_STREAM, 1, b"o")


def plain_to_tls(heard: bytes) -> bytes:
    """A port of TLS that is asked without it, as NGINX and Go answer there."""
    del heard
    words = b"Client sent an HTTP request to an HTTPS server.\n"
    return OK.replace(b"200 OK", b"400 Bad Request") % (len(words), words)


def refused2(heard: bytes) -> bytes:
    """HTTP/2 that forbids every page."""
    del heard
    forbidden = http2.frame(http2.HEADERS, 5, 1, b"\x48\x83\x68\x0c\xff")  # 403 in NGINX's code
    return http2.frame(http2.SETTINGS, 0, 0, b"") + forbidden


def of_grpc2(heard: bytes) -> bytes:
    """A server of gRPC, to one who asks for a page."""
    del heard
    unsupported = http2.frame(http2.HEADERS, 5, 1, b"\x48\x03415")
    return http2.frame(http2.SETTINGS, 0, 0, b"") + unsupported


def tls(heard: bytes) -> bytes:
    """A server of TLS, to one who speaks plainly."""
    del heard
    return b"\x15\x03\x01\x00\x02\x02\x28"  # an alert: handshake failure


def silence(heard: bytes) -> bytes:
    """A server that takes words and says nothing."""
    del heard
    return b""


def binary(heard: bytes) -> bytes:
    """A memcached with `-B binary`: it says nothing to words."""
    return talk.BINARY_REPLY + bytes(22) if heard == talk.BINARY else b""


def status(line: str, *headers: str) -> Replies:
    """An empty reply of HTTP/1.1 with this status line."""
    head = "\r\n".join([f"HTTP/1.1 {line}", "Content-Length: 0", *headers, "", ""])
    return lambda _: head.encode()
