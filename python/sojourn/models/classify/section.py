"""The classes of a study's services as part of its findings, beside the paper's."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sojourn.analysis import state
from sojourn.analysis.answer_kind import Answers
from sojourn.findings.findings import Findings
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.models.classify import published
from sojourn.models.classify.answer import Class
from sojourn.models.classify.published import Agreed
from sojourn.models.classify.record import THREADS, classes
from sojourn.spec import Study
from sojourn.spec.levels import short
from sojourn.store.record import Record

NAME = "classes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes(Section):
    """Every service that could be looked at, and the paper's answers beside ours."""

    of: tuple[Class, ...] = ()
    papers: tuple[Agreed, ...] = ()

    @property
    def whole(self) -> tuple[int, int, str]:
        """The answers of all services: what they are is the question of the study."""
        results = [answer.is_decided for one in self.of for answer in one.answers]
        return sum(results), len(results), "answers"


def is_asked(study: Study) -> bool:
    """Whether a study is about classes: several services by cores, all that each can do."""
    varied = {short(key) for key in study.factors}
    return (
        len(study.services) > 1
        and bool(varied & THREADS)
        and all(service.qos is None for service in study.services)
    )


def with_classes(findings: Findings, record: Record, data: StudyData, answers: Answers) -> Findings:
    """The findings with the classes of their services, where the study asks for them.

    Its question is what these are, so its state counts their answers.

    Args:
        findings: of the record.
        record: that is read; nothing is written.
        data: its study and its points.
        answers: how each question is answered.
    """
    if not is_asked(record.study):
        return findings
    result = classes(record, data, answers)
    kinds = {spec.label: spec.kind for spec in record.study.services}
    papers = published.beside_ours(kinds, result)
    if not result:
        return findings
    whole = findings.having(NAME, Classes(of=result, papers=papers))
    return replace(whole, state=state.of(whole, answers))
