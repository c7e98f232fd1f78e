"""How the kernel schedules a thread: policy, nice value, priority, slice or deadline (sched(7)).

Read and set by sched_getattr and sched_setattr, for which Python has no function. As text, in a
journal: seven numbers with colons.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from dataclasses import astuple, dataclass, replace

OTHER, FIFO, RR, BATCH, IDLE, DEADLINE = 0, 1, 2, 3, 5, 6
FAIR = (OTHER, BATCH, IDLE)
#: (sched_setattr, sched_getattr) by machine, from the kernel's tables of system calls.
CALLS = {"x86_64": (314, 315), "aarch64": (274, 275), "riscv64": (274, 275)}
FORM = struct.Struct("=IIQiIQQQ")  # include/uapi/linux/sched/types.h, its first version
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Attr:
    """Of one thread. `nice`: of fair policies; `priority`: of real-time ones; times in ns.

    `runtime`: of a deadline, or the slice of a fair policy (Linux 6.12; 0: the kernel's).
    """

    policy: int
    flags: int = 0
    nice: int = 0
    priority: int = 0
    runtime: int = 0
    deadline: int = 0
    period: int = 0

    @property
    def text(self) -> str:
        """As it is written in a journal."""
        return ":".join(map(str, astuple(self)))

    @classmethod
    def of(cls, text: str) -> Attr:
        """The attributes that `text` was of."""
        return cls(*map(int, text.split(":")))


def get(tid: int) -> Attr:
    """What a thread has, as it can be put back.

    The usual slice reads as 0; so does a nice value that an idle policy neither heeds nor takes.

    Raises:
        OSError: the thread is gone.
    """
    attr = _get(tid)
    if attr.policy == IDLE:
        attr = replace(attr, nice=0)
    if attr.policy in FAIR and attr.runtime == _get(0).runtime:
        return replace(attr, runtime=0)
    return attr


def put(tid: int, attr: Attr) -> None:
    """Give it to a thread; OSError if the kernel refuses or the thread is gone."""
    raw = FORM.pack(FORM.size, *astuple(attr))
    _call(_calls()[0], tid, ctypes.create_string_buffer(raw, FORM.size), 0)


def _get(tid: int) -> Attr:
    buffer = ctypes.create_string_buffer(FORM.size)
    _call(_calls()[1], tid, buffer, FORM.size, 0)
    return Attr(*FORM.unpack(buffer.raw)[1:])


def _calls() -> tuple[int, int]:
    if platform.machine() not in CALLS:
        raise OSError(0, f"no system calls known for {platform.machine()}")
    return CALLS[platform.machine()]


def _call(number: int, *words: object) -> None:
    if _LIBC.syscall(number, *words) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
