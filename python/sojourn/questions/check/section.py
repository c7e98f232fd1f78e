"""The instrument against theory: a row per comparison, of all ideal queues together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn.analysis.reasons import topic
from sojourn.findings.findings import Findings
from sojourn.plan.points import Verdict
from sojourn.questions.check import figure, selfcheck
from sojourn.questions.check.judge import rows_of
from sojourn.questions.check.rows import CheckRow
from sojourn.report import people, show
from sojourn.report.section import Shown

WHOLE = 72  # columns in which a row with its interval fits


class CheckShown(Shown):
    """A part of the report for itself."""

    name = "check"
    template = ""
    study_template = "check/section.html.j2"
    study_link = ("checks", "self-check against theory")
    figures = (selfcheck.KIND, figure.KIND)

    def rows(self, findings: Findings) -> tuple[CheckRow, ...]:
        """The comparisons, for the template."""
        return rows_of(findings)

    def study_words(self, findings: Findings) -> str:
        """How many quantities of the ideal queues came out as theory has them."""
        of_theory = [row for row in rows_of(findings) if row.theory_ns > 0]
        held = sum(row.verdict is Verdict.HOLDS for row in of_theory)
        return f"{held} of {len(of_theory)} as theory has it" if of_theory else ""

    def study_head(self, findings: Findings) -> Iterator[str]:
        """The same, reported about what."""
        if text := self.study_words(findings):
            yield f"ideal queues: {text}"

    def study_table(self, findings: Findings, width: int) -> Iterator[str]:
        """A line per comparison; nothing where there is none."""
        if rows := rows_of(findings):
            yield from _checks(rows, width)

    def study_doubts(self, findings: Findings) -> Sequence[people.Doubt]:
        """Why comparisons with theory are not believed or fail, the most frequent first."""
        return people.grouped(
            [
                (f"{row.system} ρ = {row.rho:g}", reason)
                for row in rows_of(findings)
                for reason in dict.fromkeys((row.estimate.refused, *row.reasons))
                if reason and topic(reason) != people.QOS
            ]
        )


def _checks(checks: tuple[CheckRow, ...], width: int) -> Iterator[str]:
    yield "against theory ".ljust(width, "=")
    interval = " {5:<16}" if width >= WHOLE else ""
    form = f"{{0:<8}} {{1:>5}} {{2:>8}} {{3:>9}} {{4:>9}} {interval} {{6}}"
    yield form.format("system", "rho", "quantity", "theory", "measured", "95 % interval", "verdict")
    for row in checks:
        estimate = row.estimate
        yield form.format(
            row.system,
            f"{row.rho:g}",
            row.quantity,
            show.time(row.theory_ns),
            _measured(row),
            show.times(estimate.interval),
            show.verdict(row.verdict),
        )


def _measured(row: CheckRow) -> str:
    if row.estimate.value is not None:
        return show.time(row.estimate.value)
    return "unknown" if row.verdict is Verdict.UNKNOWN else "refused"


KIND = CheckShown()
