"""A service beside a neighbour under each setting: its tail, where that breaks, what is stored."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from sojourn.findings.findings import Findings
from sojourn.findings.load_point import LoadPoint
from sojourn.plan.setting import NEIGHBOUR, Setting
from sojourn.questions.beside import draw as draw_beside
from sojourn.questions.beside.costs import Beside, BesideSection
from sojourn.questions.beside.draw import ALONE, BESIDE
from sojourn.questions.beside.words import share_words
from sojourn.report import labels, show
from sojourn.report.draw.figure import Figure, Kind
from sojourn.report.draw.lookup import of_point
from sojourn.report.draw.table import Record, from_records
from sojourn.stats.interval import Estimate

TAIL, PACE = "beside-tail", "beside-kept"
# fmt: off
COLUMNS = (
    "service", "setting", "neighbour", "who", "fraction", "value_ns", "lo_ns", "hi_ns",
    "kept", "kept_lo", "kept_hi",
)
# fmt: on
Points = Mapping[tuple[str, str], Mapping[float, LoadPoint]]


def draw(findings: Findings) -> list[Figure]:
    """Two figures; none if no one was measured beside a neighbour."""
    section = findings.section(BesideSection)
    own = [one for one in section.found if one.rows] if section else []
    if not own:
        return []
    points = _points(findings)
    records = [record for one in own for record in _records(one, points)]
    if len(own) == 1:
        records = [record | {"setting": own[0].service} for record in records]
    tail, services = show.quantile(own[0].q), list(dict.fromkeys(one.service for one in own))
    who = " and ".join(dict.fromkeys(labels.neighbour(one.neighbour) for one in own))
    title = f"{tail} of {' and '.join(services)} beside {who}, and alone"
    figures = [
        Figure(
            name=TAIL,
            title=title,
            caption=(
                f"{tail} over all valid runs of a load with its 95 % interval; triangles: requests"
                " were lost. Broad and pale: the loads between which the tail becomes twice that"
                " alone. Load is a share of max RPS of the service alone."
            ),
            alt="; ".join(f"{name_of(one)}: {broken(one)}" for one in own),
            table=from_records(COLUMNS, records),
            chart=draw_beside.tail(records, _breaks(own), tail=tail, title=title),
        )
    ]
    selected = [r for r in records if r["who"] == BESIDE and r["kept"] is not None]
    if selected:
        title = f"What {who} keeps of its work alone"
        figures.append(
            Figure(
                name=PACE,
                title=title,
                caption="Mean over blocks with its 95 % interval, of what it does without service.",
                alt="; ".join(
                    f"{r['setting']} at {r['load']}: {r['shown_kept']}" for r in selected[:12]
                ),
                table=from_records(COLUMNS, selected),
                chart=draw_beside.kept_chart(selected, title=title),
            )
        )
    return figures


def name_of(one: Beside) -> str:
    """A setting in a few words."""
    return labels.setting(one.levels)


def broken(one: Beside) -> str:
    """Between which loads its tail breaks, in a few words.

    A load is a share of max RPS; "at 10 % or below", "30 to 60 %", "not up to 60 %".
    """
    breaks = one.breaks
    if not breaks.most:
        return "not measured"
    if math.isinf(breaks.hi):
        most = show.load(breaks.most)
        return f"not up to {most}" if breaks.lo >= breaks.most else f"undecided up to {most}"
    if not breaks.lo:
        return f"at {show.load(breaks.hi)} or below"
    return f"{show.load(breaks.lo).removesuffix(' %')} to {show.load(breaks.hi)}"


def _points(findings: Findings) -> Points:
    """Of each service under each combination the points by load."""
    return {
        (s.label or s.service, Setting(tuple(s.levels)).text): {p.fraction: p for p in s.points}
        for s in findings.services
    }


def _records(one: Beside, points: Points) -> Iterator[Record]:
    for row in one.rows:
        for who, neighbour, ns in (
            (BESIDE, one.neighbour, row.beside_ns),
            (ALONE, "none", row.alone_ns),
        ):
            if ns is None:
                continue
            levels = Setting.of({**dict(one.levels), NEIGHBOUR: neighbour})
            point = points.get((one.service, levels.text), {}).get(row.load)
            ends = _ends(of_point(point, one.q) if point else None)
            is_reported = row.ratio is not None and who == BESIDE
            yield {
                "service": one.service,
                "setting": name_of(one),
                "neighbour": labels.neighbour(one.neighbour),
                "who": who,
                "fraction": row.load,
                "value_ns": ns,
                "lo_ns": ends[0],
                "hi_ns": ends[1],
                "kept": row.kept.value if row.kept else None,
                "kept_lo": row.kept.interval.lo if row.kept and row.kept.interval else None,
                "kept_hi": row.kept.interval.hi if row.kept and row.kept.interval else None,
                "load": show.load(row.load),
                "shown": show.time(ns) if math.isfinite(ns) else "requests were lost",
                "shape": "number" if math.isfinite(ns) else "lost",
                "times": f"{row.ratio.value:.3g} times alone" if is_reported and row.ratio else "",
                "shown_kept": share_words(row.kept) if row.kept else "",
            }


def _ends(estimate: Estimate | None) -> tuple[float | None, float | None]:
    """Across restarts where that is known, as the ratio has it."""
    ends = (estimate.across_restarts or estimate.interval) if estimate else None
    return (ends.lo, ends.hi) if ends else (None, None)


def _breaks(each: Sequence[Beside]) -> list[Record]:
    """The two ends of each break that is known on both sides, on the curve beside."""
    return [
        {"setting": name_of(one), "fraction": row.load, "value_ns": row.beside_ns}
        for one in each
        if one.breaks.lo and math.isfinite(one.breaks.hi)
        for row in one.rows
        if row.load in {one.breaks.lo, one.breaks.hi} and row.beside_ns is not None
    ]


KIND = Kind(
    name="beside",
    place=61,
    about="tail beside a neighbour under each setting, where it breaks, what is kept (L17, L18)",
    of_study=draw,
)
