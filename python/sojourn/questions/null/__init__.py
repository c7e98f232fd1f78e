"""Nothing: a question that asks for no point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn.questions.kind import Kind
from sojourn.questions.null import asks, plan

if TYPE_CHECKING:
    from sojourn.analysis.answer_kind import Answer
    from sojourn.report.section import Shown


class NullKind(Kind):
    """What this question is made of."""

    plan = plan.KIND
    asks = asks.ASKS

    def judge(self) -> Answer:
        """What follows from its points."""
        from sojourn.questions.null import judge

        return judge.KIND

    def section(self) -> Shown:
        """How its answer is shown."""
        from sojourn.questions.null import section

        return section.KIND


KIND = NullKind()
