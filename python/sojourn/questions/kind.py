"""What a question is to the lab: its plan, and how it is watched, read, answered and shown.

Only the plan is loaded with the table, so that looking ahead needs no statistics and no figures;
the other parts are loaded when they are asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.plan.points import Outcome
from sojourn.plan.question import Question
from sojourn.spec.form import Asks

if TYPE_CHECKING:
    from sojourn.actors.kind import ProbeKind
    from sojourn.analysis.answer_kind import Answer
    from sojourn.findings.findings import Findings
    from sojourn.models.colocation import Table
    from sojourn.report.openings.opening import Opens
    from sojourn.report.section import Shown

Reader = Callable[[Path, Outcome], object]


class Kind(ABC):
    """A question: a folder here, and a line in the table.

    Attributes:
        plan: which points it wants, in which order.
        asks: what it adds to the study file.
    """

    plan: Question
    asks: Asks = Asks()

    @property
    def name(self) -> str:
        """As a study asks for it."""
        return self.plan.name

    @abstractmethod
    def judge(self) -> Answer:
        """What follows from its points."""

    @abstractmethod
    def section(self) -> Shown:
        """How its answer is shown."""

    def probe(self) -> ProbeKind | None:
        """Who works while its points are measured; None: no one of its own."""
        return None

    def reader(self) -> Reader | None:
        """Reads the files that it keeps beside the load's; None: it keeps none."""
        return None

    def opening(self) -> Opens | None:
        """The first screen of a study that asks it; None: one of those for every study."""
        return None

    def amended(self, findings: Findings, record: Path) -> Findings:
        """Findings with what follows from a model or from a file of the whole record."""
        del record
        return findings

    def forms(self, findings: Findings) -> Mapping[str, str]:
        """Its answer for other programs, by the name of the form, such as "markdown"."""
        del findings
        return {}

    def scatter(self, findings: Findings) -> Mapping[str, float]:
        """Standard deviation of each number's log ratio of two runs in turn, for later plans."""
        del findings
        return {}

    def tables(self, findings: Findings, source: str) -> tuple[Table, ...]:
        """What it measured as models of fleets and costs read it, one for each setting.

        Args:
            findings: of a study that may have asked it.
            source: where the table comes from, for people.
        """
        del findings, source
        return ()
