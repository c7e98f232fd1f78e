"""Nothing was asked: the load axis is the answer."""

from __future__ import annotations

from sojourn.analysis.answer_kind import Answer, Rank
from sojourn.findings.findings import ServiceFinding
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.plan.next import Progress
from sojourn.plan.points import Verdict
from sojourn.spec import ServiceSpec
from sojourn.units import show_count


class NullAnswer(Answer):
    """How much the service can do at all."""

    name = "null"
    rank = Rank.SERVICE

    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> Section:
        """The load axis in a sentence; it decides only where nothing else is asked."""
        del data
        is_alone = set(spec.measure) == {self.name}
        if progress.axis is None or finding.max_rps is None:
            text = f"What {finding.service} can do at most is unknown."
            return Section(headline=text, answer=text, verdict=Verdict.UNKNOWN)
        rule = finding.max_rps_rule.replace("_", " ")
        text = (
            f"{finding.service}: 100 % load is {show_count(finding.max_rps)} requests/s ({rule})."
        )
        is_known = progress.axis.is_valid and progress.next is None
        verdict = Verdict.HOLDS if is_known else Verdict.UNKNOWN
        return Section(headline=text, answer=text, verdict=verdict if is_alone else None)


KIND = NullAnswer()
