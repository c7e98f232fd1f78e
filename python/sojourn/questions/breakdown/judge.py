"""Where the time of each request goes; `stages` puts the traced points together."""

from __future__ import annotations

from sojourn.analysis.answer_kind import Answer
from sojourn.analysis.counted import Counted, count
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.measured import StudyData
from sojourn.plan.next import Progress
from sojourn.plan.points import Verdict
from sojourn.questions.breakdown import culprits, stages
from sojourn.questions.breakdown.findings import Breakdown
from sojourn.spec import ServiceSpec


class BreakdownAnswer(Answer):
    """A column per condition; it decides only where nothing else is asked."""

    name = "breakdown"
    section = Breakdown
    methods = (stages.METHOD, culprits.METHOD)

    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> Breakdown:
        """The columns that were measured so far."""
        del progress
        is_alone = set(spec.measure) == {self.name}
        return stages.of_service(data, spec, finding.kind, is_alone=is_alone)

    def counted(self, findings: Findings) -> Counted | None:
        """Conditions of which the stages are believed."""
        own = [one for service in findings.services if (one := service.section(Breakdown))]
        columns = [column for one in own for column in one.columns]
        return count((c.verdict is Verdict.HOLDS for c in columns), "conditions") if own else None


KIND = BreakdownAnswer()
