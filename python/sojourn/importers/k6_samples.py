"""Samples of k6: requests of each protocol, and dropped iterations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sojourn.importers.file import fault
from sojourn.importers.k6_facts import DURATIONS, FACTS, dropped, failure, lacking
from sojourn.importers.requests import Requests
from sojourn.importers.series import Series

DROPPED = "dropped_iterations"


class Samples:
    """Samples of one file, one by one."""

    def __init__(self) -> None:
        self._by_metric: dict[str, Requests] = {}
        self._unmarked: Counter[str] = Counter()
        self._seen: set[str] = set()
        self._dropped = 0.0

    def has_use(self, metric: str) -> bool:
        """Whether samples of a metric are of requests, or of iterations that k6 dropped."""
        if metric in DURATIONS or metric == DROPPED:
            return True
        if len(self._seen) < len(DURATIONS) + 20:
            self._seen.add(metric)
        return False

    def drop(self, iterations: float) -> None:
        """Count iterations that k6 did not begin."""
        self._dropped += iterations

    def add(
        self, metric: str, tags: Mapping[str, object], *, end_s: float, ns: float, at: str
    ) -> None:
        """Count a request: when it ended, how long it took, and whether it failed."""
        into = self._by_metric.setdefault(metric, Requests())
        if why := failure(metric, tags):
            into.fail(why)
            return
        into.add(end_s - ns / 1e9, ns, at)
        self._unmarked[metric] += why is None

    def series(self, *, at: str, fix: str, notes: tuple[str, ...] = ()) -> list[Series]:
        """Each protocol is a series.

        Args:
            at: the file, for a message.
            fix: what to do about a file without requests.
            notes: for the reader.

        Raises:
            SpecFault: there is not one request.
        """
        if not self._by_metric:
            raise fault(lacking(self._seen), at, fix)
        return [
            one.series(
                FACTS,
                at=at,
                name=DURATIONS[metric] if len(self._by_metric) > 1 else "",
                is_failed_known=not self._unmarked[metric],
                notes=(*notes, *dropped(self._dropped), *_doubts(self._unmarked[metric])),
            )
            for metric, one in self._by_metric.items()
        ]


def _doubts(unmarked: int) -> tuple[str, ...]:
    """A note on requests of which nothing says whether they failed."""
    if not unmarked:
        return ()
    return (f"Of {unmarked:,} requests no tag says whether they failed; they are in all numbers.",)
