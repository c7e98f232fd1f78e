"""Scheduler settings side by side: properties with numbers, matrices, and the paper's word."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.findings.findings import Findings
from sojourn.questions.beside.section import lines
from sojourn.questions.scheduler_bakeoff.judge import Bakeoff, Candidate
from sojourn.report import show
from sojourn.report.draw.table import Table
from sojourn.report.section import Shown

NAME = "scheduler_bakeoff"
PROPERTIES = "What each setting can do, measured by processes of the lab's own under it"
MATRICES = "What each setting's QoS matrix came to"


class BakeoffShown(Shown):
    """A part of the report for itself, which is reported first."""

    name = NAME
    template = ""
    study_template = "study_tables.html.j2"
    study_link = (NAME, "Schedulers side by side")
    leads = True

    def study_head(self, findings: Findings) -> Iterator[str]:
        """The order, then each disagreement with the paper, then what is open."""
        if section := findings.section(Bakeoff):
            yield section.answer
            yield from (f"Not as in the paper: {text}." for text in section.disagreements)
            yield from (f"{why}." for why in section.reasons)

    def study_data(self, findings: Findings) -> Iterator[tuple[str, Table]]:
        """Properties first, then what matrices came to."""
        if section := findings.section(Bakeoff):
            yield PROPERTIES, _properties(section)
            yield MATRICES, _matrices(section)

    def study_table(self, findings: Findings, width: int) -> Iterator[str]:
        """The same tables, as text."""
        for caption, table in self.study_data(findings):
            yield f"{caption} ".ljust(width, "=")
            yield from lines(table, width)


def _properties(bakeoff: Bakeoff) -> Table:
    rows = tuple(
        (one.name, own.name, own.verdict, others or "not stated", own.said)
        for one in bakeoff.candidates
        for own, others in zip(one.properties, one.paper, strict=True)
    )
    return Table(columns=("setting", "property", "here", "paper", "measured"), rows=rows)


def _matrices(bakeoff: Bakeoff) -> Table:
    rows = tuple(
        (one.name, _fits(one), most_together(one), one.paper_matrix or "–")
        for one in bakeoff.candidates
    )
    return Table(columns=("setting", "both_fit", "most_together", "paper"), rows=rows)


def _fits(one: Candidate) -> str:
    if one.fits is None:
        return "not measured"
    more = f", {one.open} open" if one.open else ""
    return f"{one.fits} of {one.cells}{more}"


def most_together(one: Candidate) -> str:
    """The most load of both together; where pairs are open it may be more."""
    if one.most is None:
        return "–"
    return f"{show.load(one.most)}{' or more' if one.open else ''}"


KIND = BakeoffShown()
