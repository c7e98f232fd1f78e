"""What a question is to the plan: the one interface through which each of them is asked.

A question is a folder in `sojourn.questions`: its `plan` chooses points, its `judge` makes an
answer of them, its `section` shows that. What they share (the load axis, the QoS target, the
budget) is found before they are asked, in `plan.next`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import ClassVar

from sojourn.plan.axis import Axis, Target
from sojourn.plan.points import Outcome, Phase, Point, Rules
from sojourn.plan.search import Search
from sojourn.plan.setting import Setting
from sojourn.spec import ServiceSpec, Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a service when a question is asked.

    Attributes:
        axis: what 100 % load means; None while it is not known.
        target: the QoS target with its bound; None without one or while it is not measured.
        found: what each question has found so far, by its name; those not begun are not in it.
        is_late: the rest of the service's time is reserved for later questions: repeat nothing.
    """

    axis: Axis | None = None
    target: Target | None = None
    found: Mapping[str, object] = field(default_factory=dict)
    is_late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseKind(Rules):
    """Why some of a question's points are measured, and what is to be known of each of them.

    Attributes:
        name: of the phase, as it is written in points and records.
        about: in a few words, for `sojourn plan`.
        is_about: how many points there are depends on what they show.
        grows_with: keys of the study; k times the value makes k times as many points, or as long.
    """

    name: Phase
    about: str
    is_about: bool = False
    grows_with: tuple[str, ...] = ("run.repeats", "run.measure_s")

    @property
    def rules(self) -> Rules:
        """Rules for the points of this phase."""
        return Rules(**{one.name: getattr(self, one.name) for one in fields(Rules)})


class Question(ABC):
    """Something that is asked of a service: `measure` in a study names it.

    Attributes:
        name: as it is written in a study.
        about: in one line.
        phases: of its points; no other question has one of these.
        needs_axis: its loads are shares of max RPS, which is measured first.
        tables: keys of the service without which it cannot be asked, such as `qos`.
        is_alone: nothing else may be asked of the same service.
        is_of_all: a table of the study asks it of several services at once, not `measure` of one.
        is_in_turn: of those that are asked of all, its services run one after the other, each with
            the whole machine.
        is_of_one: it may be asked of one service of a study only.
        gives_axis: its search is the load axis of a service with `max_rps = "qos"`.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    phases: ClassVar[tuple[PhaseKind, ...]]
    needs_axis: ClassVar[bool] = True
    tables: ClassVar[tuple[str, ...]] = ()
    is_alone: ClassVar[bool] = False
    is_of_all: ClassVar[bool] = False
    is_in_turn: ClassVar[bool] = False
    is_of_one: ClassVar[bool] = False
    gives_axis: ClassVar[bool] = False

    @abstractmethod
    def next_point(
        self, study: Study, service: ServiceSpec, known: Known, outcomes: Sequence[Outcome]
    ) -> Point | None:
        """The measurement to make for it; None when it has all it wants.

        Pure, and determined by the study's seed: the same arguments give the same point.

        Args:
            study: the study.
            service: of which it is asked.
            known: so far; with an axis, if it needs one, and with what it found itself.
            outcomes: of this service, in the order in which they were made.
        """

    def next_of_all(
        self,
        study: Study,
        levels: Setting,
        known: Mapping[str, Known],
        outcomes: Sequence[Outcome],
    ) -> Point | None:
        """The same of several services at once, when all that is asked of each is answered.

        Args:
            study: that of one combination of levels.
            levels: that combination, which is a part of every point's setting.
            known: of each member under it, by label.
            outcomes: of this question under it, of all members.
        """
        del study, levels, known, outcomes
        return None

    def members(self, study: Study) -> tuple[str, ...]:
        """Labels of the services of which the study asks it at once; () if it does not."""
        del study
        return ()

    def is_asked(self, study: Study, service: ServiceSpec) -> bool:
        """Whether the study asks it of this service."""
        del study
        return self.name in service.measure

    def finds(
        self, study: Study, service: ServiceSpec, known: Known, outcomes: Sequence[Outcome]
    ) -> object:
        """What it has found so far, for itself and for whoever reports; None: nothing to keep."""
        del study, service, outcomes
        return known.found.get(self.name)

    def searched(self, known: Known) -> Search | None:
        """The search for a highest load that it made; None: it made none."""
        del known
        return None

    def neighbours(self, study: Study, service: ServiceSpec) -> tuple[str, ...]:
        """Neighbours that its points may have beside those of the study, as a study names them."""
        del study, service
        return ()

    def stops(self, service: ServiceSpec) -> tuple[str, ...]:
        """Processes that are not the lab's and that it stops for a time, as a study names them."""
        del service
        return ()

    def reserved_s(self, study: Study, service: ServiceSpec, known: Known) -> float:
        """Time that questions before it may not use up with repetitions, s."""
        del study, service, known
        return 0.0

    def so_far(self, known: Known) -> str:
        """Its answer at this moment, for whoever watches; "" if there is none."""
        del known
        return ""

    def chance_of(self, known: Known, outcome: Outcome) -> float | None:
        """By all runs together, the probability that the load of one meets its target.

        None: they say nothing beyond the verdict of the run.
        """
        del known, outcome
        return None

    def rehearsed(
        self, study: Study, point: Point, played: Sequence[Outcome], fresh_s: float
    ) -> Sequence[Point]:
        """The points for which one point stands when the plan is played through unmeasured.

        Args:
            study: the study.
            point: of one of its phases.
            played: before it.
            fresh_s: what a point takes beside load if the service is started anew for it, s.
        """
        del study, played, fresh_s
        return [point]

    def beside_s(self, point: Point) -> float:
        """Time that one of its points takes beside load, start and reading, s: for a plan only."""
        del point
        return 0.0

    def shortfalls(
        self, study: Study, service: ServiceSpec, points: Sequence[Point]
    ) -> Iterator[str]:
        """What these points cannot answer whatever they show, and how much more would."""
        del study, service, points
        yield from ()


class OfAll(Question):
    """Asked of several services at once by a table of the study, and of none by itself."""

    is_of_all = True

    def is_asked(self, study: Study, service: ServiceSpec) -> bool:
        """Of no service by itself."""
        del study, service
        return False

    def next_point(
        self, study: Study, service: ServiceSpec, known: Known, outcomes: Sequence[Outcome]
    ) -> Point | None:
        """None: it is not asked of one service."""
        del study, service, known, outcomes
        return None
