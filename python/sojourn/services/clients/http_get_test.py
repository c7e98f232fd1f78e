"""A page is read as far as it should, in time, or not at all."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest

from sojourn.places import Address, ports
from sojourn.services.clients import http_get
from sojourn.services.clients.where import Where

OK = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def speaking(parts: Iterable[bytes], pause_s: float = 0.0) -> Iterator[Address]:
    """A server that says these parts to the first who comes, until that one has gone."""
    with socket.socket() as listener:
        listener.bind((ports.HOST, 0))
        listener.listen()

        def serve() -> None:
            with contextlib.suppress(OSError):
                one, _ = listener.accept()
                with one:
                    one.recv(4096)
                    for part in parts:
                        one.sendall(part)
                        time.sleep(pause_s)

        thread = threading.Thread(target=serve)
        thread.start()
        yield Address(*listener.getsockname())
        thread.join(10.0)


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ([OK + b"Content-Length: 5\r\n\r\n", b"four", b"\n"], (200, "four\n")),
        ([OK + b"Content-Length: 20\r\n\r\n0123456789", b"0123456789"], (200, "0123456789")),
        ([b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"], (404, "no")),
        ([OK + b"Content-Length: 5\r\n\r\nfour"], (200, "four")),
        ([OK + b"Transfer-Encoding: chunked\r\n\r\nx\r\n"], (0, "")),
        ([b"+PONG\r\n"], (0, "")),
        ([], (0, "")),
    ],
)
def test_a_page_is_its_status_and_as_much_of_its_body_as_is_wanted(
    parts: list[bytes], wanted: tuple[int, str]
) -> None:
    with speaking(parts) as address:
        assert http_get.text(address, "/", 5.0, 10) == wanted


@pytest.mark.parametrize("head", [b"", OK + b"Content-Length: 9999\r\n\r\n"])
def test_a_page_without_an_end_is_none(head: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_get, "WHOLE_S", 0.3)
    heard: list[tuple[int, str]] = []
    with speaking(itertools.chain([head], itertools.repeat(b"x")), 0.02) as address:
        asker = threading.Thread(
            target=lambda: heard.append(http_get.text(address, "/", 0.2, 9999)), daemon=True
        )
        asker.start()
        asker.join(5.0)
        assert heard == [(0, "")]


def test_where_no_one_listens_there_is_no_page() -> None:
    assert http_get.text(Address(ports.HOST, ports.free()), "/", 1.0, 10) == (0, "")


@pytest.mark.parametrize("part", [b"", b"data: tick\n\n"])
def test_a_reply_that_begins_and_stops_is_no_silence(part: bytes) -> None:
    head = OK + b"Content-Type: text/event-stream\r\n\r\n"
    with speaking([head + part], pause_s=1.0) as address:
        where = Where(scheme="http", host=address.host, port=address.port)
        with pytest.raises(TimeoutError, match=r"^begins a reply that does not end"):
            http_get.get(where, "/", 0.2)
    with speaking([b""], pause_s=1.0) as address:
        where = Where(scheme="http", host=address.host, port=address.port)
        with pytest.raises(TimeoutError, match=r"^timed out"):
            http_get.get(where, "/", 0.2)
