"""A histogram in Prometheus' text → cumulated counts by upper edge.

Source: Prometheus' exposition formats, text 0.0.4 and OpenMetrics 1.0. Only the lines of one
histogram are read; others may be anything. Somebody else wrote the text, so a line of that
histogram that is not as the format says makes the whole text wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from sojourn.controllers.look import COUNT_MAX

LINE_MAX, EDGES_MAX = 1 << 14, 1000
STARTED = "process_start_time_seconds "  # of nearly every client library
#: Cumulated counts by upper edge.
Counts: TypeAlias = Mapping[float, float]
#: Of one series, without `le`, in order.
Labels: TypeAlias = tuple[tuple[str, str], ...]
#: Labels in braces as they were written, and what they mean: the series and the edge; None: of no
#: series that is wanted.
Known: TypeAlias = dict[str, tuple[Labels, float] | None]
KNOWN_MORE = 1000  # that may be remembered, beside twice as many as an answer has
EXEMPLAR = " # "  # what begins one
BLANK = " \t"  # between any two parts of a line
_LABEL = re.compile(r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*')
_ESCAPED = re.compile(r"\\(.)")
_MEANT = {"n": "\n"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One histogram, as one answer has it.

    Attributes:
        series: counts of each; all have the same edges, and the last one is infinite.
        counts: of all series together.
        started_s: when the process started, s; None: the answer does not have it.
        stamp: the newest time stamp of a count; None: no count has one.
    """

    series: Mapping[Labels, Counts]
    counts: Counts
    started_s: float | None = None
    stamp: float | None = None


def histogram(
    text: str, name: str, labels: Mapping[str, str], known: Known | None = None
) -> Answer:
    r"""Cumulated counts by upper edge, in the edge's unit.

    Args:
        text: the whole answer.
        name: of the histogram, without `_bucket`.
        labels: that a series must have to be counted.
        known: from the answer before, because to read labels takes longest; None: there was none.

    Raises:
        ValueError: there is no such histogram, or a line of it is wrong.

    >>> histogram('a_bucket{le="1"} 2\na_bucket{le="+Inf"} 3\n', "a", {}).counts
    {1.0: 2.0, inf: 3.0}
    """
    known = {} if known is None else known
    series: dict[Labels, dict[float, float]] = {}
    start, started_s, size = f"{name}_bucket", None, 0
    stamps: list[float] = []
    for line in text.split("\n"):
        if line.startswith(start) and (rest := line[len(start) :].lstrip(BLANK))[:1] == "{":
            size += 1
            meant, end = _meant(rest, name, labels, known)
            value, stamp = _counted(rest[end:], name)
            if meant is not None:
                counts = series.setdefault(meant[0], {})
                if meant[1] in counts:
                    raise ValueError(f"{name} has the edge {meant[1]:g} twice")
                counts[meant[1]] = value
                stamps += [] if stamp is None else [stamp]
        elif line.startswith(STARTED):
            started_s = _started_s(line)
    if len(known) > 2 * size + KNOWN_MORE:
        known.clear()
    counts = _summed(list(series.values()), name)
    stamp = max(stamps, default=None)
    return Answer(series=series, counts=counts, started_s=started_s, stamp=stamp)


def _started_s(line: str) -> float | None:
    """When the process started; None: the line does not say, and it is no line of the histogram."""
    try:
        return _number(line.split()[1], "it")
    except (ValueError, IndexError):
        return None


def _summed(series: Sequence[Mapping[float, float]], name: str) -> dict[float, float]:
    """All series together; ValueError where they do not fit, or are not cumulated."""
    edges = {tuple(sorted(counts)) for counts in series}
    if len(edges) != 1:
        raise ValueError(f"{name} has series of unequal edges" if edges else f"there is no {name}")
    (order,) = edges
    if order[-1] != math.inf or len(order) > EDGES_MAX:
        raise ValueError(f"{name} has no bucket +Inf, or more than {EDGES_MAX} edges")
    for counts in series:
        if any(counts[a] > counts[b] for a, b in pairwise(order)):
            raise ValueError(f"counts of {name} are not cumulated")
    summed = {edge: sum(counts[edge] for counts in series) for edge in order}
    if summed[math.inf] >= COUNT_MAX:
        raise ValueError(f"a count of {name} is {summed[math.inf]:g}")
    return summed


def _meant(
    rest: str, name: str, labels: Mapping[str, str], known: Known
) -> tuple[tuple[Labels, float] | None, int]:
    """What the labels of a line mean, and where they end; a line begins at its brace here."""
    if len(rest) > LINE_MAX:
        raise ValueError(f"a line of {name} has more than {LINE_MAX} characters")
    mark = rest.find(EXEMPLAR)
    end = rest.rfind("}", 0, mark if mark >= 0 else len(rest)) + 1
    if rest[:end] in known:  # all of it was read before, so nothing of a label is behind it
        return known[rest[:end]], end
    own, end = _labels(rest, name)
    edge = _number(own.pop("le", ""), name)
    is_wanted = labels.items() <= own.items()
    known[rest[:end]] = (tuple(sorted(own.items())), edge) if is_wanted else None
    return known[rest[:end]], end


def _labels(rest: str, name: str) -> tuple[dict[str, str], int]:
    """Labels between the braces, and where these end."""
    own: dict[str, str] = {}
    at = 1
    while label := _LABEL.match(rest, at):
        if label[1] in own:
            raise ValueError(f"a series of {name} has a label twice")
        own[label[1]] = _ESCAPED.sub(lambda one: _MEANT.get(one[1], one[1]), label[2])
        at = label.end()
        if rest[at : at + 1] == ",":
            at += 1
    at = len(rest) - len(rest[at:].lstrip(BLANK))
    if rest[at : at + 1] != "}":
        raise ValueError(f"a line of {name} is not in the format")
    return own, at + 1


def _counted(rest: str, name: str) -> tuple[float, float | None]:
    """Count and time stamp behind the braces; None: it has no stamp."""
    words = rest.partition(EXEMPLAR)[0].split()
    if not 1 <= len(words) <= 2:
        raise ValueError(f"a line of {name} is not in the format")
    value = _number(words[0], name)
    if not 0 <= value < COUNT_MAX:  # else a float does not hold each whole number
        raise ValueError(f"a count of {name} is {words[0][:40]}")
    return value, _number(words[1], name) if len(words) > 1 else None


def _number(word: str, name: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if math.isnan(value) or "_" in word or not word.isascii():
        raise ValueError(f"{name} has {word[:40]!r} in place of a number")
    return value
