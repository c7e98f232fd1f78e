"""A CPU-bound task of the server's own weight, on one of its CPUs: one CPU is time-shared (L7)."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.actors.kind import WHERE, NamedKind
from sojourn.actors.neighbours.neighbour import ONE, Neighbour, where_param
from sojourn.actors.neighbours.spin import LOOP


def build(params: Mapping[str, str]) -> Neighbour:
    """A loop on each CPU of its place, as nice as the server."""
    return Neighbour(KIND.name, params[WHERE], lambda: LOOP)


KIND = NamedKind(
    name="rival",
    about="a CPU-bound task of the server's own weight, on one of its CPUs: it takes turns with it",
    params=(where_param(ONE),),
    source="L7 (exactly one core time-shared), L15",
    build=build,
    label=lambda _: "CPU loop",
)
