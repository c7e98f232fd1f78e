"""Ratios of a comparison as dots with intervals."""

from __future__ import annotations

from sojourn.findings.findings import Findings
from sojourn.questions.compare.compared import Compared, Row
from sojourn.questions.compare.words import ratio_text, value_texts
from sojourn.report.draw import dots
from sojourn.report.draw.figure import Figure, Kind
from sojourn.report.draw.table import Record, from_records
from sojourn.stats.paired_ratio import Judgement

COLUMNS = ("service", "number", "first", "this", "ratio", "lo", "hi", "pairs", "verdict")
LOOKS = {
    Judgement.WORSE: "violated",
    Judgement.BETTER: "holds",
    Judgement.SAME: "series-0",
    Judgement.OPEN: "unknown",
}


def draw(findings: Findings) -> list[Figure]:
    """One figure; none where nothing was compared."""
    section = findings.section(Compared)
    rows = [row for row in section.rows if row.ratio is not None] if section else []
    if section is None or not rows:
        return []
    records = [_record(row) for row in rows]
    title = f"Each number as a ratio to that of {section.first}"
    return [
        Figure(
            name=FIGURE.name,
            title=title,
            caption=(
                "Ratios within blocks, each of which has a run of every service. Lines are "
                "intervals that hold at all times together. At 1 nothing differs. Hollow: it "
                "cannot be decided. (M38)"
            ),
            alt=f"{section.headline} {'; '.join(f'{r.number} {ratio_text(r)}' for r in rows)}.",
            table=from_records(COLUMNS, records),
            chart=dots.ratios(
                records,
                looks={str(name): look for name, look in LOOKS.items()},
                hollow=str(Judgement.OPEN),
                title=title,
                across=f"times that of {section.first}",
                tooltip=("row", "words", "first", "this", "pairs", "verdict"),
            ),
            is_wide=True,
        )
    ]


def _record(row: Row) -> Record:
    first, this = value_texts(row)
    ends = row.interval
    return {
        "service": row.service,
        "number": row.number,
        "first": first,
        "this": this,
        "ratio": row.ratio,
        "lo": ends.lo if ends else None,
        "hi": ends.hi if ends else None,
        "pairs": row.pairs,
        "verdict": str(row.judgement),
        "row": f"{row.service} {row.number}",
        "look": str(row.judgement),
        "words": ratio_text(row),
        "floor": None,
        "shown": f"{row.ratio:.3g}" if row.judgement.differs else "",
    }


FIGURE = Kind(
    name="compared",
    about="numbers of services in turn, as ratios to those of the first (M38)",
    of_study=draw,
)
