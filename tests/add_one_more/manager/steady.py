"""A manager that sets every knob to the level it finds: what turning alone costs."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.actors.kind import NamedKind
from sojourn.actors.managers.manager import Changes, Manager, Windows
from sojourn.knobs import Knob


class Steady(Manager):
    """Turns every knob once a period, to where it is."""

    name = "steady"

    def decide(self, windows: Windows, knobs: Mapping[str, Knob]) -> Changes:
        """Every knob at the level that it has."""
        del windows
        return {name: level for name, knob in knobs.items() if (level := knob.read())}


def build(params: Mapping[str, str]) -> Steady:
    """There is nothing to choose."""
    del params
    return Steady()


KIND = NamedKind(
    name="steady",
    about="sets every knob to the level it has, once a second",
    source="of this lab",
    build=build,
)
