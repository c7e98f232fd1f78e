"""Services at once: what each does to the other's tail, a row for each of each combination."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt

from sojourn.findings.findings import FactorFinding, Findings
from sojourn.questions.together.judge import Together
from sojourn.questions.together.meetings import Met
from sojourn.report import factors, show
from sojourn.report.draw import marks
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
    found = findings.section(Together)
    return [_record(met) for met in found.met] if found else []


def draw(findings: Findings) -> list[Figure]:
    """One figure; none if no services were measured at once."""
    found = findings.section(Together)
    if not found or not found.met:
        return []
    records = [_record(met) for met in found.met]
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
        x=alt.X("lo:Q"), x2="hi:Q", y=y, tooltip=fields
    )
    dots = base.mark_point(size=70, filled=True, opacity=1, color=ink).encode(
        x=x, y=y, tooltip=fields
    )
    one = alt.Chart().mark_rule(color=role("ink"), strokeDash=[4, 3]).encode(x=alt.datum(1.0))
    chart = alt.layer(one, lines, dots).properties(width="container", height=ROW_PX * len(drawn))
    longer = sum(met.is_longer for met in found.met)
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


def _record(met: Met) -> Record:
    others = ", ".join(f"{label} at {show.load(share)}" for label, share in met.beside)
    load = show.load(met.fraction)
    known = met.ratio is not None and met.lo is not None and met.hi is not None
    under = f", {met.under}" if met.under else ""
    cells: dict[str, Cell] = {
        "what": f"{met.service} at {load}, beside {others}{under}",
        "service": met.service,
        "load": load,
        "beside": others,
        "under": met.under,
        "ratio": met.ratio,
        "lo": met.lo,
        "hi": met.hi,
        "p99_ns": met.p99_ns,
        "alone_ns": met.alone_ns,
        "p99": show.time(met.p99_ns) if met.p99_ns is not None else "",
        "alone": show.time(met.alone_ns) if met.alone_ns is not None else "",
        "times": f"{met.ratio:.2g} ({met.lo:.2g} to {met.hi:.2g})" if known else "unknown",
        "blocks": met.blocks,
        "qos": met.qos.value if met.qos else "",
        "target": met.target,
        "shown_qos": _qos(met),
        "chance": met.chance,
        "reasons": show.sentences(met.reasons),
    }
    return cells


def _qos(met: Met) -> str:
    """The verdict, of which target, and how probable it is that that is met."""
    if met.qos is None:
        return "–"
    chance = "" if met.chance is None else f" (met with probability {met.chance:.2g})"
    return f"{show.verdict(met.qos)}: {met.target}{chance}"


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
        found = findings.section(Together)
        return found.factors if found else ()

    def study_head(self, findings: Findings) -> Iterator[str]:
        """What each service's tail does beside the others, in sentences."""
        if found := findings.section(Together):
            yield from filter(None, [found.answer])

    def study_table(self, findings: Findings, width: int) -> Iterator[str]:
        """A line per service and combination."""
        found = findings.section(Together)
        if not found or not found.met:
            return
        yield "services at once ".ljust(width, "=")
        form = "{:<12} {:>5} {:<24} {:>9} {:>9}  {:<20} {}"
        heads = ("service", "load", "beside", "p99", "alone", "times (95 % interval)", "QoS")
        yield form.format(*heads)
        under = ""
        for met in found.met:
            if met.under != under:
                yield f"with {met.under}:"
            under = met.under
            row = _record(met)
            yield form.format(
                met.service,
                row["load"],
                row["beside"],
                row["p99"],
                row["alone"],
                row["times"],
                show.verdict(met.qos) if met.qos else "",
            ).rstrip()
        yield from factors.lines(found.factors, width)


KIND = TogetherShown()
