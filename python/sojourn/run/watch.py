"""What is seen while something runs: events for whoever shows progress; a limit on every wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something to show.

    Attributes:
        step: "start", "preload", "warm", "measure", "stop", "restore".
        text: in words.
        service: its label; "" where none is meant.
        second: the generator's line of progress, of "measure"; the last has "ended".
    """

    step: str
    text: str
    service: str = ""
    second: Mapping[str, Any] = field(default_factory=dict)


Show: TypeAlias = Callable[[Event], None]


def nothing(event: Event) -> None:
    """A `Show` that shows no one anything."""
    del event


class Deadline:
    """A limit on a wait."""

    def __init__(self, length_s: float) -> None:
        self.length_s = length_s
        self._end = time.monotonic() + length_s
        self._last = self._end + length_s

    @property
    def left_s(self) -> float:
        """Time left, s; never negative."""
        return max(0.0, self._end - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Whether no time is left of it."""
        return self.left_s == 0.0

    def extend(self, by_s: float) -> None:
        """End later, but never by more than its length in all."""
        self._end = min(self._end + by_s, self._last)
