"""What the classifier says of a service: three answers with their evidence, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sojourn.models.classify.evidence import Ends
from sojourn.models.classify.signs import Reading

MEASURED = "what it carried"
INFERRED = "what it uses (the paper's rule)"


class Word(StrEnum):
    """A plain answer; `undecided` with the reason beside it."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One way to an answer.

    Attributes:
        word: yes, no or undecided; of the critical resource its name.
        why: in half a sentence.
        by: `MEASURED` or `INFERRED`.
    """

    word: str
    why: str
    by: str = INFERRED


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer, and what was said by each way to it.

    Attributes:
        question: "scalable", "SMT-sensitive" or "critical resource".
        word, why, by: of the way that has the last word: what was measured, where that decides.
        number: the number it was decided by; None without one.
        number_is: what that number is, in words.
        others: the ways that do not have it.
    """

    question: str
    word: str
    why: str
    by: str
    number: Ends | None = None
    number_is: str = ""
    others: tuple[Route, ...] = ()

    @property
    def is_decided(self) -> bool:
        """Whether there is an answer."""
        return self.word != Word.UNDECIDED

    @property
    def is_contradicted(self) -> bool:
        """Whether another way to it decides otherwise."""
        return any(result.word not in {self.word, Word.UNDECIDED} for result in self.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What the paper advises a provider to do with such a service (P12).

    Attributes:
        what: as an order.
        why: from which answer it follows.
        source: where the paper says so.
    """

    what: str
    why: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A scenario that was looked at: its name, load, side of the crossing, runs and samples.

    Attributes:
        nearness: that load over what it carries within QoS; None: not known.
    """

    name: str
    load_rps: float | None
    where: str
    nearness: float | None
    runs: int
    samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Class:
    """All that is reported about one service.

    Attributes:
        service: its name, with other levels under which it was seen.
        scalable, smt, critical: the answers.
        group: of the paper's Table 4: (group, category); None: none.
        readings: the numbers behind the paper's rule, in the order of its Table 3.
        unseen: (resource, why it could not be seen).
        scenarios: that were looked at.
        actions: what follows.
    """

    service: str
    scalable: Answer
    smt: Answer
    critical: Answer
    group: tuple[str, str] | None
    readings: tuple[Reading, ...]
    unseen: tuple[tuple[str, str], ...]
    scenarios: tuple[Seen, ...]
    actions: tuple[Action, ...]

    @property
    def answers(self) -> tuple[Answer, Answer, Answer]:
        """The three in the order in which they are reported."""
        return self.scalable, self.smt, self.critical

    @property
    def is_decided(self) -> bool:
        """Whether all three answers are decided."""
        return all(answer.is_decided for answer in self.answers)
