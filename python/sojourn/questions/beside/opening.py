"""A service beside a neighbour: where the tail breaks under each setting, what the other kept."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sojourn.findings.findings import Findings
from sojourn.questions.beside.figure import KEPT, TAIL, broken, name_of
from sojourn.questions.beside.interference import Number, Row
from sojourn.questions.beside.judge import TOLD, Beside, BesideSection
from sojourn.report import labels, plot, show
from sojourn.report.draw.table import Table
from sojourn.report.openings.opening import Opening, Opens, an, capital, fitting, listed, short
from sojourn.stats.interval import Interval

NAMED = 2
SIGNS = "abcdefghijklmnop"
HEIGHT = 12  # lines of the plot


class BesideOpens(Opens):
    """One setting: what the neighbour costs. Several: which of them keep the tail."""

    name = "beside"
    place = 30

    def applies(self, findings: Findings) -> bool:
        """Where a load was compared with the same one alone."""
        found = findings.section(BesideSection)
        return bool(found and any(one.breaks.most for one in found.found))

    def opening(self, findings: Findings, width: int) -> Opening:
        """Tails against load, then what was kept."""
        found = findings.section(BesideSection)
        assert found is not None  # noqa: S101  # it applies
        mine = [one for one in found.found if one.breaks.most]
        is_one = len(mine) == 1
        sentences = _cost(mine[0]) if is_one else _settings(mine)
        table = _table(mine)
        head = ["", *table.columns]
        rows = [[sign, *map(str, row)] for sign, row in zip(SIGNS, table.rows, strict=False)]
        return Opening(
            headline=_headline(mine),
            sentences=tuple(sentences)[:3],
            figures=(TAIL, KEPT),
            text=(*_plot(mine, width), "", *listed(head, rows, width)),
            table=table,
            caption=f"Where {show.quantile(mine[0].q)} becomes twice that alone",
        )


def _headline(mine: Sequence[Beside]) -> str:
    tail = show.quantile(mine[0].q)
    if len(mine) == 1:
        row = told(mine[0])
        cost = f"A request takes {_more(row.mean_ns)} beside it" if row and row.mean_ns else ""
        return fitting(cost, f"{tail} doubles: {broken(mine[0])} load")
    kept = [one for one in mine if _is_kept(one)]
    if not kept:
        undecided = sum(_is_open(one) for one in mine)
        said = f"{tail} doubles under {len(mine) - undecided} of {len(mine)} settings"
        return fitting(f"{said}, {undecided} undecided" if undecided else said, said)
    to = f"keep{'s' if len(kept) == 1 else ''} {tail} up to {show.load(kept[0].breaks.most)} load"
    names = show.listed([name_of(one) for one in kept], NAMED)
    return fitting(capital(f"{names} {to}"), f"{len(kept)} of {len(mine)} settings {to}")


def _is_kept(one: Beside) -> bool:
    """It was surely never twice that alone."""
    return math.isinf(one.breaks.hi) and one.breaks.lo >= one.breaks.most


def _is_open(one: Beside) -> bool:
    return math.isinf(one.breaks.hi) and not _is_kept(one)


def _settings(mine: Sequence[Beside]) -> Iterator[str]:
    """Who breaks first, who never, and what the neighbour kept."""
    tail, service = show.quantile(mine[0].q), mine[0].service
    who = labels.neighbour_name(mine[0].neighbour)
    known = [one for one in mine if math.isfinite(one.breaks.hi)]
    if known:
        first = min((one.breaks.hi, one.breaks.lo) for one in known)
        names = [name_of(one) for one in known if (one.breaks.hi, one.breaks.lo) == first]
        where = broken(next(one for one in known if (one.breaks.hi, one.breaks.lo) == first))
        at = f"at {where}" if not where.startswith("at") else where
        yield short(
            f"Beside {an(who)} {tail} of {service} doubles first with {show.listed(names, NAMED)}, "
            f"{at} load.",
            f"{tail} of {service} doubles first with {show.listed(names, NAMED)}, {at} load.",
            f"{tail} doubles first under {len(names)} settings, {at} load.",
        )
    kept = [name_of(one) for one in mine if _is_kept(one)]
    still = sum(map(_is_open, mine))
    undecided = f"{still} {'is' if still == 1 else 'are'} undecided" if still else ""
    if kept:
        most = show.load(mine[0].breaks.most)
        also = f"; {undecided}" if undecided else ""
        yield short(
            f"It never doubles up to {most} load with {show.listed(kept, NAMED)}{also}.",
            f"It never doubles up to {most} load under {len(kept)} settings{also}.",
        )
    elif known and undecided:
        yield f"Of {len(mine)} settings {undecided}."
    elif undecided:
        yield f"Under {still} settings it is undecided whether {tail} of {service} doubles."
    yield from _kept(mine)


def _kept(mine: Sequence[Beside]) -> Iterator[str]:
    told_of = [(one, one.kept) for one in mine if one.kept]
    if not told_of:
        return
    (least, low), (most, high) = (
        pick(told_of, key=lambda pair: pair[1].value) for pick in (min, max)
    )
    if _round(low) == _round(high):
        yield f"The neighbour keeps about {_round(low)} of its work under each setting."
    else:
        yield short(
            f"The neighbour keeps {_round(high)} of its work with {name_of(most)}, "
            f"and {_round(low)} with {name_of(least)}.",
            f"The neighbour keeps {_round(low)} to {_round(high)} of its work.",
        )


def _cost(one: Beside) -> Iterator[str]:
    tail, who, row = show.quantile(one.q), labels.neighbour(one.neighbour), told(one)
    if row and row.mean_ns:
        more = _more(row.mean_ns)
        at = f"in the mean at {show.load(row.load)} load"
        yield short(
            f"Beside {an(who)} a request takes {more} {at}.", f"A request takes {more} {at}."
        )
    most = show.load(one.breaks.most)
    if _is_kept(one):
        yield f"{tail} of {one.service} is never twice that alone up to {most} load."
    elif _is_open(one):
        yield f"Whether {tail} of {one.service} doubles up to {most} load is undecided."
    else:
        where = broken(one)
        at = where if where.startswith("at") else f"at {where}"
        yield f"{tail} of {one.service} becomes twice that alone {at} load."
    if one.kept:
        yield f"The neighbour keeps {_round(one.kept)} of the work that it does alone."


def told(one: Beside) -> Row | None:
    """The load whose cost stands in the sentence: the one nearest to half."""
    known = [row for row in one.rows if row.mean_ns]
    return min(known, key=lambda row: (abs(row.load - TOLD), row.load), default=None)


def _more(found: Number) -> str:
    """`1.5 µs longer (0.2 to 3.0 µs)`, or `as long as alone, within ± 2 µs`."""
    if found.interval is None:
        return f"{show.time(abs(found.value))} {'longer' if found.value >= 0 else 'less'}"
    lo, hi = found.interval.lo, found.interval.hi
    if lo <= 0 <= hi:
        return f"as long as alone, within ± {show.time(show.known(max(-lo, hi), None))},"
    value = show.known(abs(found.value), (hi - lo) / 2)
    ends = Interval(*sorted(show.known(abs(end), (hi - lo) / 2) for end in (lo, hi)))
    word = "longer" if found.value > 0 else "less"
    return f"{show.time(value)} {word} ({show.times(ends)})"


def _share(found: Number) -> str:
    """A share with its interval, if it has one."""
    between = f" ({show.shares(found.interval)})" if found.interval else ""
    return f"{_round(found)}{between}"


def _round(found: Number) -> str:
    half = (found.interval.hi - found.interval.lo) / 2 if found.interval else None
    return show.share(show.known(found.value, half))


def _table(mine: Sequence[Beside]) -> Table:
    tail = show.quantile(mine[0].q)
    rows = []
    for one in mine:
        last = next((row for row in reversed(one.rows) if row.ratio), None)
        at = f"{show.load(last.load)}: " if last else ""
        many = one.service + ", " if len({each.service for each in mine}) > 1 else ""
        rows.append(
            (
                f"{many}{name_of(one)}",
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
    between = f" ({show.known(ends.lo, half):g} to {show.known(ends.hi, half):g})" if ends else ""
    return f"{show.known(row.ratio.value, half):g}×{between}"


def _plot(mine: Sequence[Beside], width: int) -> Iterator[str]:
    """Tails beside the neighbour by the letter of their setting, dots alone."""
    yield f"{show.quantile(mine[0].q)} beside the neighbour, by letter; . alone"
    alone = [
        plot.Mark(x=row.load, y=row.alone_ns, sign=".")
        for one in mine
        for row in one.rows
        if row.alone_ns is not None
    ]
    marks = [
        plot.Mark(x=row.load, y=row.beside_ns, sign=sign)
        for sign, one in zip(SIGNS, mine, strict=False)
        for row in one.rows
        if row.beside_ns is not None
    ]
    yield from plot.draw([*alone, *marks], bound_ns=None, bound="", width=width, height=HEIGHT)


KIND = BesideOpens()
