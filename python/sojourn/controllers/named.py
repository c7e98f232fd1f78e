"""A controller by its name in a configuration or on the command line."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.controllers import kind
from sojourn.controllers.program import PREFIX, Program
from sojourn.controllers.rule import OfKind, Rule


def rule(name: str, constants: Mapping[str, float]) -> Rule:
    """`parties`, or `program:COMMAND`; SpecFault if there is no such controller."""
    if name.startswith(PREFIX):
        return Program(name.removeprefix(PREFIX))
    return OfKind(kind(name), constants)
