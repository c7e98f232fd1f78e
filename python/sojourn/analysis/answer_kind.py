"""What a question is to the analysis: it makes a section of a service's measurements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, ClassVar, Optional

from sojourn.analysis.combinations import Part
from sojourn.analysis.counted import Counted, count
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.findings.state import Settle
from sojourn.plan.next import Progress
from sojourn.plan.points import Verdict
from sojourn.spec import ServiceSpec
from sojourn.stats.method import Method


class Rank(IntEnum):
    """Whose answer is that of the study, where several things were measured for it."""

    SERVICE = 0  # numbers of each service by itself
    FACTORS = 1  # what factors do to these: counted for every study that has some
    STUDY = 2  # a question about services and levels together
    WHOLE = 3  # one that takes the answer of another for a part of its own


class Answer(ABC):
    """How a question is answered, once its points are measured or as far as they are.

    Attributes:
        name: of the question, as in `sojourn.questions`.
        section: the type of what it gives.
        rank: whether its answer is that of the study.
        methods: by which it is answered, beside those common to all.
        place: among those that speak for a service, ascending; of one place in the order of asking.
        longer: keys of the study of which four times as much halves its intervals.
    """

    name: ClassVar[str]
    section: ClassVar[type[Section]] = Section
    rank: ClassVar[Rank] = Rank.STUDY
    methods: ClassVar[tuple[Method, ...]] = ()
    longer: ClassVar[tuple[str, ...]] = ("run.repeats",)
    place: ClassVar[int] = 10

    @abstractmethod
    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> Section | None:
        """What it found of one service; None if nothing was begun.

        Args:
            data: the study and its points.
            spec: the service.
            progress: how far its plan has come.
            finding: what is common to all questions, and the sections of those before this one.
        """

    def prepared(
        self, data: StudyData, spec: ServiceSpec, finding: ServiceFinding
    ) -> ServiceFinding:
        """What is common, where this question measures it in a way of its own."""
        del data, spec
        return finding

    def is_part(self, spec: ServiceSpec) -> bool:
        """Whether the service is asked for the sake of the study's section, and shows none."""
        del spec
        return False

    def whole(self, data: StudyData) -> Section | None:
        """What it found of all services together, if it is about that."""
        del data
        return None

    def compared(
        self, data: StudyData, parts: Sequence[Part], findings: Sequence[ServiceFinding]
    ) -> Section | None:
        """What it found of the study by comparing services, each under its levels.

        Args:
            data: the study and its points.
            parts: every service under every combination of levels.
            findings: what is known of each part, in the same order.
        """
        del data, parts, findings
        return None

    def counted(self, findings: Findings) -> Counted | None:
        """How much of it is answered (M37); None if it was not asked, or gives nothing to count.

        Every section that decides is one of them, unless a question has more to count.
        """
        tables = (findings.sections, *(one.sections for one in findings.services))
        own = [section for table in tables if (section := table.get(self.name))]
        verdicts = [section.verdict for section in own if section.verdict is not None]
        if not verdicts:
            return None
        return count((verdict is not Verdict.UNKNOWN for verdict in verdicts), "services")

    def wants(self, findings: Findings) -> tuple[str, ...]:
        """Of `longer`, the keys of which what is open wants more."""
        del findings
        return self.longer

    def settle(self, findings: Findings) -> Settle | None:
        """The one command that would decide the rest, where the question knows it by itself."""
        del findings
        return None

    def service_json(self, section: Section | None) -> Mapping[str, object]:
        """What is in a service's JSON of it."""
        return {self.name: section}

    def service_types(self) -> Mapping[str, Any]:
        """The types of `service_json`, for the schema."""
        return {self.name: Optional[self.section]}  # noqa: UP045  # a type that is a value

    def study_types(self) -> Mapping[str, Any]:
        """The types of `study_json`, by key, for the schema."""
        return {}

    def study_json(self, section: Section | None) -> Mapping[str, object]:
        """What is in the study's JSON of it."""
        return {self.name: section} if section else {}


Answers = Mapping[str, Answer]  # by the question's name, in the order in which they speak
