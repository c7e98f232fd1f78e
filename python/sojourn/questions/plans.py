"""What may be asked of a service: `plan` of each question, in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from sojourn import kinds
from sojourn.errors import SpecFault
from sojourn.plan.points import Phase
from sojourn.plan.question import Known, PhaseKind, Question
from sojourn.spec import ServiceSpec, Study
from sojourn.spec.faults import Mistake, near

KINDS: Mapping[str, Question]
OF_ALL: frozenset[str]
AXIS = PhaseKind(name=Phase.PEAK, about="what 100 % load is")  # before whoever needs an axis

__all__ = ["AXIS", "KINDS", "OF_ALL", "Known", "PhaseKind", "Question"]


@cache
def _table() -> Mapping[str, Question]:
    """By name; made when it is first asked for, because questions import what asks for it."""
    from sojourn.questions.attribution import plan as attribution
    from sojourn.questions.beside import plan as beside
    from sojourn.questions.blame import plan as blame
    from sojourn.questions.breakdown import plan as breakdown
    from sojourn.questions.check import plan as check
    from sojourn.questions.colocation import plan as colocation
    from sojourn.questions.isolation_cost import plan as isolation_cost
    from sojourn.questions.max_load import plan as max_load
    from sojourn.questions.null import plan as null
    from sojourn.questions.qos_matrix import plan as qos_matrix
    from sojourn.questions.scheduler_bakeoff import plan as scheduler_bakeoff
    from sojourn.questions.smt_pairs import plan as smt_pairs
    from sojourn.questions.sweep import plan as sweep
    from sojourn.questions.together import plan as together

    return kinds.table(
        sweep.KIND,
        max_load.KIND,
        breakdown.KIND,
        check.KIND,
        isolation_cost.KIND,
        attribution.KIND,
        colocation.KIND,
        beside.KIND,
        blame.KIND,
        null.KIND,
        together.KIND,
        qos_matrix.KIND,
        smt_pairs.KIND,
        scheduler_bakeoff.KIND,
    )


def __getattr__(name: str) -> Mapping[str, Question] | frozenset[str]:
    """`KINDS`, and `OF_ALL`: names of the phases of what is asked of several services at once."""
    if name == "KINDS":
        return _table()
    if name == "OF_ALL":
        every = (kind for kind in _table().values() if kind.is_of_all)
        return frozenset(phase.name for kind in every for phase in kind.phases)
    raise AttributeError(name)


def asked(study: Study, service: ServiceSpec) -> tuple[Question, ...]:
    """The questions that a study asks of a service, in order.

    Raises:
        SpecFault: the service's `measure` names something that is no question.
    """
    for what, fix in _problems(service.measure, lambda table: getattr(service, table, None)):
        raise SpecFault(what, at=f"services.{service.label}.measure", fix=fix)
    return tuple(question for question in _table().values() if question.is_asked(study, service))


def of_phase(phase: Phase) -> Question | None:
    """The question whose phase it is; None if it is that of the axis, or of none that is left."""
    every = ((kind.name, question) for question in _table().values() for kind in question.phases)
    return next((question for name, question in every if name == phase), None)


def phases() -> tuple[PhaseKind, ...]:
    """Every phase, in the order of measurement."""
    return AXIS, *(kind for question in _table().values() for kind in question.phases)


def kind_of(phase: Phase) -> PhaseKind:
    """What is known of a phase; of one that is no longer asked for, its name."""
    found = (kind for kind in phases() if kind.name == phase)
    return next(found, PhaseKind(name=phase, about=""))


def mistakes(services: object) -> Iterator[Mistake]:
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
            for what, fix in _problems(names, service.get):
                yield ("services", number, "measure"), what, fix
            for name in dict.fromkeys(n for n in names if n in _table() and _table()[n].is_of_one):
                if name in once:
                    what = f"measure asks for {name}, which another service is asked for already"
                    yield ("services", number, "measure"), what, "ask it in a study of its own"
                once.add(name)


def _problems(names: Sequence[str], table_of: Callable[[str], object]) -> Iterator[tuple[str, str]]:
    """(what, fix) of each question that does not exist, or has not what it needs."""
    for name in names:
        question = _table().get(name)
        if question is None:
            meant = near(name, _table())
            fix = (
                f"did you mean {' or '.join(meant)}?" if meant else f"known: {', '.join(_table())}"
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
            yield f"measure asks for {name}, which stands alone, and for something else", fix
