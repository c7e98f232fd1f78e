"""A service that shares a core's hyper-threads with no one but itself (core scheduling, prctl(2)).

Threads with the same cookie may run on two hyper-threads of a core at once; while one of them runs,
the other hyper-thread does no one else's work. The kernel makes the cookie and gives it to all of
the service's process group; what they start inherits it. It is taken away by pushing the lab's own,
which is none. It is no setting of the machine: it ends with the service.

It is read back. That it keeps others off is the kernel's word, which was not tried: no machine with
hyper-threads and CONFIG_SCHED_CORE was at hand.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

from sojourn.errors import HostFault
from sojourn.knobs.knob import Asked, Felt, Knob, KnobKind, Lack, Turned
from sojourn.places import proc

NAME = "core_sched"
APART, NONE = "apart", "none"
PR_SCHED_CORE = 62  # include/uapi/linux/prctl.h
GET, CREATE, SHARE_TO = 0, 1, 2
THREAD, GROUP = 0, 2
SMT = "/sys/devices/system/cpu/smt/active"
_LIBC = ctypes.CDLL(None, use_errno=True)

Call = Callable[[int, int, int], int]


def call(what: int, pid: int, scope: int) -> int:
    """prctl(PR_SCHED_CORE, …); the cookie where it is asked for, else 0.

    Raises:
        OSError: the kernel refuses; EINVAL: it has no core scheduling, ENODEV: no hyper-threads.
    """
    cookie = ctypes.c_ulong(0)
    where = ctypes.byref(cookie) if what == GET else None
    if _LIBC.prctl(PR_SCHED_CORE, what, pid, scope, where) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return cookie.value


class CoreSched(Knob):
    """The cookie of one running service."""

    by = "prctl(PR_SCHED_CORE)"

    def __init__(self, on: Turned, ask: Call = call) -> None:
        """Nothing is turned.

        Args:
            on: what it is on.
            ask: the system call, or a fake of it.
        """
        self._on, self._call = on, ask
        self._level = ""

    def read(self) -> str:
        """Whether its first process has a cookie."""
        return APART if self._cookie(self._on.leader) else NONE

    def _cookie(self, pid: int) -> int:
        try:
            return self._call(GET, pid, THREAD)
        except OSError:
            return 0

    def apply(self, level: str) -> None:
        """Give all its processes one cookie, or none; it ends with them, so no book has it."""
        has_one = bool(self._cookie(self._on.leader))
        try:
            if level == APART and not has_one:
                self._call(CREATE, self._on.leader, GROUP)
            elif level == NONE and has_one:
                self._call(SHARE_TO, self._on.leader, GROUP)
        except OSError as error:
            raise HostFault(
                f"{self._on.label} cannot be given {NAME} {level}: {error.strerror}",
                at=self._on.at(NAME),
                fix=f"leave {NAME} out; it takes CONFIG_SCHED_CORE and hyper-threads",
            ) from None
        self._level = level

    def verify(self) -> Felt:
        """Whether all its processes have a cookie, or none, as the kernel tells."""
        if not self._level:
            return Felt(holds=None, why="it was not turned")
        members = proc.session(self._on.leader)
        if not members:
            return Felt(holds=None, why="the service had ended")
        without = [m.pid for m in members if bool(self._cookie(m.pid)) != (self._level == APART)]
        if without:
            return Felt(holds=False, why=f"processes {', '.join(map(str, without))} are without it")
        return Felt(holds=None, why="it reads back; whom the kernel keeps off was not measured")

    def restore(self) -> None:
        """Take the cookies away again."""
        if self._level == APART:
            self.apply(NONE)
        self._level = ""


def lacks(asked: Asked) -> Lack | None:
    """A kernel with core scheduling, and hyper-threads."""
    if asked.level == NONE:
        return None
    if (asked.tree.text(SMT) or "0").strip() != "1":
        return Lack(missing="two hyper-threads of one core", fix="a machine with SMT switched on")
    try:
        if asked.tree.is_live:
            call(GET, 0, THREAD)
    except OSError:
        return Lack(missing="core scheduling", fix="a kernel with CONFIG_SCHED_CORE")
    return None


KIND = KnobKind(
    name=NAME,
    about="a service that shares the hyper-threads of a core with no other task",
    level='"apart" or "none"',
    pattern="apart|none",
    needs=("root", "hyper-threads", "CONFIG_SCHED_CORE (Linux 5.14)"),
    source="L24",
    orders=True,
    lacks=lacks,
    label=lambda level: "cores apart" if level == "apart" else "cores shared",
    build=CoreSched,
)
