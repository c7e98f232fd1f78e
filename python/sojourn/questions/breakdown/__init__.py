"""Where the time of a request goes, by stage and by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn.questions.breakdown import asks, plan
from sojourn.questions.kind import Kind

if TYPE_CHECKING:
    from sojourn.analysis.answer_kind import Answer
    from sojourn.report.openings.opening import Opens
    from sojourn.report.section import Shown


class BreakdownKind(Kind):
    """What this question is made of."""

    plan = plan.KIND
    asks = asks.ASKS

    def judge(self) -> Answer:
        """What follows from its points."""
        from sojourn.questions.breakdown import judge

        return judge.KIND

    def section(self) -> Shown:
        """How its answer is shown."""
        from sojourn.questions.breakdown import section

        return section.KIND

    def opening(self) -> Opens:
        """The first screen of a study that asks it."""
        from sojourn.questions.breakdown import opening

        return opening.KIND


KIND = BreakdownKind()
