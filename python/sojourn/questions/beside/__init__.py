"""How a setting fares beside a neighbour and alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.questions.beside import plan
from sojourn.questions.kind import Kind

if TYPE_CHECKING:
    from sojourn.analysis.answer_kind import Answer
    from sojourn.findings.findings import Findings
    from sojourn.report.openings.opening import Opens
    from sojourn.report.section import Shown


class BesideKind(Kind):
    """What this question is made of."""

    plan = plan.KIND

    def judge(self) -> Answer:
        """What follows from its points."""
        from sojourn.questions.beside import judge

        return judge.KIND

    def section(self) -> Shown:
        """How its answer is shown."""
        from sojourn.questions.beside import section

        return section.KIND

    def opening(self) -> Opens:
        """The first screen of a study that asks it."""
        from sojourn.questions.beside import opening

        return opening.KIND

    def amended(self, findings: Findings, record: Path) -> Findings:
        """With the order of settings as the simulator has it."""
        from sojourn.questions.beside import simulated_order

        return simulated_order.with_order(findings, record)


KIND = BesideKind()
