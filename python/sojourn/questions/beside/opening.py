"""A service beside a neighbour: where the tail breaks under each setting, what the other kept."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sojourn.findings.findings import Findings
from sojourn.questions.beside.costs import Beside, BesideSection
from sojourn.questions.beside.figure import PACE, TAIL, broken, name_of
from sojourn.questions.beside.interference import Number, Row
from sojourn.questions.beside.words import SENTENCE_LOAD
from sojourn.report import labels, numbers, plot, show
from sojourn.report.draw.table import Table
from sojourn.report.openings.opening import Opening, Opens, an, capital, fitting, listed, short
from sojourn.stats.interval import Interval

NAMED = 2
HEIGHT = 12  # lines of the plot


class BesideOpens(Opens):
    """One setting: what the neighbour costs. Several: which of them keep the tail."""

    name = "beside"
    place = 30

    def applies(self, findings: Findings) -> bool:
        """Where a load was compared with the same one alone."""
        section = findings.section(BesideSection)
        return bool(section and any(one.breaks.most for one in section.found))

    def opening(self, findings: Findings, width: int) -> Opening:
        """Tails against load, then what was stored."""
        section = findings.section(BesideSection)
        assert section is not None  # noqa: S101  # it applies
        own = [one for one in section.found if one.breaks.most]
        is_one = len(own) == 1
        sentences = _cost(own[0]) if is_one else _settings(own)
        table = _table(own)
        head = ["", *table.columns]
        rows = [[plot.sign(n), *map(str, row)] for n, row in enumerate(table.rows)]
        return Opening(
            headline=_headline(own),
            sentences=tuple(sentences)[:3],
            figures=(TAIL, PACE),
            text=(*_plot(own, width), "", *listed(head, rows, width)),
            table=table,
            caption=f"Where {_tail_name(own)} becomes twice that alone",
        )


def _headline(cases: Sequence[Beside]) -> str:
    tail = _tail_name(cases)
    if len(cases) == 1:
        row = sentence_row(cases[0])
        cost = f"A request takes {_more(row.mean_ns)} beside it" if row and row.mean_ns else ""
        return fitting(cost, f"{tail} doubles: {broken(cases[0])} load")
    calm = [one for one in cases if _is_pace_retained(one)]
    if not calm:
        undecided = sum(_is_open(one) for one in cases)
        text = f"{tail} doubles under {len(cases) - undecided} of {len(cases)} settings"
        text = _begun(text)
        return fitting(f"{text}, {undecided} undecided" if undecided else text, text)
    farthest = _farthest(calm)
    most = show.load(farthest[0].breaks.most)
    to = f"keep{'s' if len(farthest) == 1 else ''} {tail} up to {most} load"
    names = show.listed([_called(one, cases) for one in farthest], NAMED)
    return fitting(capital(f"{names} {to}"), f"{len(farthest)} of {len(cases)} settings {to}")


def _farthest(calm: Sequence[Beside]) -> list[Beside]:
    """Those that could be compared up to the highest load; of the others less is known."""
    most = max(one.breaks.most for one in calm)
    return [one for one in calm if one.breaks.most == most]


def _called(one: Beside, cases: Sequence[Beside]) -> str:
    """A setting in a few words, with its service and its neighbour where there are several."""
    texts = [name_of(one)]
    if len({each.service for each in cases}) > 1:
        texts.insert(0, one.service)
    text = ", ".join(texts)
    if len({each.neighbour for each in cases}) > 1:
        text += f" beside {an(labels.neighbour_name(one.neighbour))}"
    return text


def _tail_name(cases: Sequence[Beside]) -> str:
    """`p99`; services with targets of their own have tails of their own."""
    qs = {one.q for one in cases}
    return show.quantile(qs.pop()) if len(qs) == 1 else "the tail"


def _tail_of(cases: Sequence[Beside]) -> str:
    """`p99 of memcached`, or the tail alone where there are several services."""
    services, tail = {one.service for one in cases}, _tail_name(cases)
    return f"{tail} of {services.pop()}" if len(services) == 1 else tail


def _is_pace_retained(one: Beside) -> bool:
    """It was surely never twice that alone."""
    return math.isinf(one.breaks.hi) and one.breaks.lo >= one.breaks.most


def _is_open(one: Beside) -> bool:
    return math.isinf(one.breaks.hi) and not _is_pace_retained(one)


def _settings(cases: Sequence[Beside]) -> Iterator[str]:
    """Who breaks first, who never, and what the neighbour kept."""
    known = [one for one in cases if math.isfinite(one.breaks.hi)]
    if known:
        yield _first(known, cases)
    calm = [one for one in cases if _is_pace_retained(one)]
    still = sum(map(_is_open, cases))
    undecided = f"{still} {'is' if still == 1 else 'are'} undecided" if still else ""
    if calm:
        selected = [_called(one, cases) for one in calm]
        most = show.load(min(one.breaks.most for one in calm))  # what is known of each of them
        also = f"; {undecided}" if undecided else ""
        yield short(
            f"It never doubles up to {most} load with {show.listed(selected, NAMED)}{also}.",
            f"It never doubles up to {most} load under {len(selected)} settings{also}.",
        )
    elif known and undecided:
        yield f"Of {len(cases)} settings {undecided}."
    elif undecided:
        yield f"Under {still} settings it is undecided whether {_tail_of(cases)} doubles."
    yield from _pace_sentences(cases)


def _first(known: Sequence[Beside], cases: Sequence[Beside]) -> str:
    """Under which settings the tail doubles first; where that is open, under which it may."""
    lead = min(known, key=lambda one: (one.breaks.hi, one.breaks.lo)).breaks
    same = [one for one in known if (one.breaks.hi, one.breaks.lo) == (lead.hi, lead.lo)]
    is_first = all(lead.is_before(one.breaks) for one in cases if one not in same)
    # Breaks between the same loads may come in any order, and no one else breaks before them.
    rivals = same if is_first else [one for one in known if not lead.is_before(one.breaks)]
    span = replace(
        lead, lo=min(one.breaks.lo for one in rivals), hi=max(one.breaks.hi for one in rivals)
    )
    where = broken(replace(rivals[0], breaks=span))
    at = f"at {where}" if not where.startswith("at") else where
    names = show.listed([_called(one, cases) for one in rivals], NAMED)
    doubles = "doubles first" if is_first else "doubles"
    end = "; their order is open" if len(rivals) > len(same) else ""
    tail = _tail_of(cases)
    neighbours = {one.neighbour for one in cases}
    who = f"Beside {an(labels.neighbour_name(cases[0].neighbour))} " if len(neighbours) == 1 else ""
    return short(
        _begun(f"{who}{tail} {doubles} with {names}, {at} load{end}."),
        _begun(f"{tail} {doubles} with {names}, {at} load{end}."),
        _begun(f"{_tail_name(cases)} {doubles} under {len(rivals)} settings, {at} load{end}."),
    )


def _begun(text: str) -> str:
    """A sentence as it begins; `p99` has no capital."""
    return capital(text) if text.startswith("the ") else text


def _pace_sentences(cases: Sequence[Beside]) -> Iterator[str]:
    reported_of = [(one, one.kept) for one in cases if one.kept]
    if not reported_of:
        return
    (least, low), (most, high) = (
        pick(reported_of, key=lambda pair: pair[1].value) for pick in (min, max)
    )
    ends = low.interval, high.interval
    if _round(low) == _round(high):
        yield f"The neighbour keeps about {_round(low)} of its work under each setting."
    elif not ends[0] or not ends[1] or ends[0].hi >= ends[1].lo:
        of = f"The neighbour keeps {_round(low)} to {_round(high)} of its work"
        yield f"{of}; under which setting it keeps most is open."
    else:
        yield short(
            f"The neighbour keeps {_round(high)} of its work with {_called(most, cases)}, "
            f"and {_round(low)} with {_called(least, cases)}.",
            f"The neighbour keeps {_round(low)} to {_round(high)} of its work.",
        )


def _cost(one: Beside) -> Iterator[str]:
    tail, who, row = show.quantile(one.q), labels.neighbour(one.neighbour), sentence_row(one)
    if row and row.mean_ns:
        more = _more(row.mean_ns)
        at = f"in the mean at {show.load(row.load)} load"
        yield short(
            f"Beside {an(who)} a request takes {more} {at}.", f"A request takes {more} {at}."
        )
    most = show.load(one.breaks.most)
    if _is_pace_retained(one):
        yield f"{tail} of {one.service} is never twice that alone up to {most} load."
    elif _is_open(one):
        yield f"Whether {tail} of {one.service} doubles up to {most} load is undecided."
    else:
        where = broken(one)
        at = where if where.startswith("at") else f"at {where}"
        yield f"{tail} of {one.service} becomes twice that alone {at} load."
    if one.kept:
        yield f"The neighbour keeps {_round(one.kept)} of the work that it does alone."


def sentence_row(one: Beside) -> Row | None:
    """The load whose cost is in the sentence: the one nearest to half."""
    known = [row for row in one.rows if row.mean_ns]
    return min(known, key=lambda row: (abs(row.load - SENTENCE_LOAD), row.load), default=None)


def _more(count: Number) -> str:
    """`1.5 µs longer (0.2 to 3.0 µs)`; `from 0.2 µs less to 3 µs more` where that is open."""
    if count.interval is None:
        return f"{show.time(abs(count.value))} {'longer' if count.value >= 0 else 'less'}"
    lo, hi = count.interval.lo, count.interval.hi
    if lo <= 0 <= hi:  # not "as long as alone": an interval holds 0 where nothing could be seen
        if math.isinf(lo) or math.isinf(hi):
            return "an unknown time less or more"
        less, more = (show.time(show.known(abs(end), None, 1)) for end in (lo, hi))
        return f"from {less} less to {more} more"
    word = "longer" if count.value > 0 else "less"
    if math.isinf(lo) or math.isinf(hi):
        least = show.time(min(abs(lo), abs(hi)), -1)
        if math.isinf(count.value):
            return f"at least {least} {word}"
        return f"{show.time(show.known(abs(count.value), None))} {word} (≥ {least})"
    text = numbers.time(abs(count.value), Interval(*sorted((abs(lo), abs(hi)))))
    return text.replace(" (", f" {word} (", 1)


def _share(count: Number) -> str:
    """A share with its interval, if it has one."""
    return numbers.part(count.value, count.interval)


def _round(count: Number) -> str:
    half = (count.interval.hi - count.interval.lo) / 2 if count.interval else None
    return show.share(show.known(count.value, half))


def _table(cases: Sequence[Beside]) -> Table:
    tail = _tail_name(cases)
    rows = []
    for one in cases:
        last = next((row for row in reversed(one.rows) if row.ratio), None)
        at = f"{show.load(last.load)}: " if last else ""
        rows.append(
            (
                _called(one, cases),
                broken(one),
                f"{at}{_times(last)}",
                _share(one.kept) if one.kept else "–",
            )
        )
    columns = ("setting", f"{tail} doubles at", f"{tail} over alone at", "other keeps")
    return Table(columns=columns, rows=tuple(rows))


def _times(row: Row | None) -> str:
    if row is None or row.ratio is None:
        return "–"
    if math.isinf(row.ratio.value):
        return "∞"
    ends = row.ratio.interval
    half = (ends.hi - ends.lo) / 2 if ends else None
    between = f" ({_end(ends.lo, half)} to {_end(ends.hi, half)})" if ends else ""
    return f"{show.known(row.ratio.value, half):g}×{between}"


def _end(ratio: float, half: float | None) -> str:
    return "∞" if math.isinf(ratio) else f"{show.known(ratio, half):g}"


def _plot(cases: Sequence[Beside], width: int) -> Iterator[str]:
    """Tails beside the neighbour by the letter of their setting, dots alone."""
    yield f"{_tail_name(cases)} beside the neighbour, by letter; . alone"
    alone = [
        plot.Mark(x=row.load, y=row.alone_ns, sign=".")
        for one in cases
        for row in one.rows
        if row.alone_ns is not None
    ]
    marks = [
        plot.Mark(x=row.load, y=row.beside_ns, sign=plot.sign(n))
        for n, one in enumerate(cases)
        for row in one.rows
        if row.beside_ns is not None
    ]
    yield from plot.draw([*alone, *marks], bound_ns=None, bound="", width=width, height=HEIGHT)


KIND = BesideOpens()
