"""What a question is to the analysis: it makes a section of a service's measurements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Optional

from sojourn.analysis.combinations import Part
from sojourn.analysis.data import StudyData
from sojourn.analysis.findings import ServiceFinding
from sojourn.analysis.section import Section
from sojourn.plan.next import Progress
from sojourn.spec import ServiceSpec


class Answer(ABC):
    """How a question is answered, once its points are measured or as far as they are.

    Attributes:
        name: of the question, as in `plan.questions`.
        section: the type of what it gives.
    """

    name: ClassVar[str]
    section: ClassVar[type[Section]] = Section

    @abstractmethod
    def answer(
        self, given: StudyData, spec: ServiceSpec, stands: Progress, found: ServiceFinding
    ) -> Section | None:
        """What it found of one service; None if nothing was begun.

        Args:
            given: the study and its points.
            spec: the service.
            stands: how far its plan has come.
            found: what is common to all questions, and the sections of those before this one.
        """

    def prepared(
        self, given: StudyData, spec: ServiceSpec, found: ServiceFinding
    ) -> ServiceFinding:
        """What is common, where this question measures it in a way of its own."""
        del given, spec
        return found

    def is_part(self, spec: ServiceSpec) -> bool:
        """Whether the service is asked for the sake of the study's section, and shows none."""
        del spec
        return False

    def whole(self, given: StudyData) -> Section | None:
        """What it found of all services together, if it is about that."""
        del given
        return None

    def compared(
        self, given: StudyData, parts: Sequence[Part], found: Sequence[ServiceFinding]
    ) -> Section | None:
        """What it found of the study by comparing services, each under its levels.

        Args:
            given: the study and its points.
            parts: every service under every combination of levels.
            found: what is known of each part, in the same order.
        """
        del given, parts, found
        return None

    def service_json(self, section: Section | None) -> Mapping[str, object]:
        """What stands in a service's JSON of it."""
        return {self.name: section}

    def service_types(self) -> Mapping[str, Any]:
        """The types of `service_json`, for the schema."""
        return {self.name: Optional[self.section]}  # noqa: UP045  # a type that is a value

    def study_types(self) -> Mapping[str, Any]:
        """The types of `study_json`, by key, for the schema."""
        return {}

    def study_json(self, section: Section | None) -> Mapping[str, object]:
        """What stands in the study's JSON of it."""
        return {self.name: section} if section else {}
