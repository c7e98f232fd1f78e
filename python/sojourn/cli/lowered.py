"""What a command may do that reads records, which may come from anywhere.

Root gives up what that does not need before the first file of a record is opened. It looks at
records of others as a user without an account, writes a report as the owner of the folder, and
keeps the right to read all files. Of its own records it stays the owner, without any other right.
No program that is started gains rights.

Memory is bounded by what the machine has free: a forged file then is a fault in words, and does not
make the kernel end other programs.
"""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

from sojourn.errors import HostFault

CAP_DAC_READ_SEARCH = 2  # include/uapi/linux/capability.h
MEMINFO = Path("/proc/meminfo")
SHARE, LEAST_BYTES = 0.5, 512 * 1024**2  # of what is free, and what each command may take


class Process:
    """Whether this process is a command's alone; tests and scripts call commands in theirs."""

    is_own = False


def for_reading(folder: Path) -> None:
    """Before the records below a folder are read: nothing is written but summaries of own ones."""
    _lower(folder, is_written=False)


def for_writing(folder: Path) -> None:
    """The same, before a report is written into a folder."""
    _lower(folder, is_written=True)


def _lower(folder: Path, *, is_written: bool) -> None:
    if not Process.is_own:
        return
    _bound_memory()
    if os.geteuid() != 0:
        return
    from sojourn.places import users, warden  # loads much; help needs none of it

    with contextlib.suppress(OSError, HostFault):  # where it is refused, it stays as it was
        found = folder.stat()
        who = (found.st_uid, found.st_gid)
        if found.st_uid != 0 and not is_written:
            user = users.beside_user()
            who = (user.uid, user.gid) if user else who
        warden.become_user(*who, [CAP_DAC_READ_SEARCH])


def _bound_memory() -> None:
    free = _free_bytes()
    if free is None:
        return
    most = max(LEAST_BYTES, int(SHARE * free))
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft == resource.RLIM_INFINITY or soft > most:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def _free_bytes() -> int | None:
    """What can be had without taking it from somebody; None: the kernel does not say."""
    try:
        lines = MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    kib = next((line.split()[1] for line in lines if line.startswith("MemAvailable:")), None)
    return int(kib) * 1024 if kib else None
