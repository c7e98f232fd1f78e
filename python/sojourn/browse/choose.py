"""The records that a search and its filters leave, and what there is to filter by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from sojourn.browse.entries import Entry
from sojourn.errors import SpecFault
from sojourn.store.named import shown

ORDERS = ("newest", "oldest", "study", "points")
#: Filters by one word: their names in a link, and what each says of a record.
FACETS = ("study", "state", "verdict", "machine", "factor")
UNDECIDED = "none"  # the verdict of a record that has none


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is searched for; "" filters nothing.

    Attributes:
        q: words, all of which stand in the name, the answer or the state.
        since, until: days as `2026-11-26`, both included.
        order: one of `ORDERS`.
    """

    q: str = ""
    study: str = ""
    state: str = ""
    verdict: str = ""
    machine: str = ""
    factor: str = ""
    since: str = ""
    until: str = ""
    order: str = ORDERS[0]


def chosen(every: Sequence[Entry], wanted: Wanted) -> list[Entry]:
    """Those that fit, in the order that is asked for."""
    words = wanted.q.lower().split()
    facets = [(name, text) for name in FACETS if (text := str(getattr(wanted, name)))]
    result = [
        entry
        for entry in every
        if all(_is(entry, name, text) for name, text in facets)
        and (not wanted.since or entry.day >= wanted.since)
        and (not wanted.until or "" < entry.day <= wanted.until)
        and (not words or _has(entry, words))
    ]
    if wanted.order == "oldest":
        result.reverse()
    elif wanted.order == "study":
        result.sort(key=lambda entry: (entry.study, entry.machine))
    elif wanted.order == "points":
        result.sort(key=lambda entry: -entry.points)
    return result


def day(text: str, at: str) -> str:
    """A day that somebody typed, as `Wanted` has it; "" stays.

    Args:
        text: as ISO 8601 has it.
        at: what it is the value of.

    Raises:
        SpecFault: it is no day.

    >>> day("20261126", "since"), day("", "since")
    ('2026-11-26', '')
    """
    try:
        return date.fromisoformat(text).isoformat() if text else ""
    except ValueError:
        what = f"this is no day: '{text[:40]}'"
        raise SpecFault(what, at=at, fix="write it as 2026-11-26") from None


def values(entry: Entry, facet: str) -> tuple[str, ...]:
    """What a filter sees of a record."""
    if facet == "factor":
        return entry.factors
    if facet == "verdict":
        return (entry.verdict or UNDECIDED,)
    if facet == "state":  # why a record cannot be read is a text of its own
        return (entry.state.partition(":")[0],)
    return (str(getattr(entry, facet)),)


def facets(every: Sequence[Entry]) -> Mapping[str, Sequence[tuple[str, int]]]:
    """Every value of each filter, with how many records have it, the most frequent first."""
    return {
        name: sorted(
            Counter(v for entry in every if entry.is_read for v in values(entry, name)).items(),
            key=lambda pair: (-pair[1], pair[0]),
        )
        for name in FACETS
    }


def _is(entry: Entry, facet: str, text: str) -> bool:
    every = values(entry, facet)
    return text in every or text in map(shown, every)


def _has(entry: Entry, words: Sequence[str]) -> bool:
    text = f"{shown(entry.name)} {entry.answer} {entry.answered} {entry.state}".lower()
    return all(word in text for word in words)
