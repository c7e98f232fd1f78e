"""Reads one reply in HTTP/1: its status, its headers, how long its body is.

    interim heads (1xx) → head → body by its length, in chunks, or until the connection ends

Heads are taken as the generator takes them: a space may precede the colon, a header may go on in
the next line, and a line that is no header is passed over. The standard library stops at such
lines, and then waits for a body, because it has not read its length. A zero byte ends both.
Source: RFC 9112, RFC 9110.
"""

from __future__ import annotations

import http.client
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

HEAD_BYTES = 256 * 1024  # as the generator's limit
PART_BYTES = 65_536
SWITCHING = 101  # the last word in HTTP
WITHOUT_BODY = (SWITCHING, 204, 304)
_STATUS = re.compile(rb"HTTP/1\.[01] +([1-9][0-9]{2})(?: |$)")
_CONTROL = re.compile(rb"[\0-\x08\x0a-\x1f\x7f]")  # which no reason phrase may have
_CHUNK = re.compile(rb"[ \t]*([0-9a-fA-F]{1,15})[ \t]*(?:;.*)?")

Headers = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply: `headers` by name in small letters, each with its values in their order."""

    status: int
    headers: Headers
    body_bytes: int

    def header(self, name: str) -> str:
        """The first value of a header; "": it has none."""
        return next(iter(self.headers.get(name, ())), "")


def request(path: str, host: str) -> bytes:
    """A GET; no coding is asked for, because the body's length must be the generator's."""
    lines = (f"GET {path} HTTP/1.1", f"Host: {host}", "User-Agent: sojourn", "Accept: */*")
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode("latin-1", "replace")


def reply(file: io.BufferedReader[Any]) -> Reply:
    """Read the reply to one GET to the end of its body.

    Raises:
        http.client.HTTPException: it is not HTTP/1, or ends too early.
        OSError: the connection ended before it, or broke.
    """
    status, headers = _head(file)
    while 100 <= status < 200 and status != SWITCHING:
        status, headers = _head(file)
    body = 0 if status in WITHOUT_BODY else sum(_body(file, headers))
    return Reply(status, headers, body)


def _head(file: io.BufferedReader[Any]) -> tuple[int, Headers]:
    lines = _lines(file)
    first = next(lines, b"")
    match = _STATUS.match(first)
    if not match or _CONTROL.search(first):
        raise http.client.BadStatusLine(repr(first[:80].decode("latin-1")))
    fields: dict[str, list[str]] = {}
    last: list[str] | None = None
    for line in lines:
        if b"\0" in line:
            raise http.client.HTTPException("a zero byte is in its head")
        text = line.decode("latin-1")
        name, colon, value = text.partition(":")
        if text[0] in " \t":
            if last:
                last[-1] = f"{last[-1]} {text.strip()}".strip()
        elif colon and name.strip():
            last = fields.setdefault(name.strip().lower(), [])
            last.append(value.strip())
    return int(match[1]), fields


def _lines(file: io.BufferedReader[Any]) -> Iterator[bytes]:
    """Lines of a head up to the empty one; empty ones before the first are passed over."""
    left, is_begun = HEAD_BYTES, False
    while line := file.readline(left + 1):
        left -= len(line)
        if left < 0:
            raise http.client.HTTPException(f"its head has more than {HEAD_BYTES >> 10} KiB")
        if not line.endswith(b"\n"):
            break
        line = line.rstrip(b"\r\n")
        if line:
            yield line
        elif is_begun:
            return
        is_begun = is_begun or bool(line)
    if is_begun or line:
        raise http.client.IncompleteRead(line)
    raise http.client.RemoteDisconnected("it ended the connection without a reply")


def _body(file: io.BufferedReader[Any], headers: Headers) -> Iterator[int]:
    """Bytes of each part of a body."""
    codings = _items(headers.get("transfer-encoding", ()))
    lengths = {*_items(headers.get("content-length", ()))}
    if codings and codings[-1].partition(";")[0].strip().lower() == "chunked":
        yield from _chunks(file)
    elif codings or not lengths:
        yield from iter(lambda: len(file.read1(PART_BYTES)), 0)
    else:
        numbers = {int(one) for one in lengths if one.isascii() and one.isdigit()}
        if len(numbers) != 1 or not all(one.isascii() and one.isdigit() for one in lengths):
            raise http.client.HTTPException(f"its Content-Length is {', '.join(sorted(lengths))}")
        yield from _exactly(file, numbers.pop())


def _items(values: Sequence[str]) -> list[str]:
    """Items of a list, which may be in one header or in several: RFC 9110, 5.6.1."""
    return [item.strip() for value in values for item in value.split(",") if item.strip()]


def _chunks(file: io.BufferedReader[Any]) -> Iterator[int]:
    while match := _CHUNK.fullmatch(_line(file)):
        size = int(match[1], 16)
        if size == 0:
            while _line(file):  # trailers
                pass
            return
        yield from _exactly(file, size)
        if _line(file):
            raise http.client.HTTPException("a chunk of its body is longer than its size")
    raise http.client.HTTPException("a chunk of its body has no size")


def _line(file: io.BufferedReader[Any]) -> bytes:
    line = file.readline(HEAD_BYTES)
    if not line.endswith(b"\n"):
        raise http.client.IncompleteRead(line)
    return line.rstrip(b"\r\n")


def _exactly(file: io.BufferedReader[Any], count: int) -> Iterator[int]:
    left = count
    while left and (part := len(file.read1(min(left, PART_BYTES)))):
        left -= part
        yield part
    if left:
        raise http.client.IncompleteRead(b"", left)
