"""A task that sleeps for a millisecond at a time: wake-ups, and next to no CPU time."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.actors.kind import WHERE, NamedKind
from sojourn.actors.neighbours.neighbour import SERVER, Neighbour, check, where_param, yielding

LOOP = ("/bin/sh", "-c", "while :; do sleep 0.001; done")


def build(params: Mapping[str, str]) -> Neighbour:
    """A loop on each CPU of its place, at nice 19."""
    return Neighbour(KIND.name, params[WHERE], lambda: yielding(LOOP))


KIND = NamedKind(
    name="wakeups",
    about="a task that wakes up every millisecond on each of the server's CPUs, at nice 19",
    params=(where_param(SERVER),),
    needs=("coreutils",),
    source="of this lab",
    check=check,
    build=build,
)
