"""What may be asked of a service: a file a question, in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from sojourn import kinds
from sojourn.errors import SpecFault
from sojourn.plan.points import Phase
from sojourn.plan.questions import (
    attribution,
    beside,
    blame,
    breakdown,
    check,
    colocation,
    isolation_cost,
    max_load,
    null,
    qos_matrix,
    scheduler_bakeoff,
    smt_pairs,
    sweep,
    together,
)
from sojourn.plan.questions.question import Known, PhaseKind, Question
from sojourn.spec import ServiceSpec, Study
from sojourn.spec.faults import Mistake, near

KINDS: Mapping[str, Question] = kinds.table(
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
OF_ALL = frozenset(p.name for kind in KINDS.values() if kind.is_of_all for p in kind.phases)
AXIS = PhaseKind(name=Phase.PEAK, about="what 100 % load is")  # before whoever needs an axis

__all__ = ["AXIS", "KINDS", "OF_ALL", "Known", "PhaseKind", "Question"]


def asked(study: Study, service: ServiceSpec) -> tuple[Question, ...]:
    """The questions that a study asks of a service, in order.

    Raises:
        SpecFault: the service's `measure` names something that is no question.
    """
    for what, fix in _problems(service.measure, lambda table: getattr(service, table, None)):
        raise SpecFault(what, at=f"services.{service.label}.measure", fix=fix)
    return tuple(question for question in KINDS.values() if question.is_asked(study, service))


def of_phase(phase: Phase) -> Question | None:
    """The question whose phase it is; None if it is that of the axis, or of none that is left."""
    every = ((kind.name, question) for question in KINDS.values() for kind in question.phases)
    return next((question for name, question in every if name == phase), None)


def phases() -> tuple[PhaseKind, ...]:
    """Every phase, in the order of measurement."""
    return AXIS, *(kind for question in KINDS.values() for kind in question.phases)


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
            for name in dict.fromkeys(n for n in names if n in KINDS and KINDS[n].is_of_one):
                if name in once:
                    what = f"measure asks for {name}, which another service is asked for already"
                    yield ("services", number, "measure"), what, "ask it in a study of its own"
                once.add(name)


def _problems(names: Sequence[str], table_of: Callable[[str], object]) -> Iterator[tuple[str, str]]:
    """(what, fix) of each question that does not exist, or has not what it needs."""
    for name in names:
        question = KINDS.get(name)
        if question is None:
            meant = near(name, KINDS)
            fix = f"did you mean {' or '.join(meant)}?" if meant else f"known: {', '.join(KINDS)}"
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
