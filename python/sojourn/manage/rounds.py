"""Rounds of a manager that came late: until then nothing was decided.

A manager without a CPU does nothing, and its log looks like that of one that had nothing to do.
"""

from __future__ import annotations

LATE_S, LATE_ROUNDS = 1.0, 5  # a round is late after both


class Rounds:
    """When the last round was."""

    def __init__(self) -> None:
        """No round was seen yet, so the first is in time."""
        self._last_s: float | None = None

    def late_s(self, now_s: float, every_s: float) -> float:
        """How long ago the round before this one was, s; 0: in time, or there was none.

        >>> rounds = Rounds()
        >>> [rounds.late_s(now_s, 0.1) for now_s in (5.0, 5.1, 5.9, 9.9)]
        [0.0, 0.0, 0.0, 4.0]
        """
        last_s, self._last_s = self._last_s, now_s
        after_s = now_s - last_s if last_s is not None else 0.0
        return after_s if after_s > max(LATE_S, LATE_ROUNDS * every_s) else 0.0
