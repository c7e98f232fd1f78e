"""What two copies of a program on the hyper-threads of a core are worth: a row a program (P21)."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.findings.findings import Findings
from sojourn.questions.smt_pairs.judge import PAPER, SOURCE, Pair, SmtPairsFound, sure
from sojourn.questions.smt_pairs.plan import NAME
from sojourn.report.draw import marks
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Figure, Kind, Sheet, finish
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record, from_records
from sojourn.report.section import Shown

COLUMNS = (
    "program",
    "speed_up",
    "lo",
    "hi",
    "core_per_s",
    "pair_per_s",
    "unit",
    "blocks",
    "reason",
)
TITLE = "Two copies on the hyper-threads of a core, over one alone on it"
ROW_PX = 34


def rows(findings: Findings) -> list[Record]:
    """A record of each program, in words and in numbers."""
    section = findings.section(SmtPairsFound)
    return [_record(pair) for pair in section.pairs] if section else []


def _record(pair: Pair) -> Record:
    ends = pair.interval
    return {
        "program": pair.program,
        "speed_up": pair.speed_up,
        "lo": ends.lo if ends else None,
        "hi": ends.hi if ends else None,
        "core_per_s": pair.core_per_s,
        "pair_per_s": pair.pair_per_s,
        "unit": pair.unit,
        "blocks": pair.blocks,
        "reason": pair.reason,
        "times": f"{pair.speed_up:.2f} ({sure(pair)})" if pair.speed_up else "unknown",
        "alone": _pace(pair.core_per_s, pair.unit),
        "both": _pace(pair.pair_per_s, pair.unit),
    }


def _pace(per_s: float | None, unit: str) -> str:
    return "" if per_s is None else f"{per_s:.3g} {unit}/s"


def draw(findings: Findings) -> list[Figure]:
    """One figure; none if it was not asked."""
    records = rows(findings)
    if not records:
        return []
    table = from_records(COLUMNS, records)
    drawn = [record for record in records if record["speed_up"] is not None]
    if not drawn:
        missing = "No program has a valid run of one alone and of two together."
        return [Figure(name=NAME, title=TITLE, caption="", alt="", table=table, missing=missing)]
    sheet = Sheet()
    y = alt.Y("program:N", title=None, sort=[str(r["program"]) for r in drawn])
    x = alt.X("speed_up:Q", title="times the work of one", scale=alt.Scale(zero=False, padding=20))
    fields = marks.tooltip("program", "times", "alone", "both", "blocks")
    base, ink = alt.Chart(sheet.data(NAME, drawn)), role("curve")
    layers = [
        alt.Chart().mark_rule(color=role("ink"), strokeDash=[4, 3]).encode(x=alt.datum(1.0)),
        base.mark_rule(strokeWidth=2, color=ink).encode(
            x=alt.X("lo:Q"), x2=alt.X2("hi:Q"), y=y, tooltip=fields
        ),
        base.mark_point(size=70, filled=True, opacity=1, color=ink).encode(
            x=x, y=y, tooltip=fields
        ),
    ]
    chart = alt.layer(*layers, width="container", height=ROW_PX * len(drawn))
    return [
        Figure(
            name=NAME,
            title=TITLE,
            caption=(
                "Paces of both copies, added, over that of one copy alone on the same core, with"
                " 95 % intervals. At 1 the second hyper-thread adds nothing, at 2 each copy is as"
                f" fast as one alone. {PAPER}. ({SOURCE})"
            ),
            alt="; ".join(f"{r['program']}: {r['times']}" for r in drawn),
            table=table,
            chart=finish(chart, sheet, title=TITLE),
        )
    ]


FIGURE = Kind(
    name=NAME, about="speed-up of two copies on the hyper-threads of a core (P21)", of_study=draw
)


class SmtPairsShown(Shown):
    """A part of the report for itself."""

    name = NAME
    template = ""
    study_template = "smt_pairs/section.html.j2"
    study_link = (NAME, "pairs on a core")
    figures = (FIGURE,)

    def rows(self, findings: Findings) -> list[Record]:
        """What the table on the page holds."""
        return rows(findings)

    def study_head(self, findings: Findings) -> Iterator[str]:
        """What the second hyper-thread is worth to each program, and to the paper's."""
        if section := findings.section(SmtPairsFound):
            yield section.answer
            yield f"{PAPER} ({SOURCE})."

    def study_table(self, findings: Findings, width: int) -> Iterator[str]:
        """A line of text for each program."""
        records = rows(findings)
        if not records:
            return
        yield "pairs on a core ".ljust(width, "=")
        form = "{:<20} {:<22} {:<16} {:<16}"
        yield form.format("program", "speed-up (95 %)", "one alone", "both together").rstrip()
        for row in records:
            cells = (str(row[name]) for name in ("program", "times", "alone", "both"))
            yield form.format(*cells)[:width].rstrip()


KIND = SmtPairsShown()
