"""The league's first screen: a row for each manager."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.actors.managers import called
from sojourn.findings.findings import Findings
from sojourn.questions.manager_league.judge import League, or_others, seconds, target
from sojourn.questions.manager_league.plan import NAME
from sojourn.questions.manager_league.rows import Row, best, misses_alone
from sojourn.questions.manager_league.section import changes, name, violated, work
from sojourn.report import show
from sojourn.report.draw.table import Table
from sojourn.report.openings.opening import Opening, Opens, capital, fitting, listed, short

COLUMNS = ("manager", "violated (95 %)", "job keeps (95 %)", "changes/h", "runs")


class LeagueOpens(Opens):
    """Managers side by side at the study's highest load."""

    name = NAME
    place = 35

    def applies(self, findings: Findings) -> bool:
        """Where a manager was measured."""
        section = findings.section(League)
        return bool(section and section.rows)

    def opening(self, findings: Findings, width: int) -> Opening:
        """Who leaves most work among those with the fewest violated seconds, then the table."""
        section = findings.section(League)
        assert section is not None  # noqa: S101  # it applies
        load = section.loads[-1]
        rows = [one for one in section.rows if one.load == load]
        cells = tuple(_cells(one) for one in rows)
        what = f"{section.service} at {show.load(load)} load, {target(section)}"
        caption = f"{what}: violated seconds of a run, and what the job keeps of its pace alone"
        return Opening(
            headline=headline(rows),
            sentences=tuple(_sentences(section, load, rows))[:3],
            figures=(),
            text=(
                f"{what}; the job keeps a share of its pace alone"[:width],
                *listed(COLUMNS, [[*one] for one in cells], width),
            ),
            table=Table(columns=COLUMNS, rows=cells),
            caption=caption,
        )


def headline(rows: list[Row]) -> str:
    """The best manager in fewer than 60 characters."""
    own = [one for one in rows if not one.is_twin]
    if misses_alone(own):
        return "No manager can be judged: the target is missed alone"
    first = best(own)
    if first is None:
        return "Which manager is best is unknown"
    share, job = show.share(first.work or 0.0), first.neighbour or "the job"
    who = capital(called(first.manager))
    return fitting(
        f"{who} keeps {share} of {job}, {seconds(first)} violated",
        f"{who} keeps {share} of {job}",
        who,
    )


def _sentences(section: League, load: float, rows: list[Row]) -> Iterator[str]:
    own = [one for one in rows if not one.is_twin]
    if misses_alone(own):
        alone = next(one for one in own if one.is_alone)
        yield f"Without any job {section.service} violates {seconds(alone)}."
        return
    first = best(own)
    if first is None:
        why = next((one.why for one in own if one.why), "nothing was measured")
        yield short(f"No manager has an interval: {why}.", "No manager has an interval.")
        return
    job = first.neighbour or "the job"
    keeps = f"{capital(called(first.manager))} keeps {work(first)} of {job}'s pace alone"
    yield short(
        f"{keeps}, and {violated(first)} are violated{or_others(own)}.",
        f"{keeps}, and {violated(first)} are violated.",
    )
    none = next((one for one in own if one.manager == "none" and not one.is_alone), None)
    if none is not None and none is not first and none.work is not None:
        share = show.share(none.work)
        yield f"Without a manager {job} keeps {share}, and {seconds(none)} are violated."
    if pair := section.twins(load):
        twice = f"{seconds(pair[0])} and {seconds(pair[1])}"
        yield f"The A/A level {called(pair[0].manager)}, run twice, violated {twice}."


def _cells(one: Row) -> tuple[str, ...]:
    runs = f"{one.runs - one.lost} of {one.runs}" if one.lost else f"{one.runs}"
    ended = f", {one.ended} ended" if one.ended else ""
    return name(one), violated(one), work(one), changes(one), f"{runs}{ended}"


KIND = LeagueOpens()
