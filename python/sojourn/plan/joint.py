"""What is asked of several services at once: a plan for each combination of what any of them feels.

A service by itself feels the factors without a label and its own; of services at once each feels
what the others are like, so these are planned apart from the combinations of each (`design`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sojourn.errors import SpecFault
from sojourn.plan import design, make
from sojourn.plan.points import Outcome, Point
from sojourn.plan.question import Known, Question
from sojourn.plan.questions import Questions
from sojourn.plan.setting import Setting
from sojourn.spec import Study

AND = " + "  # between labels of services at once, for people


@dataclass(frozen=True, slots=True)
class Joint:
    """One question about several services under one combination, and what became of it so far.

    Attributes:
        question: that is asked.
        number: where it is among all questions.
        labels: of the services that take part, in the study's order.
        levels: of the factors that one of them feels.
        study: of this combination, without factors.
        outcomes: of the question under it, in order, as they were measured: with the levels.
    """

    question: Question
    number: int
    labels: tuple[str, ...]
    levels: Setting
    study: Study
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def name(self) -> tuple[str, str]:
        """Tells it from every other one, and from a combination of a service (a label)."""
        return f"{self.question.name}: {AND.join(self.labels)}", self.levels.text

    def next(self, known: Mapping[str, Known]) -> Point | None:
        """The measurement to make; None when there are enough.

        Args:
            known: of each member under the levels that it feels, by label.
        """
        return self.question.next_of_all(self.study, self.levels, known, self.outcomes)

    def turn(self, study: Study, point: Point) -> design.Turn:
        """When it is its turn: as `design.turn`, with lots of the whole study."""
        block = f"{point.phase}/b{point.repeat}"
        whole_plot = make.seed_of(study, f"{block}/{self.levels.whole_plot.text}")
        return (self.number, False), point.repeat, whole_plot, point.seed


def asked(study: Study, questions: Questions) -> tuple[Joint, ...]:
    """All that a study asks of several services, in order, without outcomes yet.

    Raises:
        SpecFault: one of them is to run at a share of its max RPS, which nothing measures.
    """
    for question in questions.values():
        for label in question.members(study):
            _refuse(study, question, label, questions)
    return tuple(
        Joint(
            question,
            number,
            labels,
            Setting.of(levels),
            design.drawn_under(study, AND.join(labels), levels),
        )
        for number, question in enumerate(questions.values())
        if (labels := question.members(study))
        for levels in study.combinations(*labels)
    )


def _refuse(study: Study, question: Question, label: str, questions: Questions) -> None:
    """SpecFault if a member never gets a load axis: there would be no point, and no word."""
    service = study.service(label)
    if any(own.needs_axis for own in questions.asked(study, service)):
        return
    what = ", ".join(service.measure) or "nothing"
    raise SpecFault(
        f"{question.name} runs {label} at shares of its max RPS, and what is asked of it ({what}) "
        "measures none",
        at=f"services.{label}.measure",
        fix=f'write measure = ["sweep"], or measure the others without {label}',
    )


def add(joints: Sequence[Joint], study: Study, outcome: Outcome) -> None:
    """Put an outcome to its question and combination; others are of no concern."""
    levels = design.levels_of(study, outcome.point)
    phase = outcome.point.phase
    for one in joints:
        is_its = any(kind.name is phase for kind in one.question.phases)
        if is_its and one.levels == levels:
            one.outcomes.append(outcome)
