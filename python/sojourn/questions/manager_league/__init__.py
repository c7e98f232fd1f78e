"""Which manager keeps a service within its target, and what it leaves a batch job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn.questions.kind import Kind, Reader
from sojourn.questions.manager_league import plan

if TYPE_CHECKING:
    from sojourn.analysis.answer_kind import Answer
    from sojourn.report.openings.opening import Opens
    from sojourn.report.section import Shown


class ManagerLeagueKind(Kind):
    """What this question is made of."""

    plan = plan.KIND

    def judge(self) -> Answer:
        """What follows from its points."""
        from sojourn.questions.manager_league import judge

        return judge.KIND

    def section(self) -> Shown:
        """How its answer is shown."""
        from sojourn.questions.manager_league import section

        return section.KIND

    def reader(self) -> Reader:
        """Of seconds of the load and what the manager did, by a point's folder."""
        from sojourn.questions.manager_league import files

        return files.read

    def opening(self) -> Opens:
        """The first screen of a study that asks it."""
        from sojourn.questions.manager_league import opening

        return opening.KIND


KIND = ManagerLeagueKind()
