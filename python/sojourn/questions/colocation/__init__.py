"""How much of a neighbour fits beside a service at which load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn.questions.colocation import asks, plan
from sojourn.questions.kind import Kind

if TYPE_CHECKING:
    from sojourn.analysis.answer_kind import Answer
    from sojourn.findings.findings import Findings
    from sojourn.models.colocation import Table
    from sojourn.report.openings.opening import Opens
    from sojourn.report.section import Shown


class ColocationKind(Kind):
    """What this question is made of."""

    plan = plan.KIND
    asks = asks.ASKS

    def judge(self) -> Answer:
        """What follows from its points."""
        from sojourn.questions.colocation import judge

        return judge.KIND

    def section(self) -> Shown:
        """How its answer is shown."""
        from sojourn.questions.colocation import section

        return section.KIND

    def opening(self) -> Opens:
        """The first screen of a study that asks it."""
        from sojourn.questions.colocation import opening

        return opening.KIND

    def tables(self, findings: Findings, source: str) -> tuple[Table, ...]:
        """A table for each setting under which a neighbour was measured."""
        from sojourn.questions.colocation import measured_table

        return measured_table.tables(findings, source=source)


KIND = ColocationKind()
