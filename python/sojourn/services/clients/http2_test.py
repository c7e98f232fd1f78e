from __future__ import annotations

import http.client
import socket

import pytest

from sojourn.services.clients import http2

SETTINGS = http2.frame(http2.SETTINGS, 0, 0, b"")
REPLY = http2.frame(http2.HEADERS, http2.END_STREAM | http2.END_HEADERS, 1, b"\x88")


def asked(text: bytes) -> tuple[int, bytes]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5.0)
        theirs.sendall(text)
        theirs.shutdown(socket.SHUT_WR)
        return http2.ask(ours, "h", "/", scheme="http", whole_s=5.0)


def goaway(last: int) -> bytes:
    return http2.frame(http2.GOAWAY, 0, 0, last.to_bytes(4) + bytes(4))


@pytest.mark.parametrize("last", [1, 3, http2.WINDOW_MAX])
def test_an_end_that_is_announced_for_later_does_not_hide_the_reply(last: int) -> None:
    assert asked(SETTINGS + goaway(last) + REPLY) == (200, b"")
    with pytest.raises(http.client.HTTPException, match="before its reply"):
        asked(SETTINGS + goaway(last))


def test_an_end_before_our_request_is_a_refusal() -> None:
    with pytest.raises(http.client.HTTPException, match="went away"):
        asked(SETTINGS + goaway(0) + REPLY)


def test_a_greeting_has_to_end_in_time_in_however_small_parts_it_comes() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5.0)
        theirs.sendall(http2.frame(http2.SETTINGS, 0, 0, bytes(600))[:-1])
        with pytest.raises(TimeoutError, match="does not end"):
            http2.greets(ours, 0.0)


def test_a_body_is_read_whole_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = http2.frame(http2.DATA, 0, 1, b"ab") * 3
    head = SETTINGS + http2.frame(http2.HEADERS, http2.END_HEADERS, 1, b"\x88")
    end = http2.frame(http2.DATA, http2.END_STREAM, 1, b"c")
    assert asked(head + parts + end) == (200, b"abababc")
    monkeypatch.setattr(http2, "BODY_MAX", 6)
    with pytest.raises(http.client.HTTPException, match="its body has more than"):
        asked(head + parts + end)
