"""The instrument against known truths: all ideal queues of a study in one table (M20).

Comparisons are made together, so they are a section of the study; the null service, which has no
theory, is shown like any other, and shows what the instrument itself costs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sojourn.analysis import load_point, runs
from sojourn.analysis.answer_kind import Answer
from sojourn.analysis.combinations import parts
from sojourn.analysis.counted import Counted, count
from sojourn.analysis.runs import Judged
from sojourn.findings import answer
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.plan.next import Progress
from sojourn.plan.points import Verdict, worst
from sojourn.questions.check import asks, truth
from sojourn.questions.check.rows import CheckRow
from sojourn.spec import ServiceSpec

NAME = "check"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks(Section):
    """Every comparison with theory that a study made."""

    rows: tuple[CheckRow, ...]


def rows_of(findings: Findings) -> tuple[CheckRow, ...]:
    """The comparisons of a study; () if it made none."""
    section = findings.section(Checks)
    return section.rows if section else ()


class CheckAnswer(Answer):
    """Rows for the ideal queues, loads and cost for the null service."""

    name = NAME
    longer = ("run.check_s",)
    methods = (truth.METHOD,)

    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> Section:
        """What the instrument itself costs."""
        del data, spec, progress
        unknown = [p for p in finding.points if p.verdict is Verdict.UNKNOWN]
        text = answer.instrument(finding)
        return Section(
            headline=text,
            answer=text,
            verdict=Verdict.UNKNOWN if unknown or not finding.points else Verdict.HOLDS,
            reasons=tuple(reason for p in unknown for reason in p.reasons),
        )

    def prepared(
        self, data: StudyData, spec: ServiceSpec, finding: ServiceFinding
    ) -> ServiceFinding:
        """Nothing answers, so there is no theory and no peak: 100 % is the highest load asked."""
        judged = [runs.judge(m, None) for m in data.of(spec.label)]
        top = max((j.run.offered_rps for j in judged), default=None)
        loads: dict[float, list[Judged]] = defaultdict(list)
        for j in judged:
            loads[j.measured.outcome.point.offered_rps or j.run.offered_rps].append(j)
        return replace(
            finding,
            max_rps=top,
            max_rps_rule=answer.NULL_RULE,
            points=tuple(load_point.gather(loads[rps], None, top, None) for rps in sorted(loads)),
            setup=(("what is measured", "the instrument itself: nothing answers"),),
        )

    def is_part(self, spec: ServiceSpec) -> bool:
        """Whether it is held against theory, and so a row of checks rather than a service."""
        asked = asks.of(spec)
        return asked is not None and asked.system != "null"

    def whole(self, data: StudyData) -> Checks | None:
        """All comparisons with theory; None if the study makes none."""
        rows = compared(data)
        if not rows:
            return None
        return Checks(
            headline=" ".join(in_words(rows)),
            verdict=worst([row.verdict for row in rows]),
            reasons=doubts(rows),
            rows=rows,
        )

    def counted(self, findings: Findings) -> Counted | None:
        """Comparisons with theory that came out one way or the other."""
        rows = rows_of(findings)
        decided = [row.verdict is not Verdict.UNKNOWN for row in rows]
        return count(decided, "comparisons") if rows else super().counted(findings)

    def study_types(self) -> Mapping[str, Any]:
        """Rows, none where nothing was compared."""
        return {"checks": tuple[CheckRow, ...]}

    def study_json(self, section: Section | None) -> Mapping[str, object]:
        """The rows alone; none where nothing was compared."""
        return {"checks": section.rows if isinstance(section, Checks) else ()}


def compared(data: StudyData) -> tuple[CheckRow, ...]:
    """The comparisons of every ideal queue of the study."""
    systems = [
        (asked, part.data.of(part.spec.label))
        for part in parts(data)
        if NAME in part.spec.measure and (asked := asks.of(part.spec)) and KIND.is_part(part.spec)
    ]
    count = truth.comparisons([check for check, _ in systems])
    fixed = next((truth.path(*s) for s in systems if s[0].system == "M/D/1"), None)
    return tuple(
        row
        for check, measured in systems
        for row in truth.rows(
            check, measured, count, truth.path(check, measured) if fixed is None else fixed
        )
    )


def in_words(checks: Sequence[CheckRow]) -> list[str]:
    """The selfcheck's answer, in a sentence."""
    compared = [row for row in checks if row.theory_ns > 0]
    if not compared:
        return []
    held = sum(row.verdict is Verdict.HOLDS for row in compared)
    wrong = [row for row in compared if row.verdict is Verdict.VIOLATED]
    text = (
        f"{held} of {len(compared)} quantities of the ideal queues were measured as theory has them"
    )
    if wrong:
        names = ", ".join(f"{row.quantity} of {row.system} at ρ = {row.rho:g}" for row in wrong)
        text += f"; not so: {names}"
    unknown = len(compared) - held - len(wrong)
    if unknown:
        text += f"; unknown: {unknown}"
    return [text + "."]


def doubts(checks: Sequence[CheckRow]) -> tuple[str, ...]:
    """The first reason of every row that does not hold."""
    return tuple(
        f"{row.system} ρ = {row.rho:g} {row.quantity}: {row.reasons[0]}"
        for row in checks
        if row.verdict is not Verdict.HOLDS and row.reasons
    )


KIND = CheckAnswer()
