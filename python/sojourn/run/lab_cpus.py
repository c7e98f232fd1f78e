"""Keeps the lab itself on the CPUs for housekeeping, while a session lasts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from sojourn.errors import HostFault
from sojourn.host.tree import cpu_text


@contextlib.contextmanager
def on(cpus: tuple[int, ...]) -> Iterator[None]:
    """Keep the lab itself to some CPUs; what it starts is placed by itself.

    All its threads: libraries have started some of their own by now, which stay where they were
    when only the main one is put elsewhere.

    Raises:
        HostFault: no thread can be put on a CPU here, so server and client could not be either.
    """
    before = {tid: where for tid in _threads() if (where := _cpus_of(tid))}
    try:
        for tid in before:
            _put(tid, cpus)
    except OSError as error:
        raise HostFault(
            f"the lab cannot be put on CPU {cpu_text(cpus)}: {error.strerror}",
            at="sched_setaffinity(2)",
            fix="let the sandbox call it: without @resources in SystemCallFilter=~ of a service, "
            "with --security-opt seccomp=unconfined of a container",
        ) from None
    try:
        yield
    finally:
        for tid in _threads():  # those that came meanwhile go where the main one came from
            with contextlib.suppress(OSError):  # a cpuset may have lost these CPUs meanwhile
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
