"""The highest load within the QoS target, in numbers and words; `worst` finds it."""

from __future__ import annotations

from dataclasses import replace

from sojourn.analysis.answer_kind import Answer, Rank
from sojourn.analysis.counted import Counted, count, is_narrow
from sojourn.findings import answer
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.highest_load import MaxLoad
from sojourn.findings.measured import StudyData
from sojourn.findings.state import Settle
from sojourn.plan.next import Progress
from sojourn.questions.max_load import worst
from sojourn.spec import ServiceSpec


class MaxLoadAnswer(Answer):
    """How much load fits, from all runs of the service together."""

    name = "max_load"
    place = 1
    section = MaxLoad
    rank = Rank.SERVICE
    longer = ("run.search.budget_s",)
    methods = (worst.METHOD,)

    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> MaxLoad | None:
        """The search as far as it has come; None before it was begun."""
        if finding.qos is None:
            return None
        most = worst.judge(data, data.of(spec.label), progress, finding.qos, finding.limit)
        if most is None:
            return None
        text = answer.headline(finding.having(self.name, most), data.workers.get(spec.label))
        return replace(most, headline=text, answer=text)

    def counted(self, findings: Findings) -> Counted | None:
        """Services of which the interval is narrow, or that no load suits.

        One without a border counts here, unless `unanswered` counts it already.
        """
        is_apart = self.name in findings.unanswered
        own = [
            most
            for one in findings.services
            if (most := one.section(MaxLoad)) and (most.border or not is_apart)
        ]
        return count(map(_is_decided, own), "services") if own else None

    def settle(self, findings: Findings) -> Settle | None:
        """Of the services that are open, that which takes longest: its command is of all."""
        own = [most for one in findings.services if (most := one.section(MaxLoad))]
        each = [most.settle for most in own if most.settle and not _is_decided(most)]
        return max(each, key=lambda one: one.seconds, default=None)


def _is_decided(most: MaxLoad) -> bool:
    if most.border is None:
        return False
    ends = most.border.interval_rps
    return ends.hi == 0 or is_narrow(ends)


KIND = MaxLoadAnswer()
