"""How long tasks waited for a CPU while load ran, as the kernel counts it (PSI)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.actors.actor import Actor, Role, Stage
from sojourn.actors.kind import ProbeKind
from sojourn.host.tree import Tree
from sojourn.plan import Point
from sojourn.spec import ServiceSpec

TREE = Tree()


class Pressure(Actor):
    """The counter before the load and after it."""

    role = Role.PROBE
    name = "pressure"

    def __init__(self) -> None:
        self._before: int | None = None
        self._saw: dict[str, Any] = {}

    def enter(self, stage: Stage) -> None:
        """Read it before the load."""
        del stage
        self._before = waited_us()

    def leave(self) -> None:
        """Read it after the load."""
        after = waited_us()
        if self._before is not None and after is not None:
            self._saw = {"cpu_pressure_us": after - self._before}

    def saw(self) -> Mapping[str, Any]:
        """The key `cpu_pressure_us`; nothing where the kernel does not count."""
        return self._saw


def waited_us() -> int | None:
    """Time since boot in which some task waited for a CPU, us; None: not counted."""
    for word in (TREE.text("/proc/pressure/cpu") or "").split():
        if word.startswith("total="):
            return int(word.removeprefix("total="))
    return None


def build(spec: ServiceSpec, point: Point) -> Pressure:
    """Every point asks for it."""
    del spec, point
    return Pressure()


KIND = ProbeKind(
    name="pressure",
    about="how long tasks waited for a CPU while load ran",
    source="Documentation/accounting/psi.rst",
    build=build,
    place=50,
)
