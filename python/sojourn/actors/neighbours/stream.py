"""A task that streams through memory: what caches and memory that are shared cost (L12, L3)."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from sojourn.actors.kind import WHERE, NamedKind
from sojourn.actors.neighbours.neighbour import (
    FREE,
    Neighbour,
    check,
    where_param,
    yielding,
)

PART_BYTES = 1 << 26  # far more than a last-level cache's share
COPY = (
    f"a = memoryview(bytearray({PART_BYTES})); b = memoryview(bytearray({PART_BYTES}))\n"
    "while 1: a[:] = b"
)


def _argv() -> tuple[str, ...]:
    return yielding((sys.executable, "-I", "-S", "-c", COPY))


def build(params: Mapping[str, str]) -> Neighbour:
    """A copy of 64 MiB, again and again, on each CPU of its place, at nice 19."""
    return Neighbour(KIND.name, params[WHERE], _argv, footprint_bytes=2 * PART_BYTES)


KIND = NamedKind(
    name="stream",
    about="a task that copies 64 MiB again and again on unused CPUs, at nice 19",
    params=(where_param(FREE),),
    needs=("coreutils",),
    source="L12, table 1 (interference)",
    check=check,
    build=build,
    label=lambda _: "memory copy",
)
