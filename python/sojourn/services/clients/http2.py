"""Asks one question in HTTP/2: what a server answers, and how long its body is.

    preface, settings, GET → settings, headers, body → status and length

The standard library has no HTTP/2, and one question needs little of it: of the reply's headers only
the status, which comes first, and of its frames the lengths. The generator knows the rest.
Source: RFC 9113, RFC 7541.
"""

from __future__ import annotations

import http.client
import math
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

ALPN = "h2"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY = 0, 1, 3, 4, 7
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITY = 1, 1, 4, 8, 32
WINDOW_MAX = (1 << 31) - 1
FRAME_MAX = 16_384
BODY_MAX = 1 << 28
#: Statuses that have a place of their own in RFC 7541, Appendix A.
KNOWN = {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}
STATUS_AT = range(8, 15)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame as it came."""

    kind: int
    flags: int
    stream: int
    payload: bytes


def ask(
    connection: socket.socket, authority: str, path: str, *, scheme: str, whole_s: float = math.inf
) -> tuple[int, bytes]:
    """GET a path on a fresh connection, which must not be used after it.

    Args:
        connection: to a server that speaks HTTP/2 from the first byte on.
        authority: host and port, as the server is to hear them.
        path: with its query.
        scheme: `http` or `https`.
        whole_s: how long the reply may take to its end, s.

    Returns:
        The status, and the body as it came.

    Raises:
        http.client.HTTPException: what came back is not HTTP/2, or no reply.
        OSError: it hung up or is silent.
        TimeoutError: its reply does not end in that time.
    """
    fields = {":method": "GET", ":scheme": scheme, ":authority": authority, ":path": path}
    block = b"".join(map(_field, fields, fields.values())) + _field("user-agent", "sojourn")
    connection.sendall(opening() + frame(HEADERS, END_STREAM | END_HEADERS, 1, block))
    status, body = 0, bytearray()
    for got in frames(connection, whole_s):
        if got.kind == SETTINGS and not got.flags & ACK:
            connection.sendall(frame(SETTINGS, ACK, 0, b""))
        if got.kind == GOAWAY and not _answers_still(got):
            raise http.client.HTTPException("it went away")
        if got.kind == RST_STREAM and got.stream == 1:
            raise http.client.HTTPException("it ended the stream")
        if got.kind == HEADERS and status < 200:
            status = _status(_own(got)) or status
        if got.kind == DATA:
            body += _own(got)
            if len(body) > BODY_MAX:
                raise http.client.HTTPException(f"its body has more than {BODY_MAX >> 20} MiB")
        if got.stream == 1 and got.flags & END_STREAM and got.kind in {DATA, HEADERS}:
            return status, bytes(body)
    raise http.client.RemoteDisconnected("it ended before its reply")


def _answers_still(got: Frame) -> bool:
    """Whether a GOAWAY announces an end after the first stream: RFC 9113, 6.8."""
    return int.from_bytes(got.payload[:4]) & WINDOW_MAX >= 1


def greets(connection: socket.socket, whole_s: float) -> bool:
    """Whether the server answers the preface of a client with its own.

    Args:
        connection: to it, fresh.
        whole_s: how long the answer may take to its end, s.

    Raises:
        OSError: it hung up or is silent.
        TimeoutError: its answer does not end in that time.
    """
    connection.sendall(opening())
    try:
        return next(frames(connection, whole_s)).kind == SETTINGS
    except StopIteration:
        raise http.client.RemoteDisconnected("it ended the connection without a word") from None
    except http.client.HTTPException:
        return False


def opening() -> bytes:
    """What a client says first: no pushes, and windows that no page fills."""
    settings = b"\0\x02\0\0\0\0" + b"\0\x04" + WINDOW_MAX.to_bytes(4)
    wider = (WINDOW_MAX - 65_535).to_bytes(4)
    return PREFACE + frame(SETTINGS, 0, 0, settings) + frame(8, 0, 0, wider)


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """A frame as it is sent.

    >>> frame(SETTINGS, ACK, 0, b"").hex(" ")
    '00 00 00 04 01 00 00 00 00'
    """
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


def frames(connection: socket.socket, whole_s: float = math.inf) -> Iterator[Frame]:
    """What the server says, frame by frame; the first has to be its settings.

    Raises:
        TimeoutError: the last one did not end in `whole_s`.
    """
    is_first, until_s = True, time.monotonic() + whole_s
    while len(head := _exactly(connection, 9, until_s)) == 9:
        length, kind, flags = int.from_bytes(head[:3]), head[3], head[4]
        if length > FRAME_MAX or (is_first and kind != SETTINGS):
            raise http.client.HTTPException(f"it is not HTTP/2: {head!r}")
        is_first = False
        stream = int.from_bytes(head[5:]) & WINDOW_MAX
        yield Frame(kind, flags, stream, _exactly(connection, length, until_s))


def _exactly(connection: socket.socket, count: int, until_s: float) -> bytes:
    """So many bytes; fewer if the connection ended, TimeoutError if they do not come in time."""
    got = b""
    while len(got) < count and (part := connection.recv(count - len(got))):
        got += part
        if time.monotonic() > until_s:
            raise TimeoutError("begins a reply that does not end")
    return got


def _own(got: Frame) -> bytes:
    """What is in a frame without padding and priority."""
    payload, end = got.payload, len(got.payload)
    if got.flags & PADDED and payload:
        payload, end = payload[1:], end - 1 - payload[0]
    start = 5 if got.kind == HEADERS and got.flags & PRIORITY else 0
    return payload[start:end]


def _field(name: str, value: str) -> bytes:
    """A header that neither side remembers."""
    return b"\0" + _string(name) + _string(value)


def _string(text: str) -> bytes:
    r"""A string as it is, RFC 7541, 5.2.

    >>> _string("x" * 200)[:3]
    b'\x7fIx'
    """
    data = text.encode("latin-1", "replace")
    if len(data) < 127:
        return bytes([len(data)]) + data
    head, rest = bytearray([127]), len(data) - 127
    while rest >= 128:
        head.append(rest % 128 + 128)
        rest //= 128
    return bytes([*head, rest]) + data


def _status(block: bytes) -> int:
    r"""The status that a block of headers begins with; 0: it begins with something else.

    >>> _status(b"\x88"), _status(b"\x48\x03503"), _status(b"\x48\x82\x64\x02")
    (200, 503, 302)
    """
    while block and block[0] & 0xE0 == 0x20:  # the table's size, which fits in the byte or two more
        is_long = block[0] & 31 == 31
        block = block[1:]
        while is_long and block:
            is_long, block = bool(block[0] & 128), block[1:]
    if len(block) > 0 and block[0] & 128:
        return KNOWN.get(block[0] & 127, 0)
    bits = 63 if len(block) > 1 and block[0] & 64 else 15
    if len(block) < 3 or block[0] & bits not in STATUS_AT:
        return 0
    text = block[2 : 2 + (block[1] & 127)]
    digits = _digits(text) if block[1] & 128 else text.decode("ascii", "replace")
    return int(digits) if digits.isdigit() and len(digits) == 3 else 0


def _digits(coded: bytes) -> str:
    """Digits in the code of RFC 7541, Appendix B: 0 to 2 have five bits, the others six."""
    bits = "".join(f"{byte:08b}" for byte in coded)
    result = ""
    while len(bits) >= 5:
        five, six = int(bits[:5], 2), int(bits[:6].ljust(6, "1"), 2)
        if five <= 2:
            result, bits = result + str(five), bits[5:]
        elif 25 <= six <= 31 and len(bits) >= 6:
            result, bits = result + str(six - 22), bits[6:]
        else:
            break
    return result
