"""Output of a generator while load runs: a line of JSON a second, and messages.

It reads replies of strangers, so it may be broken in, and is a user without rights for that. What
it says is bounded: the length of a line, of all its words, and the kinds of its numbers. Nothing it
does, or leaves behind with its end of the pipe, keeps the lab waiting.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

WINDOW = "window"  # requests that were answered since the last line, for a manager
SUMMED = ("sent_rps", "done_rps", "in_flight", "errors")  # of several generators' lines
LONGEST = ("p50_ns", "p99_ns")
PART = 65_536
LINE_BYTES = 65_536  # the longest line that is read as one
WORDS_BYTES = 4 << 20  # of all that it says beside its seconds


class Pipe:
    """The lab's end of a generator's pipe.

    Attributes:
        number: of the file.
    """

    def __init__(
        self,
        number: int,
        second: Callable[[Mapping[str, Any]], None],
        keep: Callable[[bytes], None],
    ) -> None:
        """`second` is handed each line of progress, `keep` every other."""
        self.number, self._second, self._keep = number, second, keep
        self._rest, self._room = b"", WORDS_BYTES

    def read(self) -> None:
        """Take what there is; it is there."""
        self._take(os.read(self.number, PART))

    def drain(self) -> None:
        """Take what is left after its end. A process that it left behind may still write."""
        os.set_blocking(self.number, False)
        with contextlib.suppress(BlockingIOError):
            for _ in range(WORDS_BYTES // PART):
                if not (part := os.read(self.number, PART)):
                    break
                self._take(part)
        self._take(b"\n")

    def _take(self, part: bytes) -> None:
        *lines, rest = (self._rest + part).split(b"\n")
        if len(rest) > LINE_BYTES:
            lines, rest = [*lines, rest], b""
        self._rest = rest
        for line in lines:
            second = second_of(line)
            if second is not None:
                self._second(second)
            elif line.strip():
                self._put(line + b"\n")

    def _put(self, line: bytes) -> None:
        if self._room > 0:
            self._keep(line if len(line) < self._room else b"(it says more than is stored)\n")
            self._room -= len(line)


def second_of(line: bytes) -> Mapping[str, Any] | None:
    """A line of progress, its finite numbers and those of its window; None: it is none.

    >>> second_of(b'{"t_s": 1.5, "ended": true, "p50_ns": "x", "p99_ns": NaN}')
    {'t_s': 1.5, 'ended': True}
    >>> second_of(b'{"window": {"n": 7, "p99_ns": null, "window": {"n": 1}}}')
    {'window': {'n': 7}}
    """
    if not line.startswith(b"{"):
        return None
    try:
        table = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return known(table) if isinstance(table, dict) else None


def known(table: Mapping[str, Any]) -> dict[str, Any]:
    """What of a line of progress is understood: its finite numbers and those of its window."""
    return dict(_known(table))


def _known(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from _numbers(table)
    if isinstance(window := table.get(WINDOW), dict):
        yield WINDOW, dict(_numbers(window))


def _numbers(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        is_number = isinstance(value, int | float) and abs(value) < 2**63  # false of NaN
        if is_number and math.isfinite(value):
            yield key, value


def summed(lines: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Seconds of several generators as one: counts add up; of times the longest is shown."""
    first = lines[0]
    if len(lines) == 1:
        return first
    sums = {key: sum(line.get(key, 0) for line in lines) for key in SUMMED if key in first}
    longest = {key: max(line.get(key, 0) for line in lines) for key in LONGEST if key in first}
    return {**first, **sums, **longest, **_window([line.get(WINDOW) for line in lines])}


def _window(parts: Sequence[Any]) -> Mapping[str, Any]:
    """Several windows as one: counts add up; a percentile of all is not known.

    >>> _window([{"length_ms": 100, "n": 5, "above": 1, "p99_ns": 9}, {"length_ms": 101, "n": 6}])
    {'window': {'length_ms': 101, 'n': 11}}
    """
    if not all(isinstance(part, dict) and "n" in part and "length_ms" in part for part in parts):
        return {WINDOW: {}}
    sums = {
        key: sum(part[key] for part in parts)
        for key in ("n", "above")
        if all(key in part for part in parts)
    }
    return {WINDOW: {"length_ms": max(part["length_ms"] for part in parts), **sums}}
