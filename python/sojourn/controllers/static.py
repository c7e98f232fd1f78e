"""One allocation of best-effort groups, set once: a line of configuration.

With the levels that a search has found, this is the *oracle*: the best fixed allocation. A weight
does nothing to a group that is idle, and the kernel refuses it (EINVAL), so it is left out there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import (
    Allocation,
    Change,
    Decision,
    History,
    Knob,
    Level,
    for_all,
    mistake,
)
from sojourn.errors import SpecFault

CONSTANTS = {
    "idle": 0.0,
    "weight": 100.0,
    "quota": 0.0,
    "cores": -1.0,
    "memory": 0.0,
    "io": 0.0,
    "frozen": 0.0,
    "sched_idle": 0.0,
    "sched_batch": 0.0,
    "nice": 0.0,
    "egress": 0.0,
    "frequency": 0.0,
    "ways": 0.0,
    "bandwidth": 0.0,
}
# bytes, bytes/s or Hz; two lists, because changes are in this order
FIRST_AMOUNTS: tuple[Knob, ...] = ("memory", "io")
LAST_AMOUNTS: tuple[Knob, ...] = ("egress", "frequency")
COUNTS: tuple[Knob, ...] = ("ways", "bandwidth")


def decide(history: History) -> Decision:
    """Set the constants' levels at the first look; 0 (cores: −1) leaves a knob alone."""
    if history.memory:
        return Decision(memory=history.memory)
    constants, groups = history.constants, history.now.best_effort
    why = "fixed by the configuration"
    is_idle = bool(constants["idle"])
    weighed = {n: g for n, g in groups.items() if not (is_idle or g.allocation.idle)}
    changes: list[Change] = []
    for knob, level in _levels(constants):
        chosen = weighed if knob == "weight" else groups
        changes += for_all(chosen, knob, level=level, why=why)
    return Decision(changes=tuple(changes), memory={"set": True})


def _levels(constants: Mapping[str, float]) -> Iterator[tuple[Knob, Level]]:
    """What is set, in this order."""
    if constants["idle"]:
        yield "idle", True
    yield "weight", round(constants["weight"])
    if constants["quota"]:
        yield "quota", constants["quota"]
    if constants["cores"] >= 0:
        yield "cores", round(constants["cores"])
    yield from ((knob, constants[knob]) for knob in FIRST_AMOUNTS if constants[knob])
    if constants["frozen"]:
        yield "frozen", True
    if policy := _policy(constants):
        yield "policy", policy
    yield from ((knob, constants[knob]) for knob in LAST_AMOUNTS if constants[knob])
    yield from ((knob, round(constants[knob])) for knob in COUNTS if constants[knob])


def _policy(constants: Mapping[str, float]) -> str:
    """One policy at most: the one that takes least of a CPU."""
    if constants["sched_idle"]:
        return "idle"
    if constants["sched_batch"]:
        return "batch"
    return f"nice:{round(constants['nice'])}" if constants["nice"] else ""


def asks(constants: Mapping[str, float]) -> tuple[Knob, ...]:
    """Knobs that it will set; a weight is left alone where the group has it already.

    Raises:
        SpecFault: one of them has no such level, so that the manager would end by it.
    """
    for knob, level in _levels(constants):
        try:
            Allocation.model_validate({knob: level})
        except ValidationError as error:
            raise SpecFault(
                f"static cannot set {knob} {level}: {mistake(error)}",
                at="constants",
                fix="see docs/howto/manage.md, What it can move",
            ) from None
    return tuple(knob for knob, _ in _levels(constants) if knob != "weight")


KIND = ControllerKind(
    name="static",
    about="one fixed allocation: a constant for each knob; 0 or 1 for idle, frozen and sched_…",
    source="of this lab",
    constants=CONSTANTS,
    asks=asks,
    levels=lambda constants: tuple(_levels(constants)),
    decide=decide,
)
