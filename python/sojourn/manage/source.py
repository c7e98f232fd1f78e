"""Where windows come from: JSON lines of a file that grows, or of a named pipe.

Two forms are read:

    {"service": "web", "length_ms": 100, "n": 2000, "p99_ns": 310000, "lo_ns": …, "hi_ns": …,
     "above": 3, "waiting": 7}                    a window, of whatever measures the service
    {"t_s": …, "done_rps": …, "in_flight": 7, "window": {…}, …}   sojourn-load --progress json

Longer windows are made of those that came: their requests and late requests add up. Percentiles do
not, so the p99 of a longer window is an estimate (`p99_of`); its count of late requests is exact.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import stat
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import itemgetter, sub
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from sojourn.controllers.look import COUNT_MAX, Window
from sojourn.controllers.made import made
from sojourn.errors import HostFault

LENGTHS_MS = (500, 1000, 2000, 15_000)
PART_BYTES, LINE_BYTES = 1 << 16, 1 << 16
PARTS_MAX = 64  # read at one look: a writer that is faster must not keep the manager from its work
COVERED = 0.9  # of a longer window, that the short ones must cover
STALE = 0.05  # of a longer window's length, for which an estimate of its p99 counts
WINDOWS_MAX = 2000  # of one service
FALL = math.log(100)  # of an exponential tail, from all requests to one in a hundred
STEPS, NEAR = 50, 1e-4  # of Newton's method: at most so many; the last relative step
NAMES_MAX = 256  # of services: who writes lines may name others without end


@dataclass(slots=True)
class Came:
    """Windows of one service, as they came; sums up to each, so that counts cost nothing.

    `_sums` has length in ms, requests, late requests and windows without such a count. `_made` has
    the p99 of longer windows, and when it was estimated. It is not estimated at each look.
    """

    _at: list[float] = field(default_factory=list)
    _tails: list[tuple[int, float | None]] = field(default_factory=list)
    _made: dict[int, tuple[float, float | None]] = field(default_factory=dict)
    _sums: list[tuple[int, int, int, int]] = field(default_factory=lambda: [(0, 0, 0, 0)])
    _newest: Window | None = None

    def add(self, t_s: float, window: Window) -> None:
        """Another one came at this time."""
        ms, n, above, unknown = self._sums[-1]
        late = window.above or 0
        is_unknown = window.above is None and window.n > 0
        self._at.append(t_s)
        self._tails.append((window.n, window.p99_ns))
        self._sums.append((ms + window.length_ms, n + window.n, above + late, unknown + is_unknown))
        self._newest = window
        if len(self._at) >= 2 * WINDOWS_MAX:
            del self._at[:WINDOWS_MAX], self._sums[:WINDOWS_MAX], self._tails[:WINDOWS_MAX]

    def windows(self, t_s: float, *, has_p99: bool = True) -> tuple[Window, ...]:
        """The newest as it came, and the longer ones that what came covers."""
        if self._newest is None:
            return ()
        when = self._at[-1]
        age_ms = round((t_s - when) * 1000, 1)
        windows = [made(Window, **{**vars(self._newest), "age_ms": age_ms})]
        for length_ms in LENGTHS_MS:
            # Several may have come at one look, so what came since is more than the length.
            least = bisect_left(self._sums, self._sums[-1][0] - length_ms, key=itemgetter(0))
            first = max(least, bisect_right(self._at, when - length_ms / 1000))
            ms, n, above, unknown = map(sub, self._sums[-1], self._sums[first])
            is_whole = length_ms > self._newest.length_ms and ms >= COVERED * length_ms
            if is_whole and max(n, above) < COUNT_MAX:  # a sum may be too large, its parts not
                late = None if unknown else above
                p99_ns = self._p99(length_ms, first) if has_p99 else None
                windows.append(
                    made(Window, length_ms=length_ms, n=n, p99_ns=p99_ns, above=late, age_ms=age_ms)
                )
        return tuple(windows)

    def _p99(self, length_ms: int, first: int) -> float | None:
        """The estimate for a longer window, as new as its length asks for."""
        when = self._at[-1]
        made_s, p99_ns = self._made.get(length_ms, (-math.inf, None))
        if when - made_s > STALE * length_ms / 1000:
            p99_ns = p99_of(self._tails[first:])
            self._made[length_ms] = when, p99_ns
        return p99_ns


def p99_of(parts: Iterable[tuple[int, float | None]]) -> float | None:
    """What one in a hundred requests exceeds in several windows together, ns: an estimate.

    Each window counts as an exponential tail through its own p99. The mixture of these tails, by
    requests, is 0.01 at the result, which lies between the least and the largest p99.

    Args:
        parts: requests and p99 of each window, ns.

    Returns:
        None: there are no requests, or more than a tenth of them have no p99.

    >>> p99_of([(100, 3e5), (500, 3e5)]), p99_of([(100, None)])
    (300000.0, None)
    """
    every = [(n, p99_ns) for n, p99_ns in parts if n]
    longest = float(COUNT_MAX)  # a source may write any number, and this one takes 100 days
    known = [(n, min(max(1.0, p99_ns), longest)) for n, p99_ns in every if p99_ns is not None]
    total = sum(n for n, _ in known)
    if not total or total < COVERED * sum(n for n, _ in every):
        return None
    rates = [(n / total, FALL / p99_ns) for n, p99_ns in known]
    # The logarithm of the mixture is convex and falls, and it is above its bound at this mean
    # (Jensen). So each step of Newton's method comes nearer from below, and none goes too far.
    result = FALL / sum(share * rate for share, rate in rates)
    for _ in range(STEPS):
        tails = [(share * math.exp(-rate * result), rate) for share, rate in rates]
        mixed = sum(tail for tail, _ in tails)
        step = (math.log(mixed) + FALL) * mixed / sum(tail * rate for tail, rate in tails)
        result += step
        if step <= NEAR * result:
            break
    ends = [p99_ns for _, p99_ns in known]
    return min(max(ends), max(result, min(ends)))


@dataclass(slots=True)
class Source:
    """Reads what has come, without ever waiting.

    Attributes:
        service: the group that lines belong to which name none.
        bad: lines that were no window.
        groups: of which windows are wanted; None: of all, as far as there are not too many.
    """

    path: Path
    service: str
    bad: int = 0
    groups: frozenset[str] | None = None
    _handle: int = -1
    _rest: bytes = b""
    _size: int = 0  # bytes that came in all
    _came: dict[str, Came] = field(default_factory=dict)

    @property
    def why(self) -> str:
        """Nothing: whoever writes the lines may end without a word."""
        return ""

    def open(self) -> None:
        """Open it at its end; HostFault if there is no such file."""
        try:
            self._handle = opened(self.path)
        except OSError as error:
            raise HostFault(
                f"the window source cannot be read: {error.strerror}",
                at=f"windows.file = {self.path}",
                fix="start what writes it first, or make it with mkfifo",
            ) from None
        with contextlib.suppress(OSError):
            os.lseek(self._handle, 0, os.SEEK_END)

    def take(self, handle: int) -> None:
        """Read from this open file from now on; it is this source's to close."""
        self.close()
        os.set_blocking(handle, False)
        self._handle, self._rest = handle, b""

    def close(self) -> None:
        """Close the file or pipe again; what came is not forgotten."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def read(self, t_s: float) -> None:
        """Take what has come since the last look."""
        for _ in range(PARTS_MAX):
            try:
                part = os.read(self._handle, PART_BYTES)
            except OSError as error:
                if error.errno in {errno.EAGAIN, errno.EINTR}:
                    return
                raise HostFault(
                    f"the window source cannot be read: {error.strerror}",
                    at=f"windows.file = {self.path}",
                    fix="see what writes it",
                ) from None
            if not part:
                return
            self._size += len(part)
            self._take(part, t_s)
            if len(part) < PART_BYTES:
                return

    def _take(self, part: bytes, t_s: float) -> None:
        *lines, rest = (self._rest + part).split(b"\n")
        self._rest = rest if len(rest) <= LINE_BYTES else b""
        for line in lines:
            if line.strip():
                self._keep(line, t_s)

    def _keep(self, line: bytes, t_s: float) -> None:
        name, window = parsed(line, self.service) or ("", None)
        if window is None or (name not in self._came and len(self._came) >= NAMES_MAX):
            self.bad += 1
            return
        if self.groups is None or name in self.groups:
            self._came.setdefault(name, Came()).add(t_s, window)

    def windows(self, name: str, t_s: float, *, has_p99: bool = True) -> tuple[Window, ...]:
        """Of one service: the newest as it came, and the longer ones."""
        came = self._came.get(name)
        return came.windows(t_s, has_p99=has_p99) if came else ()


def opened(path: Path) -> int:
    """Open a file or pipe, to be read without a wait; OSError if it is a folder, or absent."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISDIR(os.fstat(handle).st_mode):
        os.close(handle)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return handle


def parsed(line: bytes, service: str) -> tuple[str, Window] | None:
    """A line's window, with the name of its group; None: it is none."""
    try:
        table: Any = from_json(line[:LINE_BYTES])
    except ValueError:
        return None
    if not isinstance(table, dict):
        return None
    name = table.pop("service", service)
    if not isinstance(name, str):
        return None
    if "done_rps" in table:
        waiting, table = table.get("in_flight"), table.get("window")
        if not isinstance(table, dict):
            return None
        table.setdefault("waiting", waiting)
    try:
        return name, Window.model_validate(table)
    except ValidationError:
        return None
