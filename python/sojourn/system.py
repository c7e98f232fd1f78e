"""Linux measures, macOS reads records, Windows does neither.

Records are opened by folder descriptors that follow no link, which Windows does not have. All that
measures is Linux's own: scheduler, control groups, `/proc`. A container may lack even what each
Linux has: then no program can be started, or a process number names another container's process.
"""

from __future__ import annotations

import os
import stat
import sys

from sojourn.errors import HostFault

READS = "`sojourn show`, `report`, `sql`, `history`, `open` and `compare RECORD RECORD` work here"
AT_CONTAINER = "in a container, start it with what its runtime mounts by itself"
MEASURES = frozenset({"doctor", "gate", "install", "manage", "noise", "restore", "run", "try"})


def check(command: str) -> None:
    """Refuse a command that measures where there is no Linux, or not what each Linux has.

    Raises:
        HostFault: it cannot work here.
    """
    if sys.platform != "linux" and command in MEASURES:
        raise HostFault(
            f"{command} needs Linux, because it measures by scheduler, control groups and /proc",
            at=f"this system: {sys.platform}",
            fix=f"measure on Linux and bring the record: {READS}",
        )
    if command in MEASURES:
        _check_processes()
        _check_null()


def _check_processes() -> None:
    """Refuse to see by /proc processes of other numbers: they would be pinned, or killed."""
    try:
        number = os.readlink("/proc/self")  # noqa: PTH115 - a name and no path
    except OSError:
        number = ""
    if number == str(os.getpid()):
        return
    what = "shows the processes of another container" if number else "is not mounted"
    raise HostFault(
        f"/proc {what}",
        at=f"/proc/self: {number or 'not there'}, but this is process {os.getpid()}",
        fix=f"mount -t proc proc /proc (unshare: --mount-proc); {AT_CONTAINER}",
    )


def _check_null() -> None:
    """Refuse to start programs that would have no input, or a file instead of none."""
    try:
        is_null = stat.S_ISCHR(os.stat(os.devnull).st_mode)  # noqa: PTH116 - as fast as can be
        is_null = is_null and os.access(os.devnull, os.R_OK | os.W_OK)
    except OSError:
        is_null = False
    if not is_null:
        raise HostFault(
            f"{os.devnull} is not there, or cannot be read and written: no program can be started",
            at=os.devnull,
            fix=f"rm -f {os.devnull}; mknod -m 666 {os.devnull} c 1 3; {AT_CONTAINER}",
        )


def refusal() -> str:
    """Why not even records are read on this system; "" if they are."""
    if sys.platform != "win32":
        return ""
    return (
        "error: Sojourn does not work on Windows: it opens files by folder descriptors\n"
        "  at: this system: win32\n"
        "  fix: install it in WSL: https://learn.microsoft.com/windows/wsl/install\n"
    )
