"""A history as text and as a page: numbers over records, and their steps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from sojourn.analysis.history import Change, Entry, History, Series
from sojourn.report import page
from sojourn.stats.change_points import OLD_LEAST
from sojourn.stats.paired_ratio import Judgement
from sojourn.text.some import some
from sojourn.units import show_count, show_ns

LACKS = "–"
BARS = "▁▂▃▄▅▆▇█"
SPARKS = 24  # newest values in the terminal
COMMIT = 10  # letters of a commit's hash that people read
PAD = 0.06  # of the height of a figure, above and below the values
DOUBTS = (
    "This does not hold on a machine that drifts, or where a record depends on those before it, "
    "because the order of records then has a meaning."
)
OF_CHANGES = ("since", "seen at", "number", "before", "after", "ratio", "verdict")
OF_SERIES = ("number", "records", "median", "newest", "course", "changes")


def sentence(history: History) -> str:
    """The whole history in a sentence."""
    many = len(history.entries)
    if many <= OLD_LEAST:
        return (
            f"{_records(many)} of {history.study}: too few to see a change, "
            f"which takes more than {OLD_LEAST}."
        )
    changes = [(change, one) for one in history.series for change in one.changes]
    if not changes:
        return f"No change in {_records(many)} of {history.study}."
    newest = max(change.seen for change, _ in changes)
    now = [pair for pair in changes if pair[0].seen == newest]
    named = some([f"{one.name} {ratio(change)} ({verdict(change)})" for change, one in now], 3)
    since = called(history.entries[now[0][0].since])
    count = f"{len(changes)} changes" if len(changes) > 1 else "1 change"
    return f"{count} in {_records(many)} of {history.study}; newest: since {since}, {named}."


def _records(count: int) -> str:
    return f"{count} record{'' if count == 1 else 's'}"


def is_worse_now(history: History) -> bool:
    """Whether the newest record is the one at which something was seen to be worse."""
    return any(
        change.seen == len(history.entries) - 1 and change.judgement is Judgement.WORSE
        for one in history.series
        for change in one.changes
    )


def notes(history: History) -> list[str]:
    """What else a reader must know."""
    rate, many = f"{100 * history.alpha:.3g} %", len(history.series)
    promise = (
        f"A history without a change has one reported with a chance of {rate} at most, whatever "
        f"its length, over all its {many} series together. {DOUBTS}"
    )
    place = "A step is placed at the record where it most likely began, between two medians."
    return [promise, place, *map(_axis, history.axes)]


def _axis(of: tuple[str, float, float]) -> str:
    """That one share of max RPS is several loads, so a change of max RPS moves no series of it."""
    service, least, most = of
    ends = f"{show_count(least, -1)} to {show_count(most, 1)}"
    return (
        f"100 % load of {service} is {ends} requests/s in these records, so a share of it is not "
        "the same load in all. For equal loads, give run.rates in the study."
    )


def called(entry: Entry) -> str:
    """A record as people know it: the commit and its label, or the record's name."""
    words = (entry.commit[:COMMIT], entry.label)
    return " ".join(word for word in words if word) or entry.name


def value(series: Series, number: float | None) -> str:
    """A number with its unit."""
    if number is None:
        return LACKS
    if math.isinf(number):
        return "∞"
    if series.unit == "ns":
        return show_ns(number)
    if series.unit and not number:
        return "no load"
    return f"{show_count(number)}/s" if series.unit else f"{number:.6g}"


def with_interval(series: Series, at: int) -> str:
    """`412 µs (400 µs to 431 µs)` of one record."""
    one = series.values[at] if series.values else None
    if one is None:
        return LACKS
    ends = one.interval
    if ends is None:
        return value(series, one.value)
    low, high = value(series, ends.lo), value(series, ends.hi)
    return f"{value(series, one.value)} ({low} to {high})"


def ratio(change: Change) -> str:
    """How many times as much it is, such as 1.12 times."""
    if math.isnan(change.ratio):
        return LACKS
    return "∞ times" if math.isinf(change.ratio) else f"{change.ratio:.3g} times"


def verdict(change: Change) -> str:
    """Worse or better; higher or lower where a table does not say which is which."""
    if change.judgement is not Judgement.OPEN:
        return str(change.judgement)
    return "higher" if change.after > change.before else "lower"


def changes(history: History) -> list[tuple[str, ...]]:
    """A line of texts for each change, newest first."""
    every = [(change, one) for one in history.series for change in one.changes]
    return [
        (
            called(history.entries[change.since]),
            called(history.entries[change.seen]),
            one.name,
            value(one, change.before),
            value(one, change.after),
            ratio(change),
            verdict(change),
        )
        for change, one in sorted(every, key=lambda pair: -pair[0].seen)
    ]


def lines(history: History) -> list[tuple[str, ...]]:
    """A line of texts for each series."""
    return [
        (
            one.name,
            str(sum(each is not None for each in one.values)),
            value(one, _middle(one)),
            with_interval(one, -1),
            spark(one),
            str(len(one.changes)) if one.changes else LACKS,
        )
        for one in history.series
    ]


def _middle(series: Series) -> float | None:
    known = [one.value for one in series.values if one is not None]
    return median(known) if known else None


def spark(series: Series) -> str:
    """The newest values as a line of bars; a gap where a record has none."""
    newest = series.values[-SPARKS:]
    known = [one.value for one in newest if one is not None and math.isfinite(one.value)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    span = (high - low) or 1.0

    def bar(number: float) -> str:
        share = 1.0 if math.isinf(number) else (number - low) / span
        return BARS[min(len(BARS) - 1, max(0, int(share * len(BARS))))]

    return "".join(" " if one is None else bar(one.value) for one in newest)


def of_records(history: History) -> Iterator[tuple[str, ...]]:
    """A line of texts for each record, newest last: its number of each series."""
    for at, entry in enumerate(history.entries):
        cells = (with_interval(one, at) for one in history.series)
        yield (entry.started or entry.name, called(entry), *cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A series as a picture: places are shares of width and height, y down.

    Attributes:
        title, about: texts.
        dots: (x, y, low end, high end, words) of each record that has a value.
        levels: (left end, right end, y) of each median between changes.
        steps: (x, words) of each change.
    """

    title: str
    about: str
    low: str
    high: str
    dots: tuple[tuple[float, float, float, float, str], ...]
    levels: tuple[tuple[float, float, float], ...]
    steps: tuple[tuple[float, str], ...]


def drawn(history: History) -> list[Drawn]:
    """A picture of each series; those with changes first."""
    every = sorted(history.series, key=lambda one: not one.changes)
    return [_drawn(history, one) for one in every if any(each is not None for each in one.values)]


def _drawn(history: History, series: Series) -> Drawn:
    ends = list(_ends(series)) or [0.0]
    low, high = min(ends), max(ends)
    span = (high - low) or abs(high) or 1.0

    def y(number: float) -> float:
        share = 1.0 if number == math.inf else 0.0 if number == -math.inf else (number - low) / span
        return round(min(1.0, max(0.0, PAD + (1 - 2 * PAD) * (1 - share))), 4)

    def x(place: float) -> float:
        return round((place + 0.5) / len(history.entries), 5)

    dots = []
    for at, one in enumerate(series.values):
        if one is not None:
            lo, hi = (one.interval.lo, one.interval.hi) if one.interval else (one.value, one.value)
            words = f"{called(history.entries[at])}: {with_interval(series, at)}"
            dots.append((x(at), y(one.value), y(lo), y(hi), words))
    steps = [
        (x(one.since - 0.5), f"since {called(history.entries[one.since])}: {ratio(one)}")
        for one in series.changes
    ]
    return Drawn(
        title=series.name,
        about=f"{value(series, _middle(series))} (median), {len(series.changes)} changes",
        low=value(series, low),
        high=value(series, high),
        dots=tuple(dots),
        levels=tuple((x(a - 0.5), x(b - 0.5), y(level)) for a, b, level in _levels(series)),
        steps=tuple(steps),
    )


def _ends(series: Series) -> Iterator[float]:
    """All that must fit into the picture; an interval may reach beyond it."""
    for one in series.values:
        if one is not None:
            yield from (end for end in (one.value,) if math.isfinite(end))
            if one.interval and one.value / 3 < one.interval.lo <= one.interval.hi < 3 * one.value:
                yield from (one.interval.lo, one.interval.hi)


def _levels(series: Series) -> Iterator[tuple[int, int, float]]:
    """(first place, place behind the last, median) between changes."""
    cuts = [0, *(one.since for one in series.changes), len(series.values)]
    for first, last in pairwise(cuts):
        known = [one.value for one in series.values[first:last] if one is not None]
        if known:
            yield first, last, median(known)


def html(history: History) -> str:
    """The page: the answer, changes, a picture of each series, numbers, and what is not in it."""
    heads: Sequence[str] = ("time", "record", *(one.name for one in history.series))
    return page.rendered(
        "history.html.j2",
        [],
        history=history,
        sentence=sentence(history),
        notes=notes(history),
        of_changes=OF_CHANGES,
        changes=changes(history),
        pictures=drawn(history),
        heads=heads,
        records=list(of_records(history)),
    )
