"""What half of the load is like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn.questions.half import plan
from sojourn.questions.kind import Kind

if TYPE_CHECKING:
    from sojourn.analysis.answer_kind import Answer
    from sojourn.report.section import Shown


class HalfKind(Kind):
    """Its parts: what is asked, found and shown."""

    plan = plan.KIND

    def judge(self) -> Answer:
        """What follows from its points."""
        from sojourn.questions.half import judge

        return judge.KIND

    def section(self) -> Shown:
        """How its answer is shown in a report."""
        from sojourn.questions.half import section

        return section.KIND


KIND = HalfKind()
