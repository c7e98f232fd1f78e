"""Where the time of each request goes; `analysis.breakdown` puts the traced points together."""

from __future__ import annotations

from sojourn.analysis import breakdown
from sojourn.analysis.counted import Counted, count
from sojourn.analysis.data import StudyData
from sojourn.analysis.findings import Findings, ServiceFinding
from sojourn.analysis.questions.question import Answer
from sojourn.analysis.traced_findings import Breakdown
from sojourn.plan.next import Progress
from sojourn.plan.points import Verdict
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

    def counted(self, found: Findings) -> Counted | None:
        """Conditions of which the stages are believed."""
        mine = [one for service in found.services if (one := service.section(Breakdown))]
        columns = [column for one in mine for column in one.columns]
        return count((c.verdict is Verdict.HOLDS for c in columns), "conditions") if mine else None


KIND = BreakdownAnswer()
