"""Whether the instrument measures what theory says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn.questions.check import asks, plan
from sojourn.questions.kind import Kind

if TYPE_CHECKING:
    from sojourn.analysis.answer_kind import Answer
    from sojourn.report.section import Shown


class CheckKind(Kind):
    """What this question is made of."""

    plan = plan.KIND
    asks = asks.ASKS

    def judge(self) -> Answer:
        """What follows from its points."""
        from sojourn.questions.check import judge

        return judge.KIND

    def section(self) -> Shown:
        """How its answer is shown."""
        from sojourn.questions.check import section

        return section.KIND


KIND = CheckKind()
