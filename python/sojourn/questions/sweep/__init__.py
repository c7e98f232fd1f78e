"""How the tail grows with load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn.questions.kind import Kind
from sojourn.questions.sweep import plan

if TYPE_CHECKING:
    from sojourn.analysis.answer_kind import Answer
    from sojourn.report.section import Shown


class SweepKind(Kind):
    """The parts of the question `sweep`, each loaded when it is needed."""

    plan = plan.KIND

    def judge(self) -> Answer:
        """What follows from its points."""
        from sojourn.questions.sweep import judge

        return judge.KIND

    def section(self) -> Shown:
        """The part of the page that shows its answer."""
        from sojourn.questions.sweep import section

        return section.KIND


KIND = SweepKind()
