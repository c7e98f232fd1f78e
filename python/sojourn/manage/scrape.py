"""Windows out of a Prometheus histogram: differences of its counts.

A thread asks the endpoint each `every_ms`, with a deadline for the whole answer, so that the
manager never waits. Counts add up, so a window of any length is the difference of two answers:

    n       of the bucket +Inf
    p99     linear within the bucket of that rank, as `histogram_quantile` does; beyond the last
            edge it is that edge
    lo, hi  edges around the ranks of the 95 % interval; no hi where it is beyond the last edge
    above   where some edge is the target; else unknown

A restart of the service, or of one that is behind one of the series, begins the differences anew.
It is known by the process's start time, by a count of any series that shrank, or by a series that
is gone. One that is new counts from 0 in a process that is known to be the same. Else it may be of
an instance that ran before, and the differences begin anew as well.

The differences begin anew as well where two answers make no window, which counts as a bad one. An
answer with the counts and time stamp of the one before says nothing new, so it makes no window. One
with its last finite edge below the target is refused, because every p99 of it would be good.
"""

from __future__ import annotations

import contextlib
import http.client
import math
import socket
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from urllib.parse import urlsplit

from sojourn.controllers.look import Window
from sojourn.errors import HostFault
from sojourn.manage.cutoff import cut_after, end
from sojourn.manage.exposition import Answer, Counts, Known, histogram
from sojourn.manage.names import Names, connected
from sojourn.manage.source import COVERED, LENGTHS_MS
from sojourn.stats.quantiles import ranks

ANSWER_S, BODY_BYTES, PART_BYTES = 1.0, 8 << 20, 1 << 16
WORDS_MAX = 200  # of what is wrong with an answer
NS, Q = 1e9, 0.99
NEAR = 1e-9  # by which an edge may differ from the target
LONGEST_S = max(LENGTHS_MS) / 1000
STARTED_S = 2.0  # by which a start time may differ, because the machine's clock is set meanwhile
#: Of an answer that is none; the latter two where this machine has no thread or memory left.
WRONG = (OSError, http.client.HTTPException, ValueError, RuntimeError, MemoryError)


@dataclass(slots=True)
class Scrape:
    """Asks an endpoint for one histogram; its unit is seconds.

    Attributes:
        bad: answers that were none: no connection, too late, or wrong text.
        why: what was wrong with the last one; "": nothing.
        resets: times that the differences began anew, because of a restart or of other series.
    """

    url: str
    metric: str
    labels: Mapping[str, str]
    service: str
    target_ns: float
    every_s: float = 1.0
    bad: int = 0
    why: str = ""
    resets: int = 0
    _taken: deque[tuple[float, Counts]] = field(default_factory=deque)
    _newest: Answer | None = None
    _known: Known = field(default_factory=dict)
    _came: deque[tuple[float, Answer | str]] = field(default_factory=deque)
    _end: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _wire: socket.socket | None = None  # of the last question
    _names: Names | None = None

    def open(self) -> None:
        """Ask once, and go on asking; HostFault if there is no such histogram."""
        try:
            self._came.append((time.monotonic(), self._asked()))
        except WRONG as error:
            raise HostFault(
                f"the window source cannot be read: {_words(error)}",
                at=f"windows.url = {self.url}",
                fix=f"see that it answers, and has {self.metric}_bucket",
            ) from None
        self._thread = threading.Thread(target=self._ask_on, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, and the answer that is under way: a reload must not wait for it."""
        self._end.set()
        if self._wire is not None:
            end(self._wire)
        if self._thread is not None:
            self._thread.join(2 * ANSWER_S)

    def read(self, t_s: float) -> None:
        """Take what has come since the last look."""
        del t_s
        while self._came:
            at, answer = self._came.popleft()
            if isinstance(answer, str):
                self.bad, self.why = self.bad + 1, answer
                continue
            self.why = ""
            before, self._newest = self._newest, answer
            if before is None or not _is_repeated(before, answer):
                self._take(at, before, answer)

    def _take(self, at: float, before: Answer | None, answer: Answer) -> None:
        """Add an answer; after a restart, or where the two make no window, it is the first one."""
        if before is None or has_restarted(before, answer):
            if before is not None:
                self.resets, self.why = self.resets + 1, "it has restarted, or has other series"
            self._taken.clear()
        elif self._window(before.counts, answer.counts, 1) is None:
            self.bad, self.why = self.bad + 1, "its counts make no window"
            self._taken.clear()
        self._taken.append((at, answer.counts))
        while at - self._taken[0][0] > LONGEST_S + 2 * self.every_s:
            self._taken.popleft()

    def windows(self, name: str, t_s: float, *, has_p99: bool = True) -> tuple[Window, ...]:
        """The newest difference, and the longer ones; each has its own p99, which costs little."""
        del has_p99
        if name != self.service or len(self._taken) < 2:
            return ()
        end, newest = self._taken[-1]
        age_ms = max(0.0, round((t_s - end) * 1000, 1))  # it may have come since the look began
        windows: list[Window] = []
        for length_s in (0.0, *(ms / 1000 for ms in LENGTHS_MS)):
            before = [one for one in list(self._taken)[:-1] if end - one[0] >= COVERED * length_s]
            if not before:
                continue
            began, old = before[-1]
            is_new = not windows or end - began > windows[-1].length_ms / 1000 + self.every_s / 2
            if is_new and end - began <= max(length_s, self.every_s) + 2 * self.every_s:
                made = self._window(old, newest, max(1, round((end - began) * 1000)))
                if made is not None:
                    windows.append(made.model_copy(update={"age_ms": age_ms}))
        return tuple(windows)

    def _window(self, before: Counts, now: Counts, length_ms: int) -> Window | None:
        """The requests between two answers; None: the answers do not fit together.

        Each may be right by itself, such as where a count was read before others grew.
        """
        try:
            return window(before, now, length_ms, self.target_ns)
        except ValueError:
            return None

    def _ask_on(self) -> None:
        while not self._end.wait(self.every_s):
            answer: Answer | str
            try:
                answer = self._asked()
            except WRONG as error:
                answer = _words(error)
            self._came.append((time.monotonic(), answer))

    def _asked(self) -> Answer:
        """One answer; the deadline is for all of it, not for each part."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=ANSWER_S)
        deadline = time.monotonic() + ANSWER_S
        with contextlib.closing(connection):
            if self._names is None:
                self._names = Names(connection.host, connection.port)
            addresses = self._names.addresses(ANSWER_S)
            with contextlib.closing(connected(addresses, deadline - time.monotonic())) as wire:
                wire.settimeout(ANSWER_S)
                connection.sock = wire
                self._wire = wire
                if self._end.is_set():
                    raise ValueError("the source was closed")
                try:
                    path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
                    with cut_after(wire, ANSWER_S):
                        body = _body(connection, path)
                finally:
                    if time.monotonic() > deadline:
                        raise ValueError(f"it did not answer within {ANSWER_S:g} s")
        text = body.decode("utf-8", "replace")
        answer = histogram(text, self.metric, self.labels, self._known)
        largest_s = max((edge for edge in answer.counts if edge < math.inf), default=0.0)
        if largest_s * NS < self.target_ns * (1 - NEAR):
            raise ValueError(
                f"the largest edge of {self.metric} is {largest_s:g} s, below the target, so late "
                "requests cannot be seen"
            )
        return answer


def _words(error: BaseException) -> str:
    """What is wrong, in few words, because others may have written them."""
    return str(error)[:WORDS_MAX] or type(error).__name__


def _body(connection: http.client.HTTPConnection, path: str) -> bytes:
    connection.request("GET", path, headers={"Accept": "text/plain"})
    body = b""
    with connection.getresponse() as answer:
        if answer.status != http.HTTPStatus.OK:
            raise ValueError(f"it answered {answer.status}")
        if answer.getheader("Content-Encoding", "identity").strip().lower() != "identity":
            raise ValueError("its answer is packed, which was not asked for")
        while part := answer.read1(PART_BYTES):
            body += part
            if len(body) > BODY_BYTES:
                raise ValueError(f"it answered more than {BODY_BYTES} bytes")
        # Without a length the end of the connection is the end, and the last line shows a cut.
        is_open = answer.length is None and not answer.chunked
        if answer.length or (is_open and not body.endswith((b"\n", b"# EOF"))):
            raise ValueError("its answer was cut off")
    return body


def has_restarted(before: Answer, now: Answer) -> bool:
    """Whether the service, or what is behind one of its series, is not the same as before."""
    was_s, is_s = before.started_s, now.started_s
    is_known = was_s is not None and is_s is not None
    if was_s is not None and is_s is not None and abs(is_s - was_s) > STARTED_S:
        return True
    gone, new = before.series.keys() - now.series.keys(), now.series.keys() - before.series.keys()
    if gone or (new and not is_known) or before.counts.keys() != now.counts.keys():
        return True
    return any(
        now.series[labels][edge] < count
        for labels, counts in before.series.items()
        for edge, count in counts.items()
    )


def _is_repeated(before: Answer, now: Answer) -> bool:
    """Whether it says nothing new: whoever answers read the counts before the last answer."""
    return now.stamp is not None and now.stamp == before.stamp and now.series == before.series


def window(before: Counts, now: Counts, length_ms: int, target_ns: float) -> Window:
    """The requests between two answers; ValueError where they do not fit together.

    >>> edges = {0.1: 98.0, 0.2: 99.0, math.inf: 100.0}
    >>> one = window(dict.fromkeys(edges, 0.0), edges, 1000, 2e8)
    >>> one.n, one.p99_ns, one.lo_ns, one.hi_ns, one.above
    (100, 200000000.0, 0.0, None, 1)
    """
    edges = sorted(now)
    counts = [now[edge] - before[edge] for edge in edges]
    if any(a > b for a, b in pairwise(counts)):
        raise ValueError("some counts were read before others grew")
    n = round(counts[-1])
    exact = [i for i, edge in enumerate(edges) if math.isclose(edge * NS, target_ns, rel_tol=NEAR)]
    above = n - round(counts[exact[0]]) if exact else None
    if n == 0:
        return Window(length_ms=length_ms, n=0, above=above)
    low, high = ranks(n, Q)
    lower, _ = _bucket(edges, counts, low) if low >= 1 else (None, None)
    upper = _bucket(edges, counts, high)[1] if high <= n else math.inf
    p99_s = _linear(edges, counts, Q * n)
    return Window(
        length_ms=length_ms,
        n=n,
        p99_ns=p99_s * NS if len(edges) > 1 else None,
        lo_ns=None if lower is None else lower * NS,
        hi_ns=None if math.isinf(upper) else upper * NS,
        above=above,
    )


def _index(counts: list[float], rank: float) -> int:
    return next((i for i, count in enumerate(counts) if count >= rank), len(counts) - 1)


def _bucket(edges: list[float], counts: list[float], rank: float) -> tuple[float, float]:
    """Both edges of the bucket that has this rank."""
    i = _index(counts, rank)
    return (max(0.0, edges[i - 1]) if i else 0.0), max(0.0, edges[i])


def _linear(edges: list[float], counts: list[float], rank: float) -> float:
    i = _index(counts, rank)
    lower, upper = _bucket(edges, counts, rank)
    if math.isinf(upper):
        return lower
    before = counts[i - 1] if i else 0.0
    return lower + (upper - lower) * (rank - before) / max(counts[i] - before, 1e-9)
