"""One writer per record. The kernel holds the lock and drops it when its owner dies, however.

The file also says who holds it (process, start time), for the message; its contents decide
nothing, so a lock file left behind by a killed run locks no one out.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path
from typing import IO

from sojourn import disk
from sojourn.errors import StoreFault
from sojourn.store.files import disk_faults

NAME = "lock"
BYTES = 4096  # it says who holds it, and no more
LOOK_S = 1.0  # so long `is_live` of another program may hold a lock: it may run as an idle task
AGAIN_S = 0.02


def take(folder: Path) -> IO[bytes]:
    """Lock a record's folder; close the file to unlock.

    Raises:
        StoreFault: another live process writes into it.
    """
    path = folder / NAME
    with disk_faults(path):
        handle = disk.append(path)
    if not try_take(handle.fileno()):
        handle.close()
        fix = "wait for it to end, or stop it; two runs at once would disturb each other"
        raise busy(folder, fix)
    who = {"pid": os.getpid(), "started_ticks": started_ticks(os.getpid())}
    with disk_faults(path):
        handle.truncate(0)
        handle.write(json.dumps(who).encode())
        handle.flush()
    return handle


def try_take(handle: int) -> bool:
    """Take an open file's lock; False if another process has it, or there are no locks.

    Whoever only looks (`is_live`) has the lock for a moment, so that is waited for.
    """
    end_s = time.monotonic() + LOOK_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end_s:
                return False
        except OSError:  # a file system without locks
            return False
        else:
            return True
        time.sleep(AGAIN_S)


def busy(folder: Path, fix: str) -> StoreFault:
    """What to say of a record that somebody writes into."""
    return StoreFault(
        f"this study is being measured by {_owner(folder / NAME)}", at=str(folder), fix=fix
    )


def is_live(folder: Path) -> bool:
    """Whether a live process writes into this record."""
    try:
        with disk.reader(folder / NAME, most=BYTES) as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (OSError, ValueError):  # none, or none of the lab's
        return False
    return False


def started_ticks(pid: int) -> int | None:
    """When a process began, clock ticks since boot; None if there is none."""
    try:
        stat = disk.tables.text(Path(f"/proc/{pid}/stat"))  # the name in it may be of any bytes
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[19])


def _owner(path: Path) -> str:
    try:
        pid = int(disk.read_json(path, most=BYTES)["pid"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return "another process"
    return f"process {pid}"
