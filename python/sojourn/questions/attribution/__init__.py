"""Which factor explains a quantile: its contribution, with the other factors held."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn.questions.attribution import asks, plan
from sojourn.questions.kind import Kind

if TYPE_CHECKING:
    from sojourn.analysis.answer_kind import Answer
    from sojourn.report.openings.opening import Opens
    from sojourn.report.section import Shown


class AttributionKind(Kind):
    """What this question is made of."""

    plan = plan.KIND
    asks = asks.ASKS

    def judge(self) -> Answer:
        """What follows from its points."""
        from sojourn.questions.attribution import judge

        return judge.KIND

    def section(self) -> Shown:
        """How its answer is shown."""
        from sojourn.questions.attribution import section

        return section.KIND

    def opening(self) -> Opens:
        """The first screen of a study that asks it."""
        from sojourn.questions.attribution import opening

        return opening.KIND


KIND = AttributionKind()
