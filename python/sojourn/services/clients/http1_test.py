from __future__ import annotations

import http.client
import io

import pytest

from sojourn.services.clients import http1

BODY = b"hello"


def read(text: bytes) -> http1.Reply:
    return http1.reply(io.BufferedReader(io.BytesIO(text)))


def head(*lines: bytes) -> bytes:
    return b"\r\n".join((b"HTTP/1.1 200 OK", *lines, b"", b""))


@pytest.mark.parametrize(
    "text",
    [
        head(b"Content-Length: 5") + BODY,
        head(b"Content-Length : 5") + BODY,
        head(b"this is no header", b"Content-Length: 5") + BODY,
        head(b"Content-Length: 5, 5") + BODY,
        head(b"Content-Length: 5", b"Content-Length: 5") + BODY,
        head(b"X: a", b"  and more", b"content-length:5") + BODY,
        head(b"Set-Cookie: " + b"a" * 70_000, b"Content-Length: 5") + BODY,
        head(*(b"X-%d: a" % number for number in range(500)), b"Content-Length: 5") + BODY,
        head(b"Transfer-Encoding: chunked") + b"3\r\nhel\r\n2;a=b\r\nlo\r\n0\r\n\r\n",
        head(b"Transfer-Encoding: gzip, chunked") + b"5\r\nhello\r\n0\r\nTrailer: a\r\n\r\n",
        head(b"Transfer-Encoding: gzip", b"Transfer-Encoding: Chunked") + b"5\nhello\n0\n\n",
        head(b"Transfer-Encoding: gzip") + BODY,
        head(b"Connection: close") + BODY,
        b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 102 \r\n\r\n" + head(b"Content-Length: 5") + BODY,
        b"\r\nHTTP/1.0  200\nContent-Length: 5\n\n" + BODY,
    ],
)
def test_a_body_has_the_length_that_its_head_gives_however_it_is_written(text: bytes) -> None:
    more = b"" if b"chunked" not in text.lower() and b"ength" not in text else b"of another reply"
    got = read(text + more)
    assert (got.status, got.body_bytes) == (200, len(BODY))


@pytest.mark.parametrize("status", [101, 204, 304])
def test_some_statuses_have_no_body(status: int) -> None:
    got = read(b"HTTP/1.1 %d X\r\nContent-Length: 5\r\n\r\n" % status)
    assert (got.status, got.body_bytes) == (status, 0)


def test_headers_are_read_in_any_case() -> None:
    got = read(head(b"LOCATION: /a", b"location: /b", b"Content-Length: 0"))
    assert (got.header("location"), got.header("www-authenticate")) == ("/a", "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"+PONG\r\n", "PONG"),
        (b"HTTP/2 200\r\n\r\n", "HTTP/2"),
        (b"HTTP/1.1 200 O\x01K\r\nContent-Length: 0\r\n\r\n", "x01"),
        (head(b"X: a\0b", b"Content-Length: 0"), "zero byte"),
        (head(b"Content-Length: 5, 6"), "5, 6"),
        (head(b"Content-Length: -5"), "-5"),
        (head(b"Transfer-Encoding: chunked") + b"x\r\n", "no size"),
        (head(b"Transfer-Encoding: chunked") + b"2\r\nhello\r\n", "longer than its size"),
        (head(b"X: " + b"a" * http1.HEAD_BYTES), "256 KiB"),
    ],
)
def test_what_is_no_reply_is_refused_with_what_is_wrong(text: bytes, why: str) -> None:
    with pytest.raises(http.client.HTTPException, match=why):
        read(text)


@pytest.mark.parametrize(
    "text", [head(b"Content-Length: 9") + BODY, head()[:-4], head(b"Transfer-Encoding: chunked")]
)
def test_a_reply_that_ends_early_is_incomplete(text: bytes) -> None:
    with pytest.raises(http.client.IncompleteRead):
        read(text)


def test_no_reply_at_all_is_a_connection_that_ended() -> None:
    with pytest.raises(ConnectionError, match="without a reply"):
        read(b"")


def test_the_request_is_the_one_of_the_generator() -> None:
    assert http1.request("/a?b=c", "h:80").splitlines()[:2] == [
        b"GET /a?b=c HTTP/1.1",
        b"Host: h:80",
    ]
