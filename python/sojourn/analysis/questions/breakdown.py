"""Where the time of each request goes; `analysis.breakdown` puts the traced points together."""

from __future__ import annotations

from sojourn.analysis import breakdown
from sojourn.analysis.data import StudyData
from sojourn.analysis.findings import ServiceFinding
from sojourn.analysis.questions.question import Answer
from sojourn.analysis.traced_findings import Breakdown
from sojourn.plan.next import Progress
from sojourn.spec import ServiceSpec


class BreakdownAnswer(Answer):
    """A column per condition; it decides only where nothing else is asked."""

    name = "breakdown"
    section = Breakdown

    def answer(
        self, given: StudyData, spec: ServiceSpec, stands: Progress, found: ServiceFinding
    ) -> Breakdown:
        """The columns that were measured so far."""
        del stands
        is_alone = set(spec.measure) == {self.name}
        return breakdown.of_service(given, spec, found.kind, is_alone=is_alone)


KIND = BreakdownAnswer()
