"""What only a process's own user may do, also by a root that lacks capabilities.

Root of a container, as Docker and Podman start it, has no CAP_SYS_PTRACE and no CAP_SYS_NICE. So
the kernel hides from it what a server has open that runs as another user, and refuses to place that
server's threads. Both are allowed to the server's user, which root may become for one thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

PR_SET_DUMPABLE = 4  # include/uapi/linux/prctl.h
SAME = -1  # a number that stays
_LIBC = ctypes.CDLL(None, use_errno=True)


#: Number of setresuid(2): the library's function changes all threads.
CALLS: Mapping[str, int] = MappingProxyType({"x86_64": 117, "aarch64": 147})


def open_files(pid: int) -> list[str] | None:
    """Where its descriptors lead, such as "socket:[4711]"; none if it is gone. None: it is hidden.

    To users other than root the kernel hides those of a program with capabilities of its file
    (`setcap`) or a setuid bit, even if it is the user's own process.
    """
    try:
        return _open_files(pid)
    except PermissionError:
        pass
    if os.geteuid() == 0:
        with contextlib.suppress(OSError), _seeing_as(pid):
            return _open_files(pid)
    return None


def place(tid: int, cpus: Collection[int]) -> None:
    """Put a thread on CPUs; OSError if the kernel refuses."""
    try:
        os.sched_setaffinity(tid, cpus)
    except PermissionError:
        if os.geteuid() != 0:
            raise
        with _acting_as(tid):
            os.sched_setaffinity(tid, cpus)


def _open_files(pid: int) -> list[str]:
    """The same; PermissionError if they are hidden."""
    try:
        return [link for entry in Path(f"/proc/{pid}/fd").iterdir() if (link := _link(entry))]
    except PermissionError:
        raise
    except OSError:
        return []


def _link(path: Path) -> str:
    """Where it leads; "": it was closed meanwhile."""
    try:
        return str(path.readlink())
    except PermissionError:
        raise
    except OSError:
        return ""


@contextlib.contextmanager
def _seeing_as(pid: int) -> Iterator[None]:
    """Be a process's user and group for file access, in this thread; OSError if it is gone.

    Where that is refused, nothing changes: the calls do not report it.
    """
    its = Path(f"/proc/{pid}").stat()
    group, user = _LIBC.setfsgid(its.st_gid), _LIBC.setfsuid(its.st_uid)
    try:
        yield
    finally:
        _LIBC.setfsuid(user)
        _LIBC.setfsgid(group)
        _LIBC.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # the kernel takes it with each such change


@contextlib.contextmanager
def _acting_as(tid: int) -> Iterator[None]:
    """Be a thread's user, in this thread of the lab; OSError if it is gone, or that is refused."""
    its = Path(f"/proc/{tid}").stat()
    _become(its.st_uid)
    try:
        yield
    finally:
        _become(0)
        _LIBC.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)


def _become(user: int) -> None:
    call = CALLS.get(platform.machine())
    if call is None or _LIBC.syscall(call, SAME, user, SAME) != 0:
        error = ctypes.get_errno() if call else errno.EPERM
        raise OSError(error, os.strerror(error))
