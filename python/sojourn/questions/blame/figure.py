"""Suspects of all conditions, ranked by what stopping them does to the tail (M22)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sojourn.findings.findings import Findings
from sojourn.plan.setting import NEIGHBOUR
from sojourn.questions.blame.blames import Blames
from sojourn.questions.blame.randomisation import Contrast
from sojourn.questions.blame.suspects import CLEARED, GUILTY, UNDECIDED, Row
from sojourn.questions.blame.words import limit
from sojourn.report import labels, numbers, show
from sojourn.report.draw import dots
from sojourn.report.draw.figure import Figure, Kind
from sojourn.report.draw.table import Record, from_records

NAME = "suspects"
COLUMNS = ("service", "condition", "suspect", "verdict", "resource", "ratio", "lo", "hi", "doubt")
LOOKS = {GUILTY: "violated", CLEARED: "holds", UNDECIDED: "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Accused:
    """One suspect in one condition.

    Attributes:
        name: in a few words.
        beside: the condition, where the same suspect was tried in several; else "".
    """

    service: str
    name: str
    beside: str
    row: Row

    @property
    def title(self) -> str:
        """`syscalls at 1 %, alone`."""
        return f"{self.name}, {self.beside}" if self.beside else self.name


def accused(findings: Findings) -> list[Accused]:
    """Every suspect: the guilty first, then the open ones, each the largest ratio first."""
    results = [
        (service, row)
        for service in findings.services
        if (section := service.section(Blames))
        for row in section.rows
    ]
    often = Counter(row.name for _, row in results)
    every = [
        Accused(
            service=service.label or service.service,
            name=_name(row.name, often),
            beside=_beside(dict(service.levels).get(NEIGHBOUR)) if often[row.name] > 1 else "",
            row=row,
        )
        for service, row in results
    ]
    order = list(LOOKS)
    order.sort(key=[GUILTY, UNDECIDED, CLEARED].index)
    return sorted(
        every, key=lambda one: (order.index(one.row.word), -(one.row.comparison.ratio or 0.0))
    )


def _name(text: str, others: Iterable[str]) -> str:
    """A suspect in as few words as tell it from the others."""
    short = labels.neighbour_name(text)
    same = [other for other in others if labels.neighbour_name(other) == short]
    return short if len(same) == 1 else labels.neighbour(text)


def cleared_of_all(suspects: Sequence[Accused]) -> list[str]:
    """Who is cleared wherever it was suspected."""
    rest = {one.name for one in suspects if one.row.word != CLEARED}
    return [name for name in dict.fromkeys(one.name for one in suspects) if name not in rest]


def rows(suspects: Sequence[Accused]) -> list[tuple[str, Accused]]:
    """(name, suspect): one that is cleared of every condition once, where it looks worst."""
    cleared = cleared_of_all(suspects)
    every = [(one.title, one) for one in suspects if one.name not in cleared]
    for name in cleared:
        same = [one for one in suspects if one.name == name]
        worst = max(same, key=lambda one: one.row.comparison.ratio or 0.0)
        every.append((f"{name}, worst of {len(same)}" if len(same) > 1 else name, worst))
    return every


def _beside(level: object) -> str:
    """The condition in which a suspect was tried that is tried in all."""
    text = labels.neighbour_name(str(level)) if level is not None else ""
    return f"beside {text}" if text and text != labels.ALONE else "alone" if text else ""


def tail(findings: Findings) -> str:
    """The quantile that it is about."""
    known = (service.section(Blames) for service in findings.services)
    return show.quantile(next((section.q for section in known if section), 0.99))


def draw(findings: Findings) -> list[Figure]:
    """One figure; none where no one was suspected."""
    suspects = accused(findings)
    if not suspects:
        return []
    q = tail(findings)
    records = [_record(one) for one in suspects]
    title = f"{q} with each suspect running, over {q} with it stopped"
    table = from_records(COLUMNS, records)
    drawn = [
        record
        for name, one in rows(suspects)
        if (record := _record(one) | {"row": name})["lo"] is not None
    ]
    if not drawn:
        missing = "No comparison of the experiment has enough requests."
        return [Figure(name=NAME, title=title, caption="", alt="", table=table, missing=missing)]
    matters = suspects[0].row.matters
    return [
        Figure(
            name=NAME,
            title=title,
            caption=(
                f"Ratio of {q} in windows in which a suspect ran to those in which it was stopped,"
                " with the 95 % interval of a randomisation test. At 1 stopping it changes nothing;"
                f" from {matters:.3g} on a change matters. Guilty: above 1 after Holm's correction;"
                " cleared: nothing that matters lies in the interval; of one that"
                " is cleared everywhere the worst condition is drawn. (M22)"
            ),
            alt=_alt(suspects),
            table=table,
            chart=dots.ratios(
                drawn,
                looks=LOOKS,
                hollow=UNDECIDED,
                title=title,
                across="times as long",
                tooltip=("title", "verdict", "resource", "words", "doubt"),
                lines_at={matters: "matters"} if matters > 1 else None,
            ),
            is_wide=True,
        )
    ]


def _alt(suspects: Sequence[Accused]) -> str:
    counts = Counter(one.row.word for one in suspects)
    text = ", ".join(f"{counts[word]} {word}" for word in LOOKS if counts[word])
    return f"{len(suspects)} suspects: {text}."


def _record(one: Accused) -> Record:
    row, report = one.row, one.row.comparison
    ends = report.interval if report.ratio is not None else None
    return {
        "service": one.service,
        "condition": one.beside,
        "suspect": row.name,
        "verdict": row.word,
        "resource": row.resource,
        "ratio": report.ratio,
        "lo": ends.lo if ends else None,
        "hi": ends.hi if ends else None,
        "doubt": row.doubt or report.refused,
        "row": one.title,
        "title": one.title,
        "look": row.word,
        "words": ratio_words(one, "refused"),
        "shown": f"{_short(report)}, on {row.resource}" if row.resource else "",
    }


def ratio_words(one: Accused, refused: str) -> str:
    """How many times as long, with its interval; `refused` where nothing could be compared."""
    report = one.row.comparison
    if report.ratio is None or report.interval is None:
        return refused
    is_shown = one.row.word == GUILTY
    return limit(report) or numbers.span(report.ratio, report.interval, is_shown=is_shown)


def _short(report: Contrast) -> str:
    return limit(report) or f"{report.ratio:.2g}"


KIND = Kind(
    name=NAME,
    place=31,
    about="suspects ranked by what stopping them does to the tail (M22)",
    of_study=draw,
)
