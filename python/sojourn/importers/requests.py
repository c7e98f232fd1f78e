"""Single requests as they are read, and the series that they make."""

from __future__ import annotations

from array import array
from collections import Counter

import numpy as np

from sojourn.importers.file import fault
from sojourn.importers.series import Facts, Series
from sojourn.stats.independence import BATCHES
from sojourn.stats.times import Floats, Times, from_values

MOST = 20_000_000  # requests of one file; each takes 16 bytes
REASONS = 50  # counted apart; a file may have another text for each request
SLICE_LEAST = 30  # requests


class Requests:
    """Requests of one series, one by one."""

    def __init__(self) -> None:
        self._start_s = array("d")
        self._ns = array("d")
        self.failed: Counter[str] = Counter()

    def add(self, start_s: float, ns: float, at: str) -> None:
        """Count one that succeeded, with its time."""
        if len(self._ns) >= MOST:
            raise fault(f"there are more than {MOST:,} requests", at, "give a shorter run's file")
        self._start_s.append(start_s)
        self._ns.append(ns)

    def fail(self, why: str) -> None:
        """Count one that failed, by its reason."""
        is_known = why in self.failed or len(self.failed) < REASONS
        self.failed[why[:80] if is_known else "other reasons"] += 1

    @property
    def count(self) -> int:
        """How many of them succeeded."""
        return len(self._ns)

    def series(
        self,
        facts: Facts,
        *,
        at: str,
        name: str = "",
        half_ns: float = 0.0,
        seconds: float | None = None,
        is_failed_known: bool = True,
        notes: tuple[str, ...] = (),
    ) -> Series:
        """All of them.

        Args:
            facts: of the tool.
            at: the file, for a message.
            name: of the series.
            half_ns: half of the step to which the tool rounds its times.
            seconds: length of the run; None: from the first begin to the last end.
            is_failed_known: the file has those that failed, too.
            notes: for the reader.

        Raises:
            SpecFault: there is not one request.
        """
        if not self._ns and not self.failed:
            raise fault("there is no request in it", at, "run the tool for longer")
        start, ns = np.array(self._start_s), np.array(self._ns)
        if seconds is None and ns.size:
            seconds = float((start + ns / 1e9).max() - start.min())
        ordered = ns[np.argsort(start, kind="stable")]
        return Series(
            facts=facts,
            name=name,
            times=widened(from_values(ordered), half_ns),
            slices=_slices(ordered),
            requests=len(ns),
            failed=dict(self.failed),
            is_failed_known=is_failed_known,
            seconds=seconds,
            most_ns=float(ns.max()) if ns.size else None,
            notes=notes,
        )


def widened(times: Times, half_ns: float) -> Times:
    """Times of a known rounding: each lies within half a step of what was written."""
    if not half_ns:
        return times
    return Times(
        lo_ns=np.maximum(times.lo_ns - half_ns, 0.0),
        hi_ns=times.hi_ns + half_ns,
        count=times.count,
    )


def _slices(ordered: Floats) -> tuple[Times, ...]:
    pieces = min(BATCHES, len(ordered) // SLICE_LEAST)
    return tuple(map(from_values, np.array_split(ordered, pieces))) if pieces > 1 else ()
