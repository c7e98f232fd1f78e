"""A file of a stranger's tool: first bytes, lines, JSON, each number checked.

Whatever is wrong is a SpecFault with file and line. Bounds hold before memory is taken.
"""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import disk
from sojourn.errors import SpecFault

FILE_BYTES = 2 * 1024**3
LINE_BYTES = 4 * 1024**2  # vegeta writes bodies of replies into its lines, in base64
WHOLE_BYTES = 128 * 1024**2  # of a file that is read at once
HEAD_BYTES = 16 * 1024  # what a format is recognised by
LONGEST_NS = 1e15  # eleven days: what is longer is no time of a request
BLANKS = 100_000  # lines without a word in them; a small packed file may hold millions
UNPACK = "unpack it with `gzip -d` or `zstd -d`, and give a whole file"
AGAIN = "run the tool again, or name the format with --format"
SHORTER = "give a shorter run's file"
UTF8 = "convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW"
CUT = "run the tool again, or if the file is whole, end its last line: echo >> FILE"
NO_BODIES = "leave bodies of replies out of the file, as `vegeta attack -max-body 0` does"
ALONE = "give the result of each run as a file of its own"


def fault(what: str, at: str, fix: str = AGAIN) -> SpecFault:
    """What is wrong with a file, ready to be raised."""
    return SpecFault(what, at=at, fix=fix)


@dataclass(frozen=True, slots=True)
class File:
    """A file that the user has named."""

    path: Path

    @property
    def at(self) -> str:
        """Where it is, for a message."""
        return str(self.path)

    def head(self) -> str:
        """Its first bytes as text; what is no text is shown as a mark.

        Raises:
            SpecFault: it cannot be read, is empty, or is in UTF-16.
        """
        pieces, size = [], 0
        for _, line in self._raw(HEAD_BYTES, is_cut=True):
            pieces.append(line)
            size += len(line)
            if size >= HEAD_BYTES:
                break
        if not size:
            raise fault("the file is empty", self.at, "run the tool again, and wait for its end")
        first = b"".join(pieces)[:HEAD_BYTES]
        if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise fault("it is text in UTF-16, as older shells of Windows write it", self.at, UTF8)
        return _plain(first.decode(errors="replace"))

    def rows(self) -> Iterator[tuple[str, str]]:
        """The same of a log of rows, of which a whole one ends: its numbers may lack digits else.

        JSON shows by itself that it is cut.
        """
        return self.lines(has_ends=True)

    def lines(self, *, has_ends: bool = False) -> Iterator[tuple[str, str]]:
        """(where, text) of each line that is not blank.

        Raises:
            SpecFault: one cannot be read, or with `has_ends` the last one does not end.
        """
        blanks = 0
        for at, raw in self._raw(LINE_BYTES):
            if has_ends and not raw.endswith(b"\n"):
                raise fault("the last line does not end, so its numbers may lack digits", at, CUT)
            try:
                text = raw.decode().strip("\r\n")
            except UnicodeDecodeError:
                raise fault("this line is no UTF-8 text", at) from None
            if text.strip():
                yield at, text
            elif (blanks := blanks + 1) > BLANKS:
                raise fault(f"it has more than {BLANKS:,} empty lines", at)

    def objects(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(where, object) of each line of a file of JSON lines."""
        for at, text in self.lines():
            yield at, self._object(text.encode(), at)

    def document(self) -> dict[str, Any]:
        """The file as one JSON object."""
        return self._object(self.whole(), self.at)

    def text(self) -> str:
        """The whole of a short text; its lines end as on Linux."""
        try:
            return _plain(self.whole().decode())
        except UnicodeDecodeError:
            raise fault("it is no UTF-8 text", self.at) from None

    def whole(self) -> bytes:
        """All bytes of the file at once."""
        return b"".join(raw for _, raw in self._raw(WHOLE_BYTES, WHOLE_BYTES))

    def _raw(
        self, longest: int, most: int = FILE_BYTES, *, is_cut: bool = False
    ) -> Iterator[tuple[str, bytes]]:
        try:
            lines = disk.lines_named(self.path, most=most, longest=longest, is_cut=is_cut)
            for number, line in enumerate(lines, 1):
                # Editors and shells of Windows put a mark before the first letter.
                plain = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                yield f"{self.path}:{number}", plain
        except OSError as error:
            what = f"it cannot be read: {error.strerror or error}"
            raise fault(what, self.at, "name a file that exists and that you may read") from None
        except disk.PackedError as error:
            raise fault(str(error), self.at, UNPACK) from None
        except ValueError as error:
            is_line = longest == LINE_BYTES and "longer than" in str(error)
            raise fault(str(error), self.at, NO_BODIES if is_line else SHORTER) from None

    @staticmethod
    def _object(raw: bytes, at: str) -> dict[str, Any]:
        try:
            value = disk.parsed(raw)
        except (ValueError, RecursionError) as error:
            what = f"this is no JSON that can be read: {error}"
            fix = "the file may be cut short; run the tool again"
            if isinstance(error, json.JSONDecodeError):
                what = f"this is no JSON: {error.msg} at character {error.pos}"
                fix = ALONE if error.msg == "Extra data" else fix
            raise fault(what, at, fix) from None
        if not isinstance(value, dict):
            raise fault(f"a JSON object is needed, not {type(value).__name__}", at)
        return value


def _plain(text: str) -> str:
    """The text with ends of lines as on Linux: a Windows shell may have written it."""
    return text.replace("\r\n", "\n")


def number(value: Any, what: str, at: str, *, scale: float = 1.0) -> float:
    """A number that is finite and not negative, times a scale.

    Raises:
        SpecFault: it is something else.
    """
    try:
        amount = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        amount = math.nan
    if not 0 <= amount * scale < math.inf:
        shown = str(value)[:40]
        raise fault(f"{what} is '{shown}', where a number of 0 or more is needed", at)
    return amount * scale


def time_ns(value: Any, what: str, at: str, *, unit_ns: float) -> float:
    """A time in ns, from a number in a unit."""
    amount = number(value, what, at, scale=unit_ns)
    if amount > LONGEST_NS:
        raise fault(f"{what} is '{str(value)[:40]}', which is longer than any request", at)
    return amount


def count(value: Any, what: str, at: str) -> int:
    """A number of things that are counted."""
    amount = number(value, what, at)
    if amount != int(amount) or amount >= 2**53:
        raise fault(f"{what} is '{str(value)[:40]}', where a whole number is needed", at)
    return int(amount)


def table(value: Any, what: str, at: str) -> dict[str, Any]:
    """A JSON object within another."""
    if not isinstance(value, dict):
        raise fault(f"{what} is missing or no JSON object", at)
    return value


def rows(value: Any, what: str, at: str) -> list[Any]:
    """A JSON list within an object."""
    if not isinstance(value, list):
        raise fault(f"{what} is missing or no JSON list", at)
    return value


def is_success(status: str) -> bool:
    """Whether an HTTP status is one of 200 to 399.

    >>> is_success("304"), is_success("404"), is_success("-1"), is_success("")
    (True, False, False, False)
    """
    return len(status) == 3 and "200" <= status < "400"
