"""What half of the load is like: how many requests completed in each of its runs."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.analysis.answer_kind import Answer
from sojourn.findings.findings import ServiceFinding
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.plan.next import Progress
from sojourn.plan.points import Verdict
from sojourn.spec import ServiceSpec

NAME = "half"


@dataclass(frozen=True, slots=True, kw_only=True)
class Half(Section):
    """Throughput of each run, requests/s, in order."""

    rates: tuple[float, ...] = ()


class HalfAnswer(Answer):
    """How often it was measured, and what each run gave."""

    name = NAME
    section = Half

    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> Half:
        """How often it was measured; it decides nothing."""
        del progress, finding
        outcomes = [m.outcome for m in data.of(spec.label)]
        believed = [
            o for o in outcomes if o.point.phase == NAME and o.verdict is not Verdict.UNKNOWN
        ]
        text = f"Half of the load was measured {len(believed)} times."
        return Half(headline=text, answer=text, rates=tuple(o.achieved_rps for o in believed))


KIND = HalfAnswer()
