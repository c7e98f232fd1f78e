"""Keeps the lab itself on the CPUs for housekeeping, while a session lasts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path


@contextlib.contextmanager
def on(cpus: tuple[int, ...]) -> Iterator[None]:
    """Keep the lab itself to some CPUs; what it starts is placed by itself.

    All its threads: libraries have started some of their own by now, which stay where they were
    when only the main one is put elsewhere.
    """
    before = {tid: where for tid in _threads() if (where := _cpus_of(tid))}
    for tid in before:
        _put(tid, cpus)
    try:
        yield
    finally:
        for tid in _threads():  # those that came meanwhile go where the main one came from
            _put(tid, before.get(tid, before[os.getpid()]))


def _threads() -> list[int]:
    return [int(entry.name) for entry in Path("/proc/self/task").iterdir()]


def _cpus_of(tid: int) -> set[int]:
    with contextlib.suppress(OSError):  # it has ended meanwhile
        return os.sched_getaffinity(tid)
    return set()


def _put(tid: int, cpus: Collection[int]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.sched_setaffinity(tid, cpus)
