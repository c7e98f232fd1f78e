"""A CPU-bound task on each CPU, as nice as can be: what a context switch costs (L12, L17)."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.actors.kind import WHERE, NamedKind
from sojourn.actors.neighbours.neighbour import (
    SERVER,
    Neighbour,
    check,
    where_param,
    yielding,
)

LOOP = ("/bin/sh", "-c", "while :; do :; done")


def build(params: Mapping[str, str]) -> Neighbour:
    """A loop on each CPU of its place, at nice 19."""
    return Neighbour(KIND.name, params[WHERE], lambda: yielding(LOOP))


KIND = NamedKind(
    name="spin",
    about="a CPU-bound task on each of the server's CPUs, at nice 19",
    params=(where_param(SERVER),),
    needs=("coreutils",),
    source="L12, table 1 (context switch); L17",
    check=check,
    build=build,
    label=lambda _: "CPU loop at nice 19",
)
