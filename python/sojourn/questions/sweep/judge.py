"""Latency against load in words: where the target is missed, and how mean and tail grow."""

from __future__ import annotations

from sojourn.analysis.answer_kind import Answer, Rank
from sojourn.analysis.counted import Counted, count
from sojourn.findings import answer
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.highest_load import MaxLoad
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.plan.next import Progress
from sojourn.plan.points import Verdict
from sojourn.spec import ServiceSpec


class SweepAnswer(Answer):
    """What the loads show; the search knows more of the border, if there is one."""

    name = "sweep"
    rank = Rank.SERVICE

    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> Section:
        """A section, also where no load could be measured."""
        verdict, workers = judged(progress, finding), data.workers.get(spec.label)
        if finding.section(MaxLoad) is not None:
            return Section(answer=answer.grown(finding), verdict=verdict)
        headline = answer.headline(finding, workers)
        return Section(headline=headline, answer=answer.service(finding, workers), verdict=verdict)

    def counted(self, findings: Findings) -> Counted | None:
        """Loads of which there is a number, or that are surely more than is served.

        A service without any load lacks one at least. Of an unfinished study, what has no answer
        is counted apart, load by load.
        """
        own = [one for one in findings.services if self.name in one.sections]
        known = ([any((p.is_believed, p.is_overloaded)) for p in one.points] for one in own)
        least: list[bool] = [] if self.name in findings.unanswered else [False]
        each = (of or least for of in known)
        return count((known for loads in each for known in loads), "loads") if own else None


def judged(progress: Progress, finding: ServiceFinding) -> Verdict:
    """Whether the question was answered; `violated` if no load at all meets the target.

    That is known only where the lowest load misses it: one that is unknown may hold.
    """
    if progress.axis is None or not progress.axis.is_valid or progress.next is not None:
        return Verdict.UNKNOWN
    points = finding.points
    if all(point.verdict is Verdict.UNKNOWN for point in points):
        return Verdict.UNKNOWN
    border = answer.bracket(points)
    if border.holds is None:
        lowest = min(points, key=lambda point: point.offered_rps)
        return Verdict.VIOLATED if lowest.verdict is Verdict.VIOLATED else Verdict.UNKNOWN
    above = [p for p in points if p.offered_rps > border.holds.offered_rps]
    is_seen = progress.target is None or border.violated is not None or not above
    return Verdict.HOLDS if is_seen else Verdict.UNKNOWN


KIND = SweepAnswer()
