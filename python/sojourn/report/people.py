"""Tables for people: the tidy columns in words, the numbers with units and three digits."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import starmap

from sojourn.analysis import reasons
from sojourn.analysis.reasons import topic
from sojourn.findings.findings import ServiceFinding
from sojourn.findings.load_point import LoadPoint
from sojourn.findings.point_row import PointRow
from sojourn.plan.points import Verdict
from sojourn.report import show
from sojourn.report.draw import known
from sojourn.report.draw.lookup import tail_q
from sojourn.report.draw.table import Cell, Table, number
from sojourn.stats.interval import Estimate
from sojourn.text.numbers import readable

# How a column is shown, by the unit at the end of its name.
_BY_UNIT: dict[str, Callable[[float | None], str]] = {
    "_ns": show.time,
    "_rps": show.count,
    "_s": lambda seconds: "–" if seconds is None else f"{readable(seconds)} s",
    "_share": show.share,
    "_ratio": show.share,
    "fraction": show.share,
    "share": lambda part: "–" if part is None else f"p{100 * part:.6g}",
    "ratio": lambda ratio: "–" if ratio is None else f"{ratio:.3f}",
    "requests": lambda n: "–" if n is None else show.whole(n),
    "effective": lambda n: "–" if n is None else show.whole(n),
}
KEYS = {"run"}  # name a run's folder; people know it by its load and restart
QOS = "qos"  # to miss the target is no reason to doubt; it is reported with the run
PLACES = 10  # named of one doubt; the table beside has all
_WORDS = {"fraction": "load", "share": "quantile", "lo_ns": "from", "hi_ns": "to", "rho": "ρ"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A table ready to be printed: texts only.

    Attributes:
        left_out: rows that only the CSV file has.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class Stat:
    """A cell of the summary: the number with its interval, or why there is none.

    Attributes:
        value: `145 µs`, `≤ 145 µs`, `(133 µs)` where no run is believed, or a word.
        beneath: its interval, or in a few words why there is none.
        why: the same in full; "" if there is nothing to be known.
        is_believed: it is a number that decides something.
    """

    value: str
    beneath: str
    why: str
    is_believed: bool


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why numbers are not believed or need a remark.

    Attributes:
        what: the check or remark, in a few words.
        where: at which loads.
        detail: what was found, in full; one instance if they differ.
        times: how often it was said.
    """

    what: str
    where: str
    detail: str
    times: int


def table(data: Table, *, limit: int) -> Shown:
    """The first `limit` rows in words; the lab's own keys are for the CSV file alone."""
    seen = [at for at, column in enumerate(data.columns) if column not in KEYS]
    return Shown(
        tuple(_title(data.columns[at]) for at in seen),
        tuple(tuple(_cell(data.columns[at], row[at]) for at in seen) for row in data.rows[:limit]),
        max(0, len(data.rows) - limit),
    )


def stat(estimate: Estimate | None) -> Stat:
    """One estimate that is of no load."""
    if estimate is None or estimate.value is None:
        why = estimate.refused if estimate and estimate.refused else "not measured"
        return Stat("refused" if estimate else "–", reasons.short(why), why, is_believed=False)
    between = show.times(estimate.interval) if estimate.interval else ""
    return Stat(show.time(estimate.value), between, "", is_believed=True)


def cell(point: LoadPoint, q: float | None) -> Stat:
    """What is known of a quantile of a load; where no run is believed the remarks say why."""
    own = known.of_load(point, q)
    if own.sort in known.SURE:
        why = own.label if own.sort is known.Sort.AT_MOST else ""
        return Stat(own.shown, show.times(own.interval), why, is_believed=True)
    if own.sort is known.Sort.ENDLESS:
        return Stat(own.shown, own.label.removeprefix(f"{own.shown}; "), "", is_believed=True)
    beneath = show.uncoded(own.short) if point.is_believed else ""
    return Stat(own.shown, beneath, own.reason, is_believed=own.sort is known.Sort.AT_LEAST)


def numbers(service: ServiceFinding) -> list[float | None]:
    """What the summary shows of each load: the judged quantile first, the mean, the others."""
    results = sorted({e.q for p in service.points for e in p.quantiles if e.q is not None})
    judged = tail_q(service)
    return [judged, None, *(q for q in results if q != judged)]


def stats(point: LoadPoint, asked: Sequence[float | None]) -> list[Stat]:
    """Mean and quantiles of a load, in the order of the table's columns."""
    return [cell(point, q) for q in asked]


def invalid_loads(service: ServiceFinding) -> str:
    """The loads at which no run is believed, those that share a reason together; "" if none."""
    shared: dict[str, list[LoadPoint]] = defaultdict(list)
    for point in service.points:
        if not point.is_believed:
            shared[topic(next(iter(_first(point)), ""))].append(point)
    if not shared:
        return ""
    parts = [
        f"{_listed([show.load(p.fraction) for p in some])} load"
        f" ({known.spanned([text for p in some for text in _first(p)]) or 'no run'})"
        for some in shared.values()
    ]
    return f"Not valid at {_listed(parts)}: numbers in brackets decide nothing."


def _first(point: LoadPoint) -> list[str]:
    """The first reason of each run that has one."""
    return [run.reasons[0] for run in point.runs if run.reasons]


def _listed(names: Sequence[str]) -> str:
    return show.listed(tuple(names), PLACES)


def doubts(
    service: ServiceFinding, *, has_runs: bool = True, only: float | None = None
) -> list[Doubt]:
    """Everything at this service that decides nothing or needs a remark, most frequent first.

    Args:
        service: of which.
        has_runs: also why single runs are not believed; else `lost` has it.
        only: the one quantile that is shown; None: all are.
    """
    texts: list[tuple[str, str]] = []
    for point in service.points:
        doubted = [r for run in point.runs if not run.is_believed for r in run.reasons]
        remarks = [r for r in point.reasons if r not in doubted]
        if not point.is_steady:
            remarks.append("not steady: the runs have a trend (M8)")
        if point.is_believed:
            shown = [e for e in point.quantiles if only is None or e.q == only]
            remarks += [e.refused for e in shown if e.refused]
        if point.is_bimodal:
            remarks.append("bimodal: restarts fall into two groups (M15)")
        reports = (*doubted, *remarks) if has_runs else remarks
        texts += [(f"{show.share(point.fraction)} load", r) for r in reports]
    return grouped([(where, reason) for where, reason in texts if topic(reason) != QOS])


def lost(points: Sequence[PointRow]) -> list[str]:
    """Runs that are not believed, a sentence for all that share the reason, most frequent first.

    The first one ends with the action that would help most. A run counts once, by its first reason.
    """
    results: dict[str, list[str]] = defaultdict(list)
    for row in points:
        if not row.is_believed:
            why = row.reasons[0] if row.reasons else "nothing was measured"
            results[topic(why)].append(why)
    ordered = sorted(results.values(), key=len, reverse=True)
    sentences = [_lost(some, len(points)) for some in ordered]
    about = reasons.about(ordered[0][0]) if ordered else None
    if about and about.action:
        sentences[0] += f" What would help most: {about.action}."
    return sentences


def _lost(some: Sequence[str], of: int) -> str:
    """Runs that share a reason, with that of the middle one in full."""
    ordered = sorted(some, key=lambda reason: reasons.share(reason) or 0.0)
    middle = reasons.sentence(ordered[len(ordered) // 2])
    words, one = known.spanned(some), len(some) == 1
    who = f"{len(some)} of {of} runs {'is' if one else 'are'} not valid"
    if middle in words:
        return f"{who}: {middle}."
    return f"{who}: {words}. {'In full' if one else 'For instance'}: {middle}."


def is_of_lost(reason: str, points: Sequence[PointRow]) -> bool:
    """Whether a reason of a study or service is that of a run which `lost` has."""
    return any(reason.endswith(r) for row in points if not row.is_believed for r in row.reasons)


def grouped(texts: Sequence[tuple[str, str]]) -> list[Doubt]:
    """(where, reason) pairs by what they are about."""
    results: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for where, reason in texts:
        results[topic(reason)].append((where, reason))
    return sorted(starmap(_doubt, results.items()), key=lambda doubt: -doubt.times)


def _doubt(what: str, texts: list[tuple[str, str]]) -> Doubt:
    places = list(dict.fromkeys(where for where, _ in texts))
    shown = ", ".join(places[:PLACES])
    if len(places) > PLACES:
        shown += f" and {len(places) - PLACES} more"
    detail = texts[0][1].removeprefix(what).removeprefix(": ")
    is_same = len({reason for _, reason in texts}) == 1
    example = "" if is_same or not detail else f"for instance at {texts[0][0]}: "
    return Doubt(what, shown, f"{example}{detail}", len(texts))


def remark(point: LoadPoint) -> str:
    """What the point's reasons are about, for a narrow cell; `doubts` has them in full."""
    if not point.is_believed:
        return known.spanned(_first(point))
    likely = chance(point)
    words = show.uncoded(topics(point.reasons))
    return f"{words}, P = {likely}" if likely and "P = " not in words else words


def topics(texts: Sequence[str]) -> str:
    """What reasons are about, each topic once."""
    return show.sentences(tuple(dict.fromkeys(topic(reason) for reason in texts)))


def _title(column: str) -> str:
    if column in _WORDS:
        return _WORDS[column]
    unit = next((u for u in ("_ns", "_rps", "_s", "_share", "_ratio") if column.endswith(u)), "")
    words = column.removesuffix(unit).replace("_", " ")
    return f"{words}, requests/s" if unit == "_rps" else words


def _cell(column: str, cell: Cell) -> str:
    if isinstance(cell, str):
        return cell
    for unit, shown in _BY_UNIT.items():
        if column == unit or (unit.startswith("_") and column.endswith(unit)):
            return shown(number(cell))
    if isinstance(cell, float):
        return readable(cell)
    return "–" if cell is None else str(cell)


_PAPERS = {"C": "Chen et al.", "L": "Leverich and Kozyrakis", "P": "Pons et al."}


def source(code: str) -> str:
    """A paper's statement by its name, with the code that `docs/reference/papers.md` lists.

    >>> source("C7"), source("X1")
    ('Chen et al. (C7)', 'X1')
    """
    name = _PAPERS.get(code[:1])
    return f"{name} ({code})" if name else code


_CHANCE = re.compile(r"^borderline\b.*?(?:P = |probability )([01](?:\.\d+)?)")


def chance(point: LoadPoint) -> str:
    """The probability that a borderline load meets its target; "" for all others.

    It is the analysis that says so, in the reason of the load's `unknown`.
    """
    if point.verdict is not Verdict.UNKNOWN:
        return ""
    result = next((m for reason in point.reasons if (m := _CHANCE.search(reason))), None)
    return result[1] if result else ""


def verdict(point: LoadPoint) -> str:
    """A load's verdict for a narrow cell: `✓ holds`, or `? P 0.62` where it is borderline."""
    likely = chance(point)
    return f"? P {likely}" if likely else show.verdict(point.verdict)
