"""Services at once: what each does to the other's tail, a row for each of each combination."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.findings.effects import FactorFinding
from sojourn.findings.findings import Findings
from sojourn.questions.together.judge import Together
from sojourn.questions.together.meetings import Met
from sojourn.report import factors, show
from sojourn.report.draw import marks
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Figure, Kind, Sheet, finish
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Cell, Record, Table, from_records
from sojourn.report.section import Shown

NAME = "together"
# fmt: off
COLUMNS = (
    "service", "load", "beside", "under",
    "ratio", "lo", "hi", "p99_ns", "alone_ns", "blocks", "qos", "target", "chance",
)
# fmt: on
ROW_PX = 34


def rows(findings: Findings) -> list[Record]:
    """A record of each service in each combination, in words and in numbers."""
    section = findings.section(Together)
    return [_record(colocated) for colocated in section.met] if section else []


def draw(findings: Findings) -> list[Figure]:
    """One figure; none if no services were measured at once."""
    section = findings.section(Together)
    if not section or not section.met:
        return []
    records = [_record(colocated) for colocated in section.met]
    title = "p99 beside others, over p99 alone"
    table: Table = from_records(COLUMNS, records)
    drawn = [record for record in records if record["ratio"] is not None]
    if not drawn:
        missing = "No combination has valid runs in two blocks."
        return [Figure(name=NAME, title=title, caption="", alt="", table=table, missing=missing)]
    sheet = Sheet()
    y = alt.Y(
        "what:N", title=None, sort=[str(r["what"]) for r in drawn], axis=alt.Axis(labelLimit=420)
    )
    x = alt.X("ratio:Q", title="times as long", scale=alt.Scale(type="log", padding=12))
    fields = marks.tooltip("service", "load", "beside", "under", "times", "p99", "alone", "blocks")
    base = alt.Chart(sheet.data(NAME, drawn))
    ink = role("curve")
    lines = base.mark_rule(strokeWidth=2, color=ink).encode(
        x=alt.X("lo:Q"), x2=alt.X2("hi:Q"), y=y, tooltip=fields
    )
    dots = base.mark_point(size=70, filled=True, opacity=1, color=ink).encode(
        x=x, y=y, tooltip=fields
    )
    one = alt.Chart().mark_rule(color=role("ink"), strokeDash=[4, 3]).encode(x=alt.datum(1.0))
    chart = alt.layer(one, lines, dots, width="container", height=ROW_PX * len(drawn))
    longer = sum(colocated_.is_longer for colocated_ in section.met)
    return [
        Figure(
            name=NAME,
            title=title,
            caption=(
                "p99 of a service measured at the same time as others, divided by its p99 alone in"
                " the same block. Lines are 95 % intervals over blocks. On the line at 1 the others"
                " make no difference. (L19, C22)"
            ),
            alt=f"{longer} of {len(drawn)} tails are longer beside the others.",
            table=table,
            chart=finish(chart, sheet, title=title),
        )
    ]


def _record(colocated: Met) -> Record:
    others = ", ".join(f"{label} at {show.load(share)}" for label, share in colocated.beside)
    load = show.load(colocated.fraction)
    known = colocated.ratio is not None and colocated.lo is not None and colocated.hi is not None
    under = f", {colocated.under}" if colocated.under else ""
    cells: dict[str, Cell] = {
        "what": f"{colocated.service} at {load}, beside {others}{under}",
        "service": colocated.service,
        "load": load,
        "beside": others,
        "under": colocated.under,
        "ratio": colocated.ratio,
        "lo": colocated.lo,
        "hi": colocated.hi,
        "p99_ns": colocated.p99_ns,
        "alone_ns": colocated.alone_ns,
        "p99": show.time(colocated.p99_ns) if colocated.p99_ns is not None else "",
        "alone": show.time(colocated.alone_ns) if colocated.alone_ns is not None else "",
        "times": f"{colocated.ratio:.2g} ({colocated.lo:.2g} to {colocated.hi:.2g})"
        if known
        else "unknown",
        "blocks": colocated.blocks,
        "qos": colocated.qos.value if colocated.qos else "",
        "target": colocated.target,
        "shown_qos": _qos(colocated),
        "chance": colocated.chance,
        "reasons": show.sentences(colocated.reasons),
    }
    return cells


def _qos(colocated: Met) -> str:
    """The verdict, of which target, and how probable it is that that is met."""
    if colocated.qos is None:
        return "–"
    chance = "" if colocated.chance is None else f" (met with probability {colocated.chance:.2g})"
    return f"{show.verdict(colocated.qos)}: {colocated.target}{chance}"


FIGURE = Kind(
    name=NAME, about="p99 of services measured at once over p99 alone (L19, C22)", of_study=draw
)


class TogetherShown(Shown):
    """A part of the report for itself."""

    name = NAME
    template = ""
    study_template = "together/section.html.j2"
    study_link = (NAME, "services at once")
    figures = (FIGURE,)

    def rows(self, findings: Findings) -> list[Record]:
        """What the table on the page holds."""
        return rows(findings)

    def factors(self, findings: Findings) -> tuple[FactorFinding, ...]:
        """What each factor does to how much longer they take beside each other."""
        section = findings.section(Together)
        return section.factors if section else ()

    def study_head(self, findings: Findings) -> Iterator[str]:
        """What each service's tail does beside the others, in sentences."""
        if section := findings.section(Together):
            yield from filter(None, [section.answer])

    def study_table(self, findings: Findings, width: int) -> Iterator[str]:
        """A line per service and combination."""
        section = findings.section(Together)
        if not section or not section.met:
            return
        yield "services at once ".ljust(width, "=")
        form = "{:<12} {:>5} {:<24} {:>9} {:>9}  {:<20} {}"
        heads = ("service", "load", "beside", "p99", "alone", "times (95 % interval)", "QoS")
        yield form.format(*heads)
        under = ""
        for colocated in section.met:
            if colocated.under != under:
                yield f"with {colocated.under}:"
            under = colocated.under
            row = _record(colocated)
            yield form.format(
                colocated.service,
                row["load"],
                row["beside"],
                row["p99"],
                row["alone"],
                row["times"],
                show.verdict(colocated.qos) if colocated.qos else "",
            ).rstrip()
        yield from factors.lines(section.factors, width)


KIND = TogetherShown()
