"""All that may be asked, as one value: whoever plans, runs or reads a study is handed it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from sojourn import kinds
from sojourn.errors import SpecFault
from sojourn.plan.points import Outcome, Phase, Point
from sojourn.plan.question import Known, PhaseKind, Question
from sojourn.plan.search import Search
from sojourn.spec import ServiceSpec, Study
from sojourn.spec.faults import Mistake
from sojourn.text.near import near

#: Before whoever needs an axis.
AXIS = PhaseKind(name=Phase.PEAK, about="what 100 % load is", grows_with=("run.peak_repeats",))


class Questions(Mapping[str, Question]):
    """What may be asked, by name, in the order in which it is asked.

    Whoever plans, runs or reads a study is handed one; nothing here knows which there are.
    """

    def __init__(self, *every: Question) -> None:
        """In their order; without any, nothing can be asked."""
        self._kinds = kinds.table(*every)
        self._phases = {
            phase.name: replace(phase, is_of_all=kind.is_of_all)
            for kind in every
            for phase in kind.phases
        }
        self._of_phase = {phase.name: kind for kind in every for phase in kind.phases}
        self._number = {
            phase.name: number for number, kind in enumerate(every) for phase in kind.phases
        }

    def __getitem__(self, name: str) -> Question:
        return self._kinds[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)

    def asked(self, study: Study, service: ServiceSpec) -> tuple[Question, ...]:
        """The questions that a study asks of a service, in order.

        Raises:
            SpecFault: the service's `measure` names something that is no question.
        """
        for what, fix in self._problems(service.measure, partial(_table_of, service)):
            raise SpecFault(what, at=f"services.{service.label}.measure", fix=fix)
        return tuple(question for question in self.values() if question.is_asked(study, service))

    def of_phase(self, phase: Phase) -> Question | None:
        """The question whose phase it is; None if it is of the axis, or of none that is left."""
        return self._of_phase.get(phase)

    def number(self, phase: Phase) -> int:
        """Where the question of a phase is in the order of asking; -1: none has it."""
        return self._number.get(phase, -1)

    @property
    def phases(self) -> tuple[PhaseKind, ...]:
        """Every phase, in the order of measurement."""
        return AXIS, *self._phases.values()

    def kind_of(self, phase: Phase) -> PhaseKind:
        """What is known of a phase; of one that is no longer asked for, its name."""
        result = AXIS if phase == AXIS.name else self._phases.get(phase)
        return result or PhaseKind(name=phase, about="")

    def stated(self, point: Point) -> Point:
        """The point with the rules of its phase, where it has none of its own."""
        if point.rules.is_stated:
            return point
        beside = tuple(map(self.stated, point.beside))
        return replace(point, rules=self.kind_of(point.phase).rules, beside=beside)

    def known(self, outcome: Outcome) -> Outcome:
        """The outcome of a point with its rules: of a record from before they were written."""
        if outcome.point.rules.is_stated:
            return outcome
        return replace(outcome, point=self.stated(outcome.point))

    def search_of(self, known: Known) -> Search | None:
        """The search for a service's highest load; None if none was begun."""
        return next(filter(None, (one.searched(known) for one in self.values())), None)

    @property
    def axis_search(self) -> str:
        """The question whose search is the load axis with `max_rps = "qos"`; "": there is none."""
        return next((one.name for one in self.values() if one.gives_axis), "")

    def mistakes(self, services: object) -> Iterator[Mistake]:
        """Questions that do not exist or cannot be asked, with near names; `spec.load` asks.

        Args:
            services: as the file has them, right or wrong; what has not even the right form is the
                model's to refuse.
        """
        once: set[str] = set()
        for number, service in enumerate(services if isinstance(services, list) else ()):
            if not isinstance(service, Mapping):
                continue
            names = service.get("measure", ServiceSpec.model_fields["measure"].default)
            if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
                for what, fix in self._problems(names, service.get):
                    yield ("services", number, "measure"), what, fix
                for name in dict.fromkeys(n for n in names if n in self and self[n].is_of_one):
                    if name in once:
                        what = (
                            f"measure asks for {name}, which another service is asked for already"
                        )
                        yield ("services", number, "measure"), what, "ask it in a study of its own"
                    once.add(name)

    def _problems(
        self, names: Sequence[str], table_of: Callable[[str], object]
    ) -> Iterator[tuple[str, str]]:
        """(what, fix) of each question that does not exist, or has not what it needs."""
        for name in names:
            question = self.get(name)
            if question is None:
                meant = near(name, self)
                fix = (
                    f"did you mean {' or '.join(meant)}?" if meant else f"known: {', '.join(self)}"
                )
                yield f"there is no question '{name}'", fix
                continue
            if question.is_of_all:
                what = f"measure asks for {name}, which is about several services"
                yield what, f"add a table [{name}] to the study, and leave {name} out of measure"
            for table in question.tables:
                if table_of(table) is None:  # an empty one has all its defaults
                    what = f"measure asks for {name}, which needs a [services.{table}] table"
                    yield what, f"add [services.{table}], or leave {name} out of measure"
            if question.is_alone and len(names) > 1:
                fix = f'write measure = ["{name}"], and the rest in a [[services]] table of its own'
                yield f"measure asks for {name} and for others, but {name} must be asked alone", fix


def _table_of(service: ServiceSpec, table: str) -> object:
    return getattr(service, table, None)
