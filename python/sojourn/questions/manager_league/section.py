"""The league as tables: violated seconds, work, changes, and how managers ended."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.actors.managers import called
from sojourn.findings.findings import Findings
from sojourn.plan.points import Verdict
from sojourn.questions.manager_league.judge import League, seconds, target
from sojourn.questions.manager_league.plan import NAME
from sojourn.questions.manager_league.rows import Row
from sojourn.report import numbers, show
from sojourn.report.draw.table import Table
from sojourn.report.section import Shown

ALONE = "no job"
# fmt: off
COLUMNS = (
    "manager", "violated_s", "violated_lo_s", "violated_hi_s", "of_s", "late", "work", "work_lo",
    "work_hi", "changes_per_h", "changes_least", "changes_most", "runs", "not_valid", "ended",
)
# fmt: on


def name(one: Row) -> str:
    """What a row is called: `static, idle 1`; "no job" of the service alone."""
    if one.is_alone:
        return ALONE
    return f"{called(one.manager)}, again" if one.is_twin else called(one.manager)


def violated(one: Row) -> str:
    """`2.5 of 10 s (1.0–4.0)`."""
    ends = one.violated_interval
    if ends is None:
        return seconds(one)
    return f"{seconds(one)} ({ends.lo * one.seconds:.1f}–{ends.hi * one.seconds:.1f})"


def work(one: Row) -> str:
    """`52 % (48–55 %)`; a dash where there is no job."""
    if one.work is None:
        return "–" if one.is_alone else "unknown"
    return numbers.part(one.work, one.work_interval)


def changes(one: Row) -> str:
    """Changes an hour with the range over runs: `120 (60–180)`."""
    if one.changes_per_h is None or one.changes_range is None:
        return "–"
    lo, hi = one.changes_range
    return (
        f"{one.changes_per_h:.0f}" if lo == hi else f"{one.changes_per_h:.0f} ({lo:.0f}–{hi:.0f})"
    )


def aa(section: League, load: float) -> str:
    """What the A/A level and its twin differ by; "" where there is no twin."""
    pair = section.twins(load)
    if pair is None:
        return ""
    first, twin = pair
    text = f"A/A: {called(first.manager)} twice: {violated(first)} and {violated(twin)} violated"
    if first.work is None or twin.work is None:
        return text
    return f"{text}, {work(first)} and {work(twin)} of the pace"


class LeagueShown(Shown):
    """A part of the report for itself, which is reported first."""

    name = NAME
    template = ""
    study_template = "study_tables.html.j2"
    study_link = (NAME, "Managers side by side")
    leads = True

    def study_head(self, findings: Findings) -> Iterator[str]:
        """The answer, what equal runs differ by, and what is open."""
        if section := findings.section(League):
            yield section.answer
            yield (
                f"A second is violated if it has more requests above {target(section)[6:]} than "
                "one with exactly 1 % has in 49 of 50."
            )
            yield from (f"{text}." for load in section.loads if (text := aa(section, load)))
            yield from (f"{why}." for why in section.reasons)
            for one in section.rows:
                if one.ended:
                    yield f"{name(one)} ended in {one.ended} of {one.runs} runs: {one.ended_why}"

    def study_data(self, findings: Findings) -> Iterator[tuple[str, Table]]:
        """A table for each load."""
        section = findings.section(League)
        for load in section.loads if section else ():
            assert section is not None  # noqa: S101  # it has loads
            own = [one for one in section.rows if one.load == load]
            caption = f"Managers at {show.load(load)} load, {section.service}, {target(section)}"
            yield caption, Table(columns=COLUMNS, rows=tuple(_cells(one) for one in own))

    def study_table(self, findings: Findings, width: int) -> Iterator[str]:
        """How runs ended that are not in the first screen's table, and A/A, as text."""
        section = findings.section(League)
        for load in section.loads if section else ():
            assert section is not None  # noqa: S101  # it has loads
            if text := aa(section, load):
                yield text[:width]
        for one in section.rows if section else ():
            if one.verdict is Verdict.UNKNOWN or one.ended:
                yield f"{name(one)}: {one.why or one.ended_why}"[:width]


def _cells(one: Row) -> tuple[str | float | int | None, ...]:
    ends, own = one.violated_interval, one.work_interval
    least, most = one.changes_range or (None, None)
    return (
        name(one),
        None if one.violated is None else one.violated * one.seconds,
        ends.lo * one.seconds if ends else None,
        ends.hi * one.seconds if ends else None,
        one.seconds,
        one.late,
        one.work,
        own.lo if own else None,
        own.hi if own else None,
        one.changes_per_h,
        least,
        most,
        one.runs,
        one.lost,
        one.ended,
    )


KIND = LeagueShown()
