"""What the lab has started and made, on disk, so that it can be undone even after `kill -9`.

One file per lab that runs, one JSON object a line, written through to the disk before the lab goes
on. A lab that ends well leaves no file. A file whose lab is dead is what `restore` works on.

    ~/.local/state/sojourn/lab-4711-88032-5e0c.jsonl    (SOJOURN_STATE names another folder)
        {"event": "lab", "pid": 4711, "start_ticks": 88032, "boot": "…", "processes": "pid:[…]"}
        {"event": "folder", "entry": 1, "path": "/tmp/sojourn-x1"}
        {"event": "process", "entry": 2, "what": "memcached", "pid": 4720, "start_ticks": 88101}
        {"event": "settings", "entry": 3, "settings": [{"kind": …, "old": "0-1", "new": "0"}]}
        {"event": "netns", "entry": 4, "name": "sojourn-1a2b3c"}
        {"event": "link", "entry": 5, "name": "sojourn-1a2b3cb", "mac": "02:…"}
        {"event": "undone", "entry": 2}

A manager may run for weeks. So once most of a file is crossed out, the lab goes on in a new one,
with what is open alone. The old one is removed when the new one is on the disk.

A lab holds a lock on its file for as long as it lives. The kernel keeps the lock, so a lab in
another container that shares the folder sees it too, whatever process numbers mean there. What a
journal says is done, so only the user's own folder and files are read (`run.left`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import threading
import time
from pathlib import Path
from typing import IO, Self

from sojourn.disk import disk_fault
from sojourn.errors import RunFault
from sojourn.places import ledger, proc
from sojourn.places.numbers import Numbers
from sojourn.run.left import Entry, Left, read
from sojourn.run.state import STATE, boot_id, elsewhere, own_folder, state_folder

__all__ = ["STATE", "Entry", "Journal", "Left", "boot_id", "read", "state_folder"]

LOCK_S_MAX = 5.0  # somebody who looks at an empty file holds it for a moment
COMPACT_BYTES = 1 << 20  # a file that is smaller is never begun anew
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class Journal:
    """The journal of this lab; a `places.ledger.Book`."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self.path = path
        self._file = file
        self._count = self._size = 0
        self._most = COMPACT_BYTES  # from this size on, it is begun anew
        self._lab = self._late = b""  # late: lines that the disk did not take
        self._open: dict[int, bytes] = {}  # the lines of what is to be undone
        self._lock = threading.RLock()  # a thread may turn knobs while load runs

    @classmethod
    def create(cls, folder: Path | None = None) -> Self:
        """Begin a journal for this process.

        Raises:
            RunFault: it cannot be written; nothing must be started then.
        """
        folder = folder or state_folder()
        me = proc.stat(os.getpid())
        ticks = me.start_ticks if me else 0
        try:
            with own_folder(folder, is_made=True) as place:
                name, handle = _made(place, f"lab-{os.getpid()}-{ticks}")
                journal = cls(folder / name, os.fdopen(handle, "wb", buffering=0))
                journal._begin(place, ticks)
        except OSError as error:
            raise RunFault(
                f"the journal cannot be written: {error.strerror}",
                at=str(folder),
                fix=elsewhere(),
            ) from None
        ledger.opened(journal)
        return journal

    def note(self, kind: str, /, **facts: object) -> int:
        """Note something that is about to be done; returns the entry's number.

        Args:
            kind: by which `restore` knows how it is undone.
            facts: what it takes to undo it, and to know it for the lab's own; as JSON.
        """
        with self._lock:
            self._count += 1
            line = _as_line(event=kind, entry=self._count, **facts)
            self._add(line)  # what cannot be noted is not done, so nothing of it is open
            self._open[self._count] = line
            return self._count

    def started(self, what: str, pid: int, start_ticks: int) -> int:
        """Note a process; returns the entry's number."""
        return self.note("process", what=what, pid=pid, start_ticks=start_ticks)

    def made(self, path: Path) -> int:
        """Note a folder that is about to be made; returns the entry's number."""
        return self.note("folder", path=str(path))

    def undone(self, entry: int) -> None:
        """Note that nothing is left to be undone for an entry.

        A full disk must not keep the lab from undoing the others. What could not be crossed out is
        so with the next line, or with the file; if the lab is killed before, `restore` finds
        nothing of it.
        """
        with self._lock:
            self._open.pop(entry, None)
            self._late += _as_line(event="undone", entry=entry)
            with contextlib.suppress(RunFault):
                self._add()
            is_large = self._size >= self._most
            if is_large and self._size >= 2 * sum(map(len, self._open.values())):
                self._most = 2 * self._size  # where it cannot be, it is tried again later
                with contextlib.suppress(OSError, RunFault):
                    self._begin_anew()
                    self._most = COMPACT_BYTES

    def close(self) -> None:
        """End the journal; it is removed if nothing is left to be undone."""
        ledger.closed(self)
        self._file.close()
        if not self._open:
            self.path.unlink(missing_ok=True)

    def _begin(self, place: int, ticks: int) -> None:
        at = {"boot": boot_id(), **Numbers.own().as_json()}
        self._lab = _as_line(event="lab", pid=os.getpid(), start_ticks=ticks, **at)
        try:
            self._write(self._lab)
            os.fsync(place)  # a file without a name in its folder would be lost with the power
        except BaseException:
            self.close()
            raise

    def _begin_anew(self) -> None:
        """Go on in a new file with what is open alone; OSError, RunFault if there can be none.

        Whoever is killed here leaves two files that say the same: what one of them had undone is
        not there any more for the other.
        """
        text = b"".join([self._lab, *self._open.values()])
        with own_folder(self.path.parent) as place:
            name, handle = _made(place, self.path.name.rpartition("-")[0])
            try:
                _put(handle, text)
                os.fsync(place)
                os.unlink(self.path.name, dir_fd=place)
            except OSError:
                os.close(handle)
                os.unlink(name, dir_fd=place)
                raise
        self._file.close()  # it was locked until its name was gone
        self._file = os.fdopen(handle, "wb", buffering=0)
        self.path, self._size = self.path.with_name(name), len(text)
        self._late = b""

    def _add(self, line: bytes = b"") -> None:
        """Write what is late, and a line."""
        self._write(self._late + line)
        self._late = b""

    def _write(self, line: bytes) -> None:
        """Write a line through to the disk, or nothing of it: half of one would spoil the next."""
        handle = self._file.fileno()
        try:
            _put(handle, line)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(handle, self._size)
            raise disk_fault(error, self.path) from None
        self._size = os.fstat(handle).st_size


def _as_line(**table: object) -> bytes:
    return json.dumps(table).encode() + b"\n"


def _put(handle: int, text: bytes) -> None:
    """Write all of it through to the disk; OSError if that cannot be."""
    while text:
        text = text[os.write(handle, text) :]
    os.fsync(handle)


def _made(place: int, start: str) -> tuple[str, int]:
    """A new journal in an opened folder, locked: its name and descriptor."""
    until = time.monotonic() + LOCK_S_MAX
    while True:
        name = f"{start}-{secrets.token_hex(2)}.jsonl"
        handle = os.open(name, _NEW, 0o600, dir_fd=place)
        if _is_locked(handle, until) and os.fstat(handle).st_nlink:
            return name, handle
        os.close(handle)  # `restore` came between, and took it for one that a dead lab left empty
        if time.monotonic() > until:
            raise OSError(errno.EAGAIN, "it is locked by somebody else again and again")


def _is_locked(handle: int, until: float) -> bool:
    """Lock it for as long as this program lives; whether that was possible in time."""
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        except OSError:  # a file system without locks: the process number is all there is
            return True
        else:
            return True
