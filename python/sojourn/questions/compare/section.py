"""A comparison on the page and in the terminal: a line for each number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn.findings.findings import Findings
from sojourn.questions.compare.compared import Compared, Row
from sojourn.questions.compare.figure import FIGURE
from sojourn.questions.compare.plan import NAME
from sojourn.questions.compare.words import (
    blocks_text,
    moved_words,
    ratio_text,
    value_texts,
)
from sojourn.report.comparison import MOVED
from sojourn.report.draw.table import Table
from sojourn.report.section import Shown

HEADS = ("service", "number", "first", "this", "ratio", "pairs", "verdict")


class CompareShown(Shown):
    """A part of the report for itself."""

    name = NAME
    template = ""
    study_template = "study_tables.html.j2"
    study_link = (NAME, "Comparison")
    leads = True
    figures = (FIGURE,)

    def study_head(self, findings: Findings) -> Iterator[str]:
        """The answer, and what an open one would take."""
        if section := findings.section(Compared):
            yield section.answer
            yield from (f"{reason[0].upper()}{reason[1:]}." for reason in section.reasons)
            yield from moved_words(section)

    def study_table(self, findings: Findings, width: int) -> Iterator[str]:
        """A line for each number."""
        section = findings.section(Compared)
        if not section or not section.rows:
            return
        yield f"compared with {section.first} ".ljust(width, "=")
        yield from _aligned([HEADS, *map(_cells, section.rows)])
        for one in section.moved:
            yield f"what moved, {one.what} ".ljust(width, "=")
            yield from _aligned([MOVED, *one.rows])

    def study_data(self, findings: Findings) -> Iterator[tuple[str, Table]]:
        """The same for the page."""
        if section := findings.section(Compared):
            caption = (
                f"{blocks_text(section)}; each has a run of every service from a fresh start, in "
                "random order, and for max RPS another in a closed loop. First: medians of "
                f"{section.first}. Intervals hold at all times together."
            )
            yield caption, Table(columns=HEADS, rows=tuple(map(_cells, section.rows)))
            for one in section.moved:
                yield f"What moved, {one.what}: {one.answer}", Table(columns=MOVED, rows=one.rows)


def _aligned(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines of a table in the terminal."""
    wide = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(cell.ljust(size) for cell, size in zip(line, wide, strict=True)).rstrip()


def _cells(row: Row) -> tuple[str, ...]:
    note = ", two groups of starts" if row.modes else ""
    return (
        row.service,
        row.number,
        *value_texts(row),
        ratio_text(row),
        str(row.pairs),
        f"{row.judgement}{note}",
    )


KIND = CompareShown()
