"""A short study as it goes on: one line on stderr that is written over, and gone at the end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.text import Text

from sojourn import host, run, store
from sojourn.browse.words import point_words
from sojourn.cli.draw import to_stderr
from sojourn.plan import Outcome, Point
from sojourn.units import show_count, show_ns, show_s
from sojourn.visible import in_line

HALF_S = 30.0
OWN_LINES = ("turn", "restore", "back")  # steps that are worth a line of their own


class Ticker:
    """A `pipeline.Watcher` for half a minute; a context manager."""

    def __init__(
        self, what: str, *, is_quiet: bool = False, length_s: float = 30.0, is_filled: bool = False
    ) -> None:
        """Nothing is shown yet.

        Args:
            what: the target that is loaded.
            is_quiet: show nothing.
            length_s: how long it takes, about.
            is_filled: keys are set first, which stay.
        """
        self._what, self._length_s, self._is_filled = what, length_s, is_filled
        self._is_quiet = is_quiet
        self._console = to_stderr()
        self._now = ""

    def __enter__(self) -> Self:
        length = "half a minute" if self._length_s <= HALF_S else show_s(self._length_s)
        retained = "its new keys stay" if self._is_filled else "nothing is stored"
        self._say(f"loading {self._what} for about {length}; ^C stops, {retained}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over("")

    def opened(self, record: store.OpenRecord, facts: host.Facts) -> None:
        """Nothing to say: the record is gone soon."""

    def event(self, event: run.Event) -> None:
        """A second of load, or a step that people should know of."""
        if event.step in OWN_LINES:
            self._say(event.text)
        elif second := event.second:
            rate, p99 = show_count(second.get("done_rps", 0.0)), second.get("p99_ns", 0)
            self._over(f"{self._now}: {rate}/s, p99 {show_ns(p99)}")

    def began(self, point: Point, outcomes: Sequence[Outcome]) -> None:
        """Say which load comes next."""
        del outcomes
        self._now = point_words(point)
        self._over(self._now)

    def ended(self, outcome: Outcome, outcomes: Sequence[Outcome]) -> None:
        """Nothing: the next one is reported, or the answer."""

    def _say(self, text: str) -> None:
        if not self._is_quiet:
            self._console.print(Text(text, style="dim"))

    def _over(self, text: str) -> None:
        """Write over the line, where there is a terminal."""
        if self._is_quiet or not self._console.is_terminal:
            return
        width = self._console.width - 1
        sys.stderr.write(f"\r{in_line(text)[:width]:<{width}}\r")
        sys.stderr.flush()
