"""Readings that cost CPU time are repeated so seldom that they take little of it."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Spared:
    """When a reading is due again.

    Attributes:
        share: of one core, that all readings of this kind may take.
        least_s: between two readings, whatever they cost.
    """

    share: float
    least_s: float = 0.0
    _due_s: float = -math.inf

    def is_due(self, t_s: float) -> bool:
        """Whether it may be read at this time."""
        return t_s >= self._due_s

    @contextlib.contextmanager
    def reading(self, t_s: float, count: int = 1) -> Iterator[None]:
        """Read within it; its CPU time decides when it is due again.

        Args:
            t_s: now, by the clock that `is_due` is asked by.
            count: readings of this kind that share the same part of a core.
        """
        begin_s = time.thread_time()
        try:
            yield
        finally:
            used_s = time.thread_time() - begin_s
            self._due_s = t_s + max(self.least_s, count * used_s / self.share)
