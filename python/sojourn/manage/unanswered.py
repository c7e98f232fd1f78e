"""Requests that wait although others are answered: a part of the service hangs.

Its windows have requests, so it is not silent as a whole. By Little's law the number of requests
that wait is their rate times the time that they take. Those that were answered took p99 at most,
but for the late ones. A late one counts as if it had taken the whole time of the judgement. Where
more than half as many again wait at the end of each window, others have no answer at all.

A window has such a count where whoever writes it knows (`waiting`). Clients that send only after a
reply (closed loops) hide some: what they have waiting is always about that number.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from sojourn.controllers.look import Group, Window

WINDOWS_MIN = 10  # that are judged together: one may end at a burst
WINDOWS_MAX = 1000
TIMES = 1.5  # as many as can be explained; more are without an answer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """One window, and when it ended, s."""

    end_s: float
    window: Window


@dataclass(slots=True)
class Unanswered:
    """The newest windows of one service."""

    _seen: deque[_Seen] = field(default_factory=lambda: deque(maxlen=WINDOWS_MAX))

    def take(self, group: Group, now_s: float) -> None:
        """Take its newest window, once; one that says too little begins anew."""
        window = group.windows[0]
        end_s = now_s - window.age_ms / 1000
        if window.waiting is None or window.above is None or (window.n and window.p99_ns is None):
            self._seen.clear()
        elif not self._seen or end_s - self._seen[-1].end_s > window.length_ms / 2000:
            self._seen.append(_Seen(end_s=end_s, window=window))

    def count(self, longest_s: float) -> int:
        """Requests that have had no answer for this time, at least; 0: that is not known."""
        if not self._seen:
            return 0
        begin_s = self._seen[-1].end_s - longest_s
        while len(self._seen) > 1 and self._seen[1].end_s <= begin_s:
            self._seen.popleft()
        first, *rest = self._seen
        if first.end_s > begin_s or len(rest) < WINDOWS_MIN:
            return 0
        windows = [one.window for one in rest]
        took_s = max(one.p99_ns or 0.0 for one in windows) / 1e9
        seconds = sum(one.length_ms for one in windows) / 1000
        n, late = sum(one.n for one in windows), sum(one.above or 0 for one in windows)
        explained = (n * took_s + late * longest_s) / seconds
        least = min(one.waiting or 0 for one in (first.window, *windows))
        return least if least > TIMES * explained else 0
