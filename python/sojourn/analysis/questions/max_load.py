"""The highest load within the QoS target, in numbers and words; `analysis.max_load` finds it."""

from __future__ import annotations

from dataclasses import replace

from sojourn.analysis import answer, max_load
from sojourn.analysis.data import StudyData
from sojourn.analysis.findings import MaxLoad, ServiceFinding
from sojourn.analysis.questions.question import Answer
from sojourn.plan.next import Progress
from sojourn.spec import ServiceSpec


class MaxLoadAnswer(Answer):
    """How much load fits, from all runs of the service together."""

    name = "max_load"
    section = MaxLoad

    def answer(
        self, given: StudyData, spec: ServiceSpec, stands: Progress, found: ServiceFinding
    ) -> MaxLoad | None:
        """The search as far as it has come; None before it was begun."""
        if found.qos is None:
            return None
        most = max_load.judge(given, given.of(spec.label), stands, found.qos)
        if most is None:
            return None
        text = answer.headline(found.having(self.name, most), given.workers.get(spec.label))
        return replace(most, headline=text, answer=text)


KIND = MaxLoadAnswer()
