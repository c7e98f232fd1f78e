"""A few words with a PostgreSQL that lets us in without a password: queries and their rows.

It is for readiness and checks, before and after load; load itself is the generator's.
Source: PostgreSQL documentation, "Frontend/Backend Protocol" 3.0.
"""

from __future__ import annotations

import socket
import struct
from types import TracebackType
from typing import Self

from sojourn.places.ports import Address

VERSION = 3 << 16
WELCOME = 0  # AuthenticationOk
BODY_MAX = 1 << 24


class SqlError(Exception):
    """The server refused, was silent, or is none; the text says so."""


class Sql:
    """One connection, to be used in a `with`."""

    def __init__(self, address: Address, user: str, database: str, *, within_s: float) -> None:
        """Connect and be let in.

        Raises:
            SqlError: nothing listens, or we are not let in.
        """
        try:
            self._socket = socket.create_connection((address.host, address.port), timeout=within_s)
        except OSError as error:
            raise SqlError(str(error)) from None
        self._heard = b""
        words = f"user\0{user}\0database\0{database}\0application_name\0sojourn\0\0".encode()
        try:
            self._send(struct.pack("!II", len(words) + 8, VERSION) + words)
            self._rows()
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def ask(self, query: str) -> list[tuple[str | None, ...]]:
        """Rows of a query's reply, their values as texts.

        Raises:
            SqlError: the server refused it, or was silent for too long.
        """
        words = query.encode() + b"\0"
        self._send(b"Q" + struct.pack("!I", len(words) + 4) + words)
        return self._rows()

    def value(self, query: str) -> str:
        """The one value of a query's reply; "" if it is NULL or there is none."""
        rows = self.ask(query)
        return (rows[0][0] or "") if rows and rows[0] else ""

    def _send(self, words: bytes) -> None:
        try:
            self._socket.sendall(words)
        except OSError as error:
            raise SqlError(str(error)) from None

    def _rows(self) -> list[tuple[str | None, ...]]:
        """Read until the server is ready for a query."""
        rows: list[tuple[str | None, ...]] = []
        refused = ""
        while True:
            kind, body = self._message()
            if kind == b"Z":
                break
            if kind == b"D":
                rows.append(values(body))
            elif kind == b"E":
                refused = complaint(body)
                if body.startswith(b"SFATAL"):
                    break
            elif kind == b"R" and body[:4] != struct.pack("!I", WELCOME):
                raise SqlError("the server needs a password")
        if refused:
            raise SqlError(refused)
        return rows

    def _message(self) -> tuple[bytes, bytes]:
        head = self._read(5)
        length = int.from_bytes(head[1:]) - 4
        if not 0 <= length <= BODY_MAX:
            raise SqlError(f"what listens there is no PostgreSQL: it says {head!r}")
        return head[:1], self._read(length)

    def _read(self, count: int) -> bytes:
        while len(self._heard) < count:
            try:
                part = self._socket.recv(1 << 16)
            except OSError as error:
                raise SqlError(str(error)) from None
            if not part:
                raise SqlError("the server ended the connection")
            self._heard += part
        content, self._heard = self._heard[:count], self._heard[count:]
        return content


def values(body: bytes) -> tuple[str | None, ...]:
    r"""Columns of a DataRow; None: NULL.

    >>> values(b"\0\2" + b"\0\0\0\2ab" + b"\xff\xff\xff\xff")
    ('ab', None)
    """
    results: list[str | None] = []
    at = 2
    for _ in range(int.from_bytes(body[:2])):
        length = int.from_bytes(body[at : at + 4], signed=True)
        at += 4
        results.append(None if length < 0 else body[at : at + length].decode("utf-8", "replace"))
        at += max(length, 0)
    return tuple(results)


def complaint(body: bytes) -> str:
    r"""What an ErrorResponse says.

    >>> complaint(b"SERROR\0C42P01\0Mno such table\0\0")
    'ERROR 42P01: no such table'
    """
    fields = {part[:1]: part[1:].decode("utf-8", "replace") for part in body.split(b"\0")}
    return f"{fields.get(b'S', '')} {fields.get(b'C', '')}: {fields.get(b'M', '')}"
