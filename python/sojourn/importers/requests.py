"""Single requests as they are read, and the series that they make."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable

import numpy as np

from sojourn.errors import SpecFault
from sojourn.importers.file import fault
from sojourn.importers.series import Facts, Series
from sojourn.stats.independence import BATCHES
from sojourn.stats.times import Floats, Times, from_values

MOST = 20_000_000  # requests of one file; each takes 16 bytes
REASONS = 50  # counted apart; a file may have another text for each request
REASON_MOST = 80  # letters
SLICE_LEAST = 30  # requests


class Requests:
    """Requests of one series, one by one."""

    def __init__(self) -> None:
        self.order_s = array("d")
        self.ns = array("d")
        self.begin_s, self.end_s = math.inf, -math.inf
        self.failed: Counter[str] = Counter()

    @classmethod
    def joined(cls, parts: Iterable[Requests]) -> Requests:
        """Those of several series as one."""
        whole = cls()
        for part in parts:
            whole.order_s.extend(part.order_s)
            whole.ns.extend(part.ns)
            whole.begin_s = min(whole.begin_s, part.begin_s)
            whole.end_s = max(whole.end_s, part.end_s)
            whole.failed.update(part.failed)
        return whole

    def add(self, start_s: float, ns: float, at: str, *, order_s: float | None = None) -> None:
        """Count one that succeeded, with its time.

        Args:
            start_s: when it began.
            ns: how long it took.
            at: where it is, for a message.
            order_s: what requests are ordered by where begins are not exact; equal ones stay.
        """
        if len(self.ns) >= MOST:
            raise too_many(at)
        self.order_s.append(start_s if order_s is None else order_s)
        self.ns.append(ns)
        self._passes(start_s, ns)

    def fail(self, why: str, start_s: float, ns: float) -> None:
        """Count one that failed, by its reason; the run was as long as it took, too."""
        why = why[:REASON_MOST]
        is_known = why in self.failed or len(self.failed) < REASONS
        self.failed[why if is_known else "other reasons"] += 1
        self._passes(start_s, ns)

    def _passes(self, start_s: float, ns: float) -> None:
        """The run lasted from the first begin to the last end."""
        self.begin_s = min(self.begin_s, start_s)
        self.end_s = max(self.end_s, start_s + ns / 1e9)

    @property
    def count(self) -> int:
        """How many of them succeeded."""
        return len(self.ns)

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
            seconds: length of the run; None: from the first begin to the last end, failed ones too.
            is_failed_known: the file has those that failed, too.
            notes: for the reader.

        Raises:
            SpecFault: there is not one request.
        """
        if not self.ns and not self.failed:
            raise fault("there is no request in it", at, "run the tool for longer")
        ns = np.array(self.ns)
        if seconds is None:
            seconds = self.end_s - self.begin_s
        ordered = ns[np.argsort(np.array(self.order_s), kind="stable")]
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


def too_many(at: str) -> SpecFault:
    """A file has more requests than are read."""
    return fault(f"there are more than {MOST:,} requests", at, "give a shorter run's file")


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
