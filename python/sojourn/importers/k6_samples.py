"""Samples of k6: requests of each protocol and scenario, and dropped iterations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sojourn.importers.file import fault
from sojourn.importers.groups import ALL, Groups
from sojourn.importers.k6_facts import DURATIONS, FACTS, dropped, failure, lacking
from sojourn.importers.series import Series

DROPPED = "dropped_iterations"
OUTSIDE = "outside of scenarios"  # of setup() and teardown()
_TOGETHER = "Requests of all scenarios are together in it, those of setup() and teardown(), too."


class Samples:
    """Samples of one file, one by one."""

    def __init__(self) -> None:
        self._by_metric: dict[str, Groups] = {}
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
        self,
        metric: str,
        tags: Mapping[str, object],
        *,
        end_s: float,
        ns: float,
        at: str,
        has_whole: bool = False,
    ) -> None:
        """Count a request: when it ended, how long it took, and whether it failed.

        Args:
            metric: the trend that its time is of.
            tags: of the sample.
            end_s: when it ended, s.
            ns: how long it took.
            at: where it is, for a message.
            has_whole: the end is a whole second, so that only the file has the order within it.
        """
        tag = tags.get("scenario")
        scenario = tag if isinstance(tag, str) and tag else OUTSIDE
        into = self._by_metric.setdefault(metric, Groups()).of(scenario, at)
        start_s = end_s - ns / 1e9
        if why := failure(metric, tags):
            into.fail(why, start_s, ns)
            return
        into.add(start_s, ns, at, order_s=end_s if has_whole else None)
        self._unmarked[metric] += why is None

    def series(self, *, at: str, fix: str, notes: tuple[str, ...] = ()) -> list[Series]:
        """Each protocol and scenario is a series.

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
                name=f"{DURATIONS[metric] if len(self._by_metric) > 1 else ''} {scenario}".strip(),
                is_failed_known=not self._unmarked[metric],
                notes=(
                    *notes,
                    *((_TOGETHER,) if scenario == ALL else ()),
                    *dropped(self._dropped),
                    *_doubts(self._unmarked[metric]),
                ),
            )
            for metric, groups in self._by_metric.items()
            for scenario, one in groups.parts()
        ]


def _doubts(unmarked: int) -> tuple[str, ...]:
    """A note on requests of which nothing says whether they failed."""
    if not unmarked:
        return ()
    return (f"Of {unmarked:,} requests no tag says whether they failed; they are in all numbers.",)
