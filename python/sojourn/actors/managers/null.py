"""A manager that decides to change nothing: what the loop itself costs."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.actors.kind import NamedKind
from sojourn.actors.managers.manager import Changes, Manager, Windows
from sojourn.knobs import Knob


class Null(Manager):
    """Is asked once a period, and leaves everything as it is."""

    name = "null"

    def decide(self, windows: Windows, knobs: Mapping[str, Knob]) -> Changes:
        """No change, whatever anybody saw."""
        del windows, knobs
        return {}


def build(params: Mapping[str, str]) -> Null:
    """There is nothing to choose."""
    del params
    return Null()


KIND = NamedKind(
    name="null",
    about="is asked once a second and changes nothing",
    source="of this lab",
    build=build,
)
