"""Which pairs of services fit together within their targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn.questions.kind import Kind
from sojourn.questions.qos_matrix import asks, plan

if TYPE_CHECKING:
    from sojourn.analysis.answer_kind import Answer
    from sojourn.report.openings.opening import Opens
    from sojourn.report.section import Shown


class QosMatrixKind(Kind):
    """What this question is made of."""

    plan = plan.KIND
    asks = asks.ASKS

    def judge(self) -> Answer:
        """What follows from its points."""
        from sojourn.questions.qos_matrix import judge

        return judge.KIND

    def section(self) -> Shown:
        """How its answer is shown."""
        from sojourn.questions.qos_matrix import section

        return section.KIND

    def opening(self) -> Opens:
        """The first screen of a study that asks it."""
        from sojourn.questions.qos_matrix import opening

        return opening.KIND


KIND = QosMatrixKind()
