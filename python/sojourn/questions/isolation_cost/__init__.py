"""What it costs to apply and to lift each isolation mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn.questions.isolation_cost import asks, plan
from sojourn.questions.kind import Kind, Reader

if TYPE_CHECKING:
    from sojourn.actors.kind import ProbeKind
    from sojourn.analysis.answer_kind import Answer
    from sojourn.report.openings.opening import Opens
    from sojourn.report.section import Shown


class IsolationCostKind(Kind):
    """What this question is made of."""

    plan = plan.KIND
    asks = asks.ASKS

    def judge(self) -> Answer:
        """What follows from its points."""
        from sojourn.questions.isolation_cost import judge

        return judge.KIND

    def section(self) -> Shown:
        """How its answer is shown."""
        from sojourn.questions.isolation_cost import section

        return section.KIND

    def probe(self) -> ProbeKind:
        """Who works while its points are measured."""
        from sojourn.questions.isolation_cost import probe

        return probe.KIND

    def reader(self) -> Reader:
        """Of what it left in a point's folder."""
        from sojourn.questions.isolation_cost import files

        return files.read

    def opening(self) -> Opens:
        """The first screen of a study that asks it."""
        from sojourn.questions.isolation_cost import opening

        return opening.KIND


KIND = IsolationCostKind()
