"""Which calls a sandbox refuses, whatever rights this program has.

A container's runtime, or a service's unit, filters calls (seccomp(2)). Each is called here in a way
that changes nothing, and that the kernel itself answers with another error than a filter does.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
from collections.abc import Callable, Mapping
from types import MappingProxyType

from sojourn.host.tree import Tree

AFFINITY, SCHEDULER = "sched_setaffinity", "sched_setscheduler"
BPF, PERF, URING = "bpf", "perf_event_open", "io_uring_setup"
FIX = "run it outside of that sandbox: --security-opt seccomp=unconfined, or no SystemCallFilter="
OBJ_GET_INFO_BY_FD = 15  # include/uapi/linux/bpf.h; of descriptor 0, which is no BPF object
#: Numbers of calls that Python has no function for.
NUMBERS: Mapping[str, Mapping[str, int]] = MappingProxyType({
    "x86_64": {BPF: 321, PERF: 298, URING: 425},
    "aarch64": {BPF: 280, PERF: 241, URING: 425},
})  # fmt: skip
_LIBC = ctypes.CDLL(None, use_errno=True)


def refused(tree: Tree) -> tuple[str, ...]:
    """Calls that are refused, ascending; () for a fake machine."""
    return tuple(sorted(filter(_is_refused, _TRIED))) if tree.is_live else ()


def _is_refused(name: str) -> bool:
    try:
        _TRIED[name]()
    except OSError as error:
        return error.errno in {errno.EPERM, errno.EACCES, errno.ENOSYS}
    return False


def _place() -> None:
    os.sched_setaffinity(0, os.sched_getaffinity(0))


def _order() -> None:
    os.sched_setscheduler(0, os.sched_getscheduler(0), os.sched_getparam(0))


def _call(name: str, *words: int) -> None:
    number = NUMBERS.get(platform.machine(), {}).get(name)
    if number is not None and _LIBC.syscall(number, *map(ctypes.c_long, words)) < 0:
        raise OSError(ctypes.get_errno(), name)


_TRIED: Mapping[str, Callable[[], None]] = MappingProxyType({
    AFFINITY: _place,
    SCHEDULER: _order,
    BPF: lambda: _call(BPF, OBJ_GET_INFO_BY_FD, 0, 0),
    PERF: lambda: _call(PERF, 0, 0, -1, -1, 0),
    URING: lambda: _call(URING, 0, 0),
})  # fmt: skip
