"""A bound on the memory that this process takes while a query runs.

DuckDB's own limit counts its buffers only. A single value, such as `repeat('x', 10000000000)` or a
long text of a record, is allocated beside them. So the kernel refuses the address space, and DuckDB
and Python report that as any other lack of memory.

A process that has used all of it may also just end, for example where the loader of shared objects
gets none. So a program that has more to do than one query runs it in a process of its own.
"""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator
from pathlib import Path

SPARE_BYTES = 512 << 20  # address space that is reserved and not used: stacks, arenas of malloc
THREAD_BYTES = 136 << 20  # of each further thread: 8 MiB of stack, 128 MiB of arena
SHARE = 0.8  # of the machine's memory, as DuckDB has it where nothing is asked for


@contextlib.contextmanager
def within(more_bytes: int, threads: int = 1) -> Iterator[None]:
    """Within, whatever takes more than these bytes in addition raises MemoryError.

    Args:
        more_bytes: that may be taken.
        threads: that work on it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if taken := _taken():
        most = taken + more_bytes + SPARE_BYTES + (threads - 1) * THREAD_BYTES
        known = [one for one in (soft, hard) if one != resource.RLIM_INFINITY]
        _set(min([most, *known]), hard)
    try:
        yield
    finally:
        _set(soft, hard)


def of_machine() -> int:
    """How much a query may take where no one bounds it, bytes."""
    return int(SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def _taken() -> int:
    """Address space of this process, bytes; 0: not known, as where there is no /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _set(soft: int, hard: int) -> None:
    with contextlib.suppress(ValueError, OSError):  # a place that has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
