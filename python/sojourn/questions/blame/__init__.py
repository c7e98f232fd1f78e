"""Which suspect the tail comes from: each stopped at random, and what that changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn.questions.blame import asks, plan
from sojourn.questions.kind import Kind, Reader

if TYPE_CHECKING:
    from sojourn.actors.kind import ProbeKind
    from sojourn.analysis.answer_kind import Answer
    from sojourn.report.openings.opening import Opens
    from sojourn.report.section import Shown


class BlameKind(Kind):
    """What this question is made of."""

    plan = plan.KIND
    asks = asks.ASKS

    def judge(self) -> Answer:
        """What follows from its points."""
        from sojourn.questions.blame import judge

        return judge.KIND

    def section(self) -> Shown:
        """How its answer is shown."""
        from sojourn.questions.blame import section

        return section.KIND

    def probe(self) -> ProbeKind:
        """Who works while its points are measured."""
        from sojourn.questions.blame import probe

        return probe.KIND

    def reader(self) -> Reader:
        """Of what it left in a point's folder."""
        from sojourn.questions.blame import files

        return files.read

    def opening(self) -> Opens:
        """The first screen of a study that asks it."""
        from sojourn.questions.blame import opening

        return opening.KIND


KIND = BlameKind()
