"""Who is to blame: a row for each suspect, the tail with it and without it, and what it cost."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator

from sojourn.findings.findings import ServiceFinding
from sojourn.findings.state import Settle
from sojourn.questions.blame import figure
from sojourn.questions.blame.blames import Blames
from sojourn.questions.blame.plan import NAME
from sojourn.questions.blame.suspects import GUILTY
from sojourn.questions.blame.tables import ALONE, COLUMNS, STOPPED, _records, costs, rows
from sojourn.questions.blame.words import limit
from sojourn.report import show
from sojourn.report.draw import marks
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Figure, Kind, Sheet, finish
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record, from_records, number
from sojourn.report.section import Number, Shown
from sojourn.stats.interval import Interval

RUNS, STOPS = "it runs", "it is stopped"
AS_IS, REST = "as it is", "all of them stopped"
ROW_PX = 46
REACH = 10.0  # times its beginning: as far a line goes where lost requests leave no end
KERNELS = (
    "kworker",
    "ksoftirqd",
    "kswapd",
    "kdamond",
    "kcompactd",
    "khugepaged",
    "rcu_",
    "migration",
)


def draw(service: ServiceFinding) -> list[Figure]:
    """The tail with each suspect and without it; nothing where it was not asked."""
    section = service.section(Blames)
    if section is None:
        return []
    name, title = f"blame-{service.service}", "The tail with each suspect and without it"
    records = rows(section)
    table = from_records(COLUMNS, records)
    drawn = _drawn(section, records)
    if not drawn:
        missing = "No comparison of the experiment has enough requests."
        return [Figure(name=name, title=title, caption="", alt="", table=table, missing=missing)]
    q = show.quantile(section.q)
    sheet = Sheet()
    base = alt.Chart(sheet.data(name, drawn))
    order = list(dict.fromkeys(str(record["what"]) for record in drawn))
    y = alt.Y("what:N", title=None, sort=order, axis=alt.Axis(labelLimit=380))
    states = [AS_IS, RUNS, STOPS, REST]
    offset = alt.YOffset("state:N", sort=[RUNS, STOPS])
    inks = [role("ink"), role("violated"), role("holds"), role("muted")]
    colour = alt.Color(
        "state:N", scale=alt.Scale(domain=states, range=inks), legend=alt.Legend(title=None)
    )
    shape = alt.Shape(
        "state:N",
        scale=alt.Scale(domain=states, range=["diamond", "square", "circle", "triangle-up"]),
        legend=alt.Legend(title=None),
    )
    axis = alt.Axis(labelExpr=_EXPR)
    x = alt.X("ns:Q", title=q, scale=alt.Scale(type="log", padding=12), axis=axis)
    fields = marks.tooltip("what", "state", "shown", "sure", "verdict", "said")
    lines = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("lo:Q"), x2=alt.X2("hi:Q"), y=y, yOffset=offset, color=colour, tooltip=fields
    )
    dots = base.mark_point(size=70, filled=True, opacity=1).encode(
        x=x, y=y, yOffset=offset, color=colour, shape=shape, tooltip=fields
    )
    bound = alt.Chart().mark_rule(color=role("qos"), strokeDash=[4, 3])
    layers = [lines, dots, bound.encode(x=alt.datum(section.bound_ns))]
    chart = alt.layer(*layers, width="container", height=ROW_PX * len(order))
    guilty = [row.name for row in section.rows if row.word == GUILTY]
    return [
        Figure(
            name=name,
            title=title,
            caption=(
                f"{q} of the requests due in windows in which a suspect ran, and in those in which"
                " it was stopped. Lines are 95 % intervals over windows, the dashed line is the"
                " bound. If others hide the harm of a suspect, it is shown alone and with none."
                " A line that ends at ten times its beginning has no end there. (M22)"
            ),
            alt=f"{len(guilty)} of {len(section.rows)} suspects are guilty"
            + (f": {', '.join(guilty)}." if guilty else "."),
            table=table,
            chart=finish(chart, sheet, title=title),
        )
    ]


def _drawn(blames: Blames, records: list[Record]) -> list[Record]:
    """A mark of each state: as it is, each suspect running and stopped, and all stopped."""
    reports = {row.name: ALONE if row.is_hidden else STOPPED for row in blames.rows}
    marked = [_mark(AS_IS, AS_IS, blames.as_is_ns, blames.as_is)]
    for record in records:
        if record["comparison"] != reports[str(record["suspect"])] or record["refused"]:
            continue
        more = {"verdict": record["verdict"], "said": record["said"]}
        for state, side in ((RUNS, "with"), (STOPS, "without")):
            ends = record[f"{side}_lo_ns"], record[f"{side}_hi_ns"]
            # fmt: off
            mark = {
                "what": record["suspect"], "state": state, "ns": record[f"{side}_ns"],
                "lo": ends[0], "hi": ends[1], "shown": record[side],
                "sure": record[f"{side}_sure"],
            }
            # fmt: on
            marked.append({**mark, **more})
    if len(blames.rows) > 1:
        marked.append(_mark(REST, REST, blames.rest_ns, blames.rest))
    return [_with_ends(mark) for mark in marked if mark["ns"] is not None]


def _with_ends(mark: Record) -> Record:
    """With ends that have a place on the axis: lost requests leave a line without an upper one."""
    lo, hi = number(mark["lo"]), number(mark["hi"])
    if lo is None or hi is None or math.isfinite(hi):
        return mark
    ends: Record = {"hi": REACH * lo} if math.isfinite(lo) else {"lo": None, "hi": None}
    return mark | ends


def _mark(what: str, state: str, ns: float | None, interval: Interval | None) -> Record:
    # fmt: off
    return {
        "what": what, "state": state, "ns": ns, "lo": interval.lo if interval else None,
        "hi": interval.hi if interval else None, "shown": show.time(ns),
        "sure": show.times(interval), "verdict": "", "said": "",
    }
    # fmt: on


_EXPR = (
    "datum.value < 1e6 ? datum.value / 1e3 + ' µs' :"
    " datum.value < 1e9 ? datum.value / 1e6 + ' ms' : datum.value / 1e9 + ' s'"
)

FIGURE = Kind(name=NAME, about="the tail with each suspect and without it (M22)", of_service=draw)


def _try(blames: Blames, label: str) -> str:
    """How to put a stranger to the test; "" where all are the kernel's, which cannot be stopped."""
    ordinary = (name for name in blames.strangers if not name.startswith(KERNELS))
    if not (name := next(ordinary, "")):
        return ""
    who = shlex.quote(f"services.{label}.blame.suspects=name:{name}")
    return f" To try one: --set {who} --set services.{label}.blame.consent=true"


class BlameShown(Shown):
    """Two tables: the comparisons, and what each suspect used and cost."""

    name = NAME
    template = "blame/section.html.j2"
    figures = (figure.KIND, FIGURE)

    def found(self, service: ServiceFinding) -> Blames | None:
        """The section, for the template."""
        return service.section(Blames)

    def rows(self, blames: Blames) -> list[Record]:
        """Every comparison, in words and numbers."""
        return rows(blames)

    def costs(self, blames: Blames) -> list[Record]:
        """What each suspect used and cost, in words."""
        return costs(blames)

    def number(self, service: ServiceFinding) -> Number | None:
        """The ratio of the guiltiest; where no one is guilty, the tail as it is."""
        section = service.section(Blames)
        if section is None or section.as_is_ns is None:
            return None
        guilty = [
            r
            for r in section.rows
            if r.word == GUILTY and r.comparison.ratio and r.comparison.interval
        ]
        q = show.quantile(section.q)
        if not guilty:
            number = show.time(section.as_is_ns)
            return Number(number=number, said=f"{q}, and no suspect is guilty", short=number)
        worst = max(guilty, key=lambda row: row.comparison.ratio or 0.0)
        report = worst.comparison
        assert report.interval is not None  # noqa: S101  # those without were left out
        bound = limit(report)
        ends = "" if bound else f"{report.interval.lo:.3g} to {report.interval.hi:.3g}: "
        number = f"{bound or f'{report.ratio:.3g}'} times"
        return Number(number=number, said=f"{ends}{q} with {worst.name}", short=number)

    def facts(self, service: ServiceFinding) -> Iterator[tuple[str, str]]:
        """The load, the tail as it is and with all suspects stopped."""
        section = service.section(Blames)
        if section is None or section.as_is_ns is None:
            return
        q = show.quantile(section.q)
        yield "offered load", f"{show.count(section.rate_rps)} requests/s"
        yield f"{q} as it is", f"{show.time(section.as_is_ns)} ({show.times(section.as_is)})"
        if section.rest_ns is not None:
            rest = f"{show.time(section.rest_ns)} ({show.times(section.rest)})"
            yield f"{q}, all suspects stopped", rest

    def settle(self, service: ServiceFinding) -> Settle | None:
        """More blocks, where somebody is undecided."""
        section = service.section(Blames)
        return section.settle if section else None

    def notes(self, service: ServiceFinding) -> list[str]:
        """What the tracer saw, or why no look of it is used; who else ran there."""
        section = service.section(Blames)
        if section is None:
            return []
        texts = []
        if section.traced:
            seen = "; ".join(
                f"{about} {show.share(share)}" for about, share, _ in section.traced[:3]
            )
            texts.append(f"The slowest requests' excess, by the tracer (no proof): {seen}.")
        elif section.look_why:
            texts.append(f"No look by the tracer is used: {section.look_why}.")
        if section.strangers:
            label = service.label or service.service
            names = ", ".join(section.strangers_named[:5])
            texts.append(
                f"On the service's CPUs, and not suspected: {names}.{_try(section, label)}"
            )
        return texts

    def table(self, service: ServiceFinding, width: int) -> Iterator[str]:
        """Lines of at most `width` columns."""
        section = service.section(Blames)
        if section is None or not section.rows:
            return
        yield "who is to blame ".ljust(width, "=")
        for row in section.rows:
            on = f", on {row.resource}" if row.resource else ""
            yield f"{row.who}: {row.word}{on}"[:width]
            for record in _records(row):
                line = f"  {record['comparison']!s:<27} {record['with']!s:>8} / "
                line += f"{record['without']!s:<8} = {record['said']}"
                yield line[:width]


KIND = BlameShown()
