"""Two wardens of one manager: whatever kills it and one of them leaves the other.

Both have the same caps, and neither knows of the other. They write the same texts, in the same
order, and none of these is a lack of a limit. So it does not matter which is first, or whether both
write at a time. If one is gone the manager ends, as if it had only that one.

What is not covered: manager and both wardens killed at once. No process is left then, and the
kernel has no limit that comes into force by itself. The next manager puts all back.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from sojourn.manage.guard import GONE, Guard
from sojourn.manage.notes import Step
from sojourn.places.ledger import Book

COUNT = 2


class Pair:
    """Both of them, from start to end; they end together."""

    def __init__(self, caps: Sequence[Step], paused_s: float, book: Book) -> None:
        """Start them; RunFault if one does not answer, and then none is left."""
        self._ones: list[Guard] = []
        with ExitStack() as undo:
            for _ in range(COUNT):
                one = Guard(caps, paused_s, book)
                undo.callback(one.end)
                self._ones.append(one)
            undo.pop_all()

    @property
    def pids(self) -> list[int]:
        """Numbers of both processes, by which a test kills one."""
        return [one.pid for one in self._ones]

    def beat(self) -> str:
        """Send each a heartbeat; what one of them says, "gone" first."""
        states = [one.beat() for one in self._ones]
        return GONE if GONE in states else next(filter(None, states), "")

    def end(self) -> None:
        """They end without setting anything."""
        with ExitStack() as every:
            for one in self._ones:
                every.callback(one.end)

    def leave(self) -> None:
        """They set the caps and end."""
        with ExitStack() as every:
            for one in self._ones:
                every.callback(one.leave)
