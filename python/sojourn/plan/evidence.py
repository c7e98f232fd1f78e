"""What runs say about the QoS target: requests, misses, and which misses belong together (M28).

Misses come in clusters: a stall or a full queue puts all requests of its time above the bound
together. How large clusters are is a property of the service and its machine, so it is estimated
from all runs near a load, never from the one run that is to be judged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from sojourn.plan.points import Course, Misses, Outcome, Phase, Point, Verdict
from sojourn.plan.traced import is_disturbed

OVERLOAD = 0.1  # of the requests; above it a run is one long excursion, and no cluster ends
NEAR = 0.15  # of the load, on the logarithm: how far a cluster's size carries
EXCURSION = 5.0  # bounds; what an excursion above the bound lasts where none was seen
_SERVER_STOPPED = re.compile(r"(client \d+ of \d+: )?server stopped:")  # reasons of the generator
MOSTLY = 0.5  # of the requests; above it it was no single stall
DISTURBED_MAX = 0.5  # of the requests; above it the machine may have caused a run's misses
EXCURSIONS_MAX = 5  # that an overloaded run counts as, at the most
CACHED_MAX = 1 << 14  # clusters of a run; what is cached of more would fill the memory

LOAD_PHASES = (Phase.SWEEP, Phase.SEARCH, Phase.CONFIRM)  # phases that say how much load fits

UNSETTLED = (Course.COLD, Course.MOVES)  # of which the share of misses is no load's


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One run at one load, as the search sees it.

    Attributes:
        rps: offered load, requests/s.
        requests: in its measured part.
        over: of those, how many missed the bound.
        clusters: `over`, cut where misses lie further apart than an excursion lasts. Where only
            their mean size is known, an overloaded run has no more of them than are counted.
        seconds: length of the measured part; of an undisturbed run what is left of it.
        life: start of the service that it shares with others.
        surely: of `over`, those that no late or stopped client can have caused; None: all.
        failed: of `over`, those that no wait explains: refused, cut off, or answered wrongly.
    """

    rps: float
    requests: int
    over: int
    clusters: tuple[float, ...] = field(hash=False)  # may be many, and runs differ by the rest
    seconds: float
    life: str
    surely: int | None = None
    failed: int = 0

    @property
    def share(self) -> float:
        """Of the requests, how many missed the bound; 0 to 1."""
        return self.over / self.requests

    @property
    def is_overloaded(self) -> bool:
        """Whether it missed for so long that its clusters say nothing of others."""
        return self.share >= OVERLOAD

    @property
    def excursions(self) -> int:
        """How many excursions an overloaded run counts as: as it shows, unless mostly late.

        One long stall can make a load miss with a tenth of a short run's requests.
        """
        count = EXCURSIONS_MAX if self.share >= MOSTLY else len(self.clusters)
        return max(1, min(EXCURSIONS_MAX, count))


def trials(
    outcomes: Iterable[Outcome], phases: Sequence[Phase] = LOAD_PHASES, *, undisturbed: bool = False
) -> tuple[Trial, ...]:
    """The open-loop runs of these phases that say something, in order.

    A run that is `unknown` only because its misses are an upper bound counts too. To drop it would
    select: of two such runs at one load the one that holds would stay.

    A run with too short a warm-up, or without a level, does not count: its share of misses is
    that of no load (M8), and the plan makes it again, for longer. Its course selects it, not its
    misses. A run in which the queue grows counts, because its load is more than is served.

    Args:
        outcomes: of one service.
        phases: those that count.
        undisturbed: leave out the windows that the log of the server's CPUs marks (M29).
    """
    results: list[Trial] = []
    for outcome in outcomes:
        point = outcome.point
        if point.phase not in phases or not point.offered_rps:
            continue
        if outcome.verdict is Verdict.UNKNOWN and not outcome.is_upper_bound:
            continue
        if outcome.over_bound is None or outcome.course in UNSETTLED:
            continue
        seen = Misses(requests=outcome.requests, over=outcome.over_bound, clusters=outcome.clusters)
        if undisturbed and outcome.undisturbed is not None:
            seen = outcome.undisturbed
        if seen.requests:
            results.append(_trial(outcome, seen))
    return tuple(results)


def _trial(outcome: Outcome, seen: Misses) -> Trial:
    point = outcome.point
    is_overloaded = seen.over / seen.requests >= OVERLOAD
    most = EXCURSIONS_MAX if is_overloaded else seen.over
    return Trial(
        rps=point.offered_rps or 0.0,
        requests=seen.requests,
        over=seen.over,
        clusters=seen.clusters or _pieces(seen.over, outcome.correlation, most),
        seconds=point.measure_s * min(1.0, seen.requests / max(1, outcome.requests)),
        life=point.life,
        surely=_surely(outcome, seen),
        failed=_of_part(outcome.failed, outcome, seen),
    )


def _of_part(misses: int, outcome: Outcome, seen: Misses) -> int:
    """Of these misses of a run, those that surely lie in a part of it.

    All others of the run may be outside the part: only what does not fit there is sure here.
    """
    others = max(0, (outcome.over_bound or 0) - seen.over)
    return max(0, min(misses - others, seen.over))


def _surely(outcome: Outcome, seen: Misses) -> int | None:
    """Of the misses in a part of a run, those that are the service's own at the least."""
    if outcome.over_surely is None:
        return None
    apart = outcome.undisturbed
    is_as_experienced = seen is not apart
    if is_as_experienced and apart is not None and _is_stopped(outcome):
        # Stops take capacity, too. So a miss may be theirs, unless it lies apart from them (M29)
        # or has an end that no stop makes.
        return min(outcome.over_surely, max(apart.over, outcome.failed))
    return _of_part(outcome.over_surely, outcome, seen)


def _is_stopped(outcome: Outcome) -> bool:
    """Whether stops of the server's CPUs reached too many of its requests (M29)."""
    is_judged = any(map(is_of_server, outcome.reasons))
    return is_judged or is_mostly_disturbed(outcome.point, outcome.requests, outcome.undisturbed)


def is_mostly_disturbed(point: Point, requests: int, apart: Misses | None) -> bool:
    """Whether logged stops of the server's CPUs reached most requests of a run (M29).

    This is one rule for every service. The generator voids such a run of a service that has CPUs of
    its own. A service that may run on the client's CPUs waits for the client in every run, so its
    job asks for no limit. Its misses are as doubtful. Beside a neighbour the stops are what a study
    asks about, so all misses count.

    Args:
        point: that was measured.
        requests: of the run.
        apart: the same run without the windows that the log marks; None: nothing was marked.
    """
    if apart is None or is_disturbed(point):
        return False
    return apart.requests < (1 - DISTURBED_MAX) * requests


def is_late(outcome: Outcome) -> bool:
    """Whether the client made its times too long, if anything: then they are shown as `≤`.

    Where stops of the server's CPUs reached most requests, a miss may be theirs. Users waited as
    long all the same, so the times are no bounds. The report has both readings (M29).
    """
    is_disturbed_most = is_mostly_disturbed(outcome.point, outcome.requests, outcome.undisturbed)
    return outcome.is_upper_bound and not is_disturbed_most


def is_of_server(reason: str) -> bool:
    """Whether the server's CPUs were stopped for too long, also as one of several clients says it.

    >>> is_of_server("server stopped: 60 %"), is_of_server("client 2 of 4: server stopped: 60 %")
    (True, True)
    """
    return _SERVER_STOPPED.match(reason) is not None


def _pieces(over: int, correlation: float, most: int) -> tuple[float, ...]:
    """Clusters of a run of which only the mean size is known, `most` at the most.

    >>> _pieces(90, 30.0, 90), _pieces(1, 30.0, 1), _pieces(0, 30.0, 0), _pieces(90, 30.0, 2)
    ((30.0, 30.0, 30.0), (1.0,), (), (45.0, 45.0))
    """
    count = max(1, min(most, round(over / max(1.0, correlation)))) if over else 0
    return (over / count,) * count if count else ()


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the clusters that were seen, with the loads at which they were.

    Attributes:
        seen: of every run that was neither clean nor overloaded: logarithm of the load, sum of
            the squared sizes, sum of the sizes, the largest squared, and how many.
        bound_s: of the target; gives the size of an excursion where none was seen.
    """

    seen: tuple[tuple[float, float, float, float, int], ...]
    bound_s: float

    def at(self, rps: float) -> tuple[float, float]:
        """Misses that count as one at a load, and how many clusters near it say so.

        The factor by which clusters inflate the variance of a count is E[D²]/E[D] for sizes D.
        One imagined excursion joins those that were seen, and the largest counts twice: the next
        may be larger.

        Source: Kish, Survey Sampling (1965), 8.2 (design effect), pooled over runs.
        """
        first = EXCURSION * self.bound_s * rps
        squares, sum_, count, largest = first * first, first, 0.0, 0.0
        for log_rps, own_squares, own_sum, own_largest, clusters in self.seen:
            weight = math.exp(-0.5 * ((log_rps - math.log(rps)) / NEAR) ** 2)
            squares += weight * own_squares
            sum_ += weight * own_sum
            largest = max(largest, weight * own_largest)
            count += weight * clusters
        return max(1.0, (squares + largest) / sum_), count


def sizes(results: Sequence[Trial], bound_s: float) -> Sizes:
    """The sizes of all clusters of these runs."""
    selected = [t for t in results if t.over and not t.is_overloaded]
    return Sizes(tuple((math.log(t.rps), *_moments(t.clusters)) for t in selected), bound_s)


def _moments(clusters: tuple[float, ...]) -> tuple[float, float, float, int]:
    """Sum of squares, sum, largest square and number: all that is asked of a run, at any load.

    A plan asks for those of every run again at every point.
    """
    return _computed(clusters) if len(clusters) > CACHED_MAX else _cached(clusters)


def _computed(clusters: tuple[float, ...]) -> tuple[float, float, float, int]:
    squares = [size * size for size in clusters]
    return sum(squares), sum(clusters), max(squares, default=0.0), len(squares)


_cached = lru_cache(maxsize=256)(_computed)
