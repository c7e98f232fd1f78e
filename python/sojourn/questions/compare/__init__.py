"""Whether one setting is worse than another, measured in turn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.questions.compare import asks, plan
from sojourn.questions.kind import Kind

if TYPE_CHECKING:
    from sojourn.analysis.answer_kind import Answer
    from sojourn.findings.findings import Findings
    from sojourn.report.openings.opening import Opens
    from sojourn.report.section import Shown


class CompareKind(Kind):
    """What this question is made of."""

    plan = plan.KIND
    asks = asks.ASKS

    def judge(self) -> Answer:
        """What follows from its points."""
        from sojourn.questions.compare import judge

        return judge.KIND

    def section(self) -> Shown:
        """How its answer is shown."""
        from sojourn.questions.compare import section

        return section.KIND

    def opening(self) -> Opens:
        """The first screen of a comparison."""
        from sojourn.questions.compare import opening

        return opening.KIND

    def amended(self, findings: Findings, record: Path) -> Findings:
        """With what moved, where services were traced."""
        from sojourn.questions.compare import moved

        return moved.with_moved(findings, record)

    def forms(self, findings: Findings) -> Mapping[str, str]:
        """Markdown, JUnit and a line for GitHub, for CI."""
        from sojourn.questions.compare import compared, forms

        section = findings.section(compared.Compared)
        if section is None:
            return {}
        return {
            "markdown": forms.markdown(section),
            "junit": forms.junit(section),
            "annotation": forms.annotation(section),
        }

    def scatter(self, findings: Findings) -> Mapping[str, float]:
        """Of each number, the largest of all services."""
        from sojourn.questions.compare import compared

        section = findings.section(compared.Compared)
        known = (
            [(row.number, row.scatter) for row in section.rows if row.scatter] if section else []
        )
        return dict(sorted(known, key=lambda pair: pair[1]))


KIND = CompareKind()
