"""Sees what the scheduler setting of a point can do, with processes of its own (L24, L25).

At points of the question `scheduler_bakeoff` only, on the first service's stage, before the load:
both services are there under the same levels, and idle. Budgets that follow from offered load are
let go meanwhile, so that those of the stand-ins fit beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn import disk
from sojourn.actors.actor import Actor, Role, Running, Stage
from sojourn.actors.kind import ProbeKind
from sojourn.knobs import Offered
from sojourn.plan import Point
from sojourn.questions.scheduler_bakeoff.plan import PHASE
from sojourn.spec import ServiceSpec

FILE, FORM = "properties.json", "sojourn.properties/1"


class Properties(Actor):
    """The one who puts stand-ins under the levels of both services."""

    role = Role.PROBE
    name = "properties"

    def __init__(self) -> None:
        self._done = False

    def enter(self, stage: Stage) -> None:
        """Measure all three, and keep them."""
        from sojourn.questions.scheduler_bakeoff import property as what  # noqa: PLC0415 - few need

        point = stage.point
        labels = (point.service, point.beside[0].service)
        services = [stage.services[label] for label in labels]
        on, cpus = services[0].turned, stage.cpus[Role.SERVICE]
        if on is None or not cpus:
            return
        offered = services[0].offered
        _let(services, {})
        try:
            inputs = what.MeasureInputs(
                labels=labels,
                on=on,
                offered=offered,
                cpu=cpus[0],
                levels={one.label: one.levels for one in services},
            )
            table = {"schema": FORM, **what.measured(inputs)}
        finally:
            _let(services, offered)
        disk.keep_json(stage.folder / FILE, table)
        self._done = True

    def leave(self) -> None:
        """Nothing is left: stand-ins end with what they measure."""

    def saw(self) -> Mapping[str, Any]:
        """Whether it could look at all."""
        return {"properties": {"done": self._done}}


def _let(services: list[Running], offered: Mapping[str, Offered]) -> None:
    """Tell the services' own knobs what is offered now."""
    for one in services:
        for name in one.levels:
            if name in one.knobs:
                one.knobs[name].among(one.label, offered)


def build(spec: ServiceSpec, point: Point) -> Properties | None:
    """For the first service at points of its question only."""
    del spec
    return Properties() if point.phase is PHASE and point.beside else None


KIND = ProbeKind(
    name="properties",
    place=40,
    about="what a scheduler setting can do: reserve, use idle time, set the order",
    source="L24, L25",
    build=build,
)
