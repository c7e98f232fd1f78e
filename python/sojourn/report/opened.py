"""Results of other tools, and records beside them, on one page and in one table.

Each number has its interval, or none where its file carries none, and beside it what its tool
cannot know: from when it was measured, and what made the load.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sojourn.findings.load_point import LoadPoint
from sojourn.importers import estimates, hdr_log
from sojourn.importers.series import Facts, Series
from sojourn.report import show
from sojourn.stats.interval import Estimate
from sojourn.stats.times import Times
from sojourn.units import show_length
from sojourn.visible import in_line

OWN = Facts(
    tool="Sojourn",
    clock="intended",
    loop="open",
    start="Measured from the time at which the request was due by the schedule.",
    load="An open loop: requests are sent when they are due, whether or not others were answered.",
    merged="Histograms of all generators and restarts are added, which loses nothing.",
    omission="A stop of the server is in the numbers; a run of a late generator is refused.",
)
INFINITE = {OWN.tool, hdr_log.OWN.tool}  # in their numbers a failed request is infinitely slow
NO_CLIENT = {"server", "kernel event"}  # clocks that no client can read
STEPS = 240  # points of a line
NAME_MOST = 300  # letters of a name or a reason: a file name has 255 at most
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One set of requests, ready to be shown.

    Attributes:
        letter: what it is called in tables.
        name: file and operation, or record, service and load.
        estimates: mean, then quantiles; `basis`: what each rests on.
        line: (share of requests at or below, ns), for the picture; () if only few are known.
        dots: the same of what a tool printed.
        failed: requests by reason; None: the file does not say whether any failed.
        are_all_counted: no others than those in `failed` may have failed.
    """

    letter: str
    name: str
    form: str
    facts: Facts
    estimates: tuple[Estimate, ...]
    basis: tuple[str, ...]
    requests: int | None
    failed: tuple[tuple[str, int], ...] | None
    seconds: float | None
    rate_rps: float | None
    most_ns: float | None
    notes: tuple[str, ...]
    are_all_counted: bool = True
    line: tuple[tuple[float, float], ...] = ()
    dots: tuple[tuple[float, float], ...] = ()

    @property
    def is_load(self) -> bool:
        """Whether it is a load of a record of this lab."""
        return self.facts is OWN

    @property
    def heading(self) -> str:
        """`A: k6.json (k6-json), 1,234 requests in 3.0 s, 411/s; 3 failed: status 500 3`."""
        count = "requests not counted" if self.requests is None else f"{self.requests:,} requests"
        length = f" in {show_length(self.seconds)}" if self.seconds else ""
        rate = f", {show.count(self.rate_rps)}/s" if self.rate_rps is not None else ""
        return f"{self.letter}: {self.name} ({self.form}), {count}{length}{rate}; {self.failures}"

    @property
    def failures(self) -> str:
        """Failed requests by reason; they are counted apart."""
        if self.failed is None:
            return "how many failed is not known"
        if not self.failed:
            return "none failed"
        each = ", ".join(f"{why} {number:,}" for why, number in self.failed[:4])
        left = len(self.failed) - 4
        more = f" and {left} more reason{'s' if left > 1 else ''}" if left > 0 else ""
        least = "" if self.are_all_counted else "at least "
        return f"{least}{self.failed_count:,} failed: {each}{more}"

    @property
    def failed_cell(self) -> str:
        """How many failed, as a cell: `3`, `≥ 3` where others may have, `–` where it is unknown."""
        if self.failed_count is None:
            return "–"
        return f"{'' if self.are_all_counted else '≥ '}{self.failed_count:,}"

    @property
    def failed_count(self) -> int | None:
        """Requests that failed, for any reason; None: not known."""
        return None if self.failed is None else sum(number for _, number in self.failed)


def letter(number: int) -> str:
    """What the side of a number is called; the caller refuses more than there are."""
    return LETTERS[min(number, len(LETTERS) - 1)]


def of_series(letter: str, name: str, form: str, series: Series) -> Side:
    """A series that another tool measured."""
    numbers = estimates.of(series)
    is_whole = series.times is not None and series.times.n
    stated = [(q, ns) for q, ns in series.stated.items() if q is not None and 0 < q < 1]
    carried = {one.q for one in numbers if one.value is not None}
    return Side(
        letter=letter,
        name=_in_line(name),
        form=form,
        facts=series.facts,
        estimates=numbers,
        basis=tuple(estimates.basis(series, one) for one in numbers),
        requests=series.requests,
        failed=_failed(series),
        seconds=series.seconds,
        rate_rps=series.rate,
        most_ns=series.most_ns,
        notes=tuple(map(in_line, series.notes)),  # a dump's answer is a stranger's text
        are_all_counted=series.is_failed_known,
        line=_line(series.times) if is_whole and series.times else (),
        dots=() if is_whole else tuple(sorted((q, ns) for q, ns in stated if q in carried)),
    )


def _failed(series: Series) -> tuple[tuple[str, int], ...] | None:
    """By reason; None where none is counted, and others may have failed."""
    if not series.failed and not series.is_failed_known:
        return None
    return tuple((_in_line(why), number) for why, number in series.failed.items())


def _in_line(text: str) -> str:
    """A stranger's name or reason: it may not begin a line that looks like ours, nor fill pages."""
    return in_line(text[:NAME_MOST])


def of_point(letter: str, name: str, point: LoadPoint) -> Side:
    """One load of a record."""
    verdict = "" if point.is_believed else "not valid: "
    lost: Counter[str] = Counter()
    for run in point.runs:
        lost.update(dict(run.errors) if run.is_believed == point.is_believed else {})
    return Side(
        letter=letter,
        name=_in_line(name),
        form="record",
        facts=OWN,
        estimates=(point.mean, *point.quantiles),
        basis=tuple(
            one.refused or f"{one.requests:,} requests that count as {one.effective:,.0f}"
            for one in (point.mean, *point.quantiles)
        ),
        requests=point.mean.requests or None,
        failed=tuple(lost.items()),
        seconds=None,
        rate_rps=point.achieved_rps,
        most_ns=None,
        notes=tuple(in_line(f"{verdict}{why}") for why in point.reasons),
        line=point.distribution,
    )


def _line(times: Times) -> tuple[tuple[float, float], ...]:
    """The distribution, as far as it carries: two requests lie above the last point."""
    reached = np.cumsum(times.count)
    last = max(0, int(np.searchsorted(reached, times.n - 1)))
    share = reached[:last] / times.n
    if not share.size:
        return ()
    nines = -np.log10(1 - share)
    place = np.linspace(0, nines[-1], STEPS)
    at = np.unique(np.r_[np.searchsorted(nines, place), share.size - 1])
    return tuple((float(share[i]), float(times.hi_ns[i])) for i in at if i < share.size)


COLUMNS = ("number", "value", "95 % interval", "measured from", "load loop", "rests on")


def rows(side: Side) -> list[tuple[str, ...]]:
    """A line of texts for each number."""
    return [
        (
            show.quantile(one.q),
            show.time(one.value),
            show.times(one.interval),
            side.facts.clock,
            side.facts.loop,
            why,
        )
        for one, why in zip(side.estimates, side.basis, strict=True)
    ]


def side_by_side(sides: Sequence[Side]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """All sides in one table: its head and its lines."""
    head = ("number", *(side.letter for side in sides))
    lines = [
        ("what", *(side.name for side in sides)),
        ("measured from", *(side.facts.clock for side in sides)),
        ("load loop", *(side.facts.loop for side in sides)),
        ("requests/s", *(show.count(side.rate_rps) for side in sides)),
        ("failed", *(side.failed_cell for side in sides)),
    ]
    wanted = dict.fromkeys(one.q for side in sides for one in side.estimates)
    for q in wanted:
        cells = [next((e for e in side.estimates if e.q == q), None) for side in sides]
        lines.append((show.quantile(q), *map(show.with_interval, cells)))
    return head, lines


SHORT = (0.5, 0.9, 0.99, 0.999)


def compact(sides: Sequence[Side]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Many sides, a line for each, without intervals: those are with each side's own numbers."""
    head = ("", "what", "measured from", "loop", "requests/s", "failed")
    lines = []
    for side in sides:
        by_q = {one.q: one for one in side.estimates}
        values = (one.value if (one := by_q.get(q)) else None for q in SHORT)
        where = (side.facts.clock, side.facts.loop, show.count(side.rate_rps), side.failed_cell)
        lines.append((side.letter, side.name, *where, *map(show.time, values)))
    return (*head, *map(show.quantile, SHORT)), lines


def caveats(sides: Sequence[Side]) -> list[str]:
    """What does not let the sides be compared, in sentences."""
    sentences = []
    clocks = {side.facts.clock for side in sides}
    if "send" in clocks and any(clock.startswith("intended") for clock in clocks):
        sentences.append(
            "They do not measure the same: some count from the send and some from the time at "
            "which a request was due. A stop of the server shows in full in the second alone."
        )
    inner = [side.letter for side in sides if side.facts.clock in NO_CLIENT]
    if inner and len(clocks) > 1:
        sentences.append(
            f"Times of {', '.join(inner)} are of the server's machine, and are not what a client "
            "waits."
        )
    if "not known" in clocks and len(sides) > 1:
        letters = ", ".join(side.letter for side in sides if side.facts.clock == "not known")
        sentences.append(f"From when times count is not known of {letters}.")
    own = [side.letter for side in sides if side.facts.tool in INFINITE]
    if own and any(side.failed_count != 0 for side in sides):
        others = [side.letter for side in sides if side.facts.tool not in INFINITE]
        if others:
            sentences.append(
                f"A failed request counts as infinitely slow in {', '.join(own)}, and not in "
                f"{', '.join(others)}."
            )
    if len({side.facts.loop for side in sides}) > 1:
        sentences.append(
            "A closed loop sends less when the server is slow, so equal rates are not equal load."
        )
    return sentences
