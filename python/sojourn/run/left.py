"""Journals read back: whose they are, and what in them is still to be undone.

A journal is obeyed, so it is read with suspicion: only a plain file of one name that belongs to
this user and that no one else may write. A line that does not have the lab's form is passed over
and reported, because it may come from another version of the lab, or from no one's lab at all.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import disk
from sojourn.places import proc
from sojourn.places.numbers import Numbers
from sojourn.run import state

LINE_BYTES, PART_BYTES = 64 * 1024**2, 1 << 20
BAD_MAX = 100  # lines that are named
DEPTH = 16  # of lists and objects in a line
FRESH_S = 60.0  # an empty file that is younger belongs to a lab that begins just now
_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the journal: something to be undone."""

    number: int
    kind: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A journal read back.

    Attributes:
        lab: the process that wrote it.
        entries: what is still to be undone, last first.
        bad: why it, or a line of it, was passed over.
        is_locked: its lab holds it.
    """

    path: Path
    lab: Mapping[str, Any]
    entries: tuple[Entry, ...]
    bad: tuple[str, ...] = ()
    is_locked: bool = False

    @property
    def is_of_this_boot(self) -> bool:
        """Whether what was in memory can still be there."""
        return self.lab.get("boot") == state.boot_id()

    @property
    def is_of_these_processes(self) -> bool:
        """Whether its process numbers can still mean what they meant.

        Those of another container name others' processes here. A lab of an older version has not
        written its namespace.
        """
        return self.is_of_this_boot and self.numbers.may_be(Numbers.own())

    @property
    def numbers(self) -> Numbers:
        """The namespace in which its process numbers mean something."""
        match self.lab:
            case {"processes": str(link), "processes_since": int(since)}:
                return Numbers(link, since)
        return Numbers()

    @property
    def is_in_use(self) -> bool:
        """Whether its lab is still running: it holds the lock, or its process is there."""
        if self.is_locked:
            return True
        pid = self.lab.get("pid")
        seen = proc.stat(pid) if isinstance(pid, int) else None
        return (
            self.is_of_these_processes
            and seen is not None
            and seen.state != "Z"
            and seen.start_ticks == self.lab.get("start_ticks")
        )


def read(folder: Path) -> tuple[Left, ...]:
    """All journals of a folder as they are now; none where there is no folder.

    Raises:
        RunFault: others may put files into the folder.
    """
    results = []
    for path in paths(folder):
        with held(path) as left:
            if left is not None:
                results.append(left)
    return tuple(results)


def paths(folder: Path) -> tuple[Path, ...]:
    """The files of a folder that are named like journals; RunFault if it is not the user's own."""
    try:
        with state.own_folder(folder) as place:
            names = sorted(os.listdir(place))  # noqa: PTH208 - of an open folder
    except OSError:
        return ()
    return tuple(folder / n for n in names if n.startswith("lab-") and n.endswith(".jsonl"))


@contextmanager
def held(path: Path) -> Iterator[Left | None]:
    """A journal, locked while it is looked at if its lab is dead; None: it is gone.

    Two that restore at the same time do not undo the same entry twice.
    """
    try:
        with state.own_folder(path.parent) as place:
            handle = os.open(path.name, _OPEN, dir_fd=place)
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        yield _unread(path, error.strerror or "it cannot be opened")
        return
    try:
        yield _looked(path, handle)
    finally:
        os.close(handle)


def _looked(path: Path, handle: int) -> Left | None:
    if why := _doubt(os.fstat(handle)):
        return _unread(path, why)
    is_locked = False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        is_locked = True
    except OSError:  # a file system without locks
        is_locked = False
    result = os.fstat(handle)
    if not result.st_nlink:  # another `restore` was faster, or the lab goes on in a new one
        return None
    if not result.st_size and abs(time.time() - result.st_mtime) < FRESH_S:  # the clock may jump
        is_locked = True
    return _left(path, _lines(handle), is_locked=is_locked)


def _doubt(result: os.stat_result) -> str:
    """Why a file cannot be a journal of this user; "" if it can."""
    if not stat.S_ISREG(result.st_mode):
        return "it is not a plain file"
    if result.st_uid != os.geteuid():
        return f"it belongs to user {result.st_uid}"
    if result.st_nlink > 1:
        return f"it has {result.st_nlink} names"
    return "others may write it" if result.st_mode & disk.OTHERS else ""


def _unread(path: Path, why: str) -> Left:
    return Left(path=path, lab={}, entries=(), bad=(why,))


def _lines(handle: int) -> Iterator[bytes | None]:
    """Lines of a file of any size, without a last one that a crash cut off; None: it is too long.

    What was crossed out long ago must not keep a journal from being read, so no size is too large.
    """
    pieces: list[bytes] = []
    size = at = 0
    while part := os.pread(handle, PART_BYTES, at):
        at += len(part)
        *lines, last = part.split(b"\n")
        for line in lines:
            yield b"".join([*pieces, line]) if size + len(line) <= LINE_BYTES else None
            pieces, size = [], 0
        size += len(last)
        pieces = [*pieces, last] if size <= LINE_BYTES else []


def _left(path: Path, lines: Iterable[bytes | None], *, is_locked: bool) -> Left:
    """Entries that no later line crosses out; only these are in memory."""
    lab: dict[str, Any] = {}
    left: dict[int, Entry] = {}  # by line: who plants a journal may use a number twice
    at: dict[int, list[int]] = {}
    bad: list[str] = []
    for number, text in enumerate(lines, 1):
        try:
            line = _line(text)
        except ValueError as error:
            if len(bad) < BAD_MAX:
                bad.append(f"line {number}: {error}")
            continue
        event = line["event"]
        if event == "lab":
            lab = lab or line
        elif event == "undone":
            for before in at.pop(line["entry"], ()):
                del left[before]
        else:
            left[number] = Entry(number=line["entry"], kind=event, facts=line)
            at.setdefault(line["entry"], []).append(number)
    entries = tuple(reversed(left.values()))
    return Left(path=path, lab=lab, entries=entries, bad=tuple(bad), is_locked=is_locked)


def _line(text: bytes | None) -> dict[str, Any]:
    """One line; ValueError if the lab does not write such."""
    if text is None:
        raise ValueError(f"it has more than {LINE_BYTES} bytes")
    if disk.depth_of(text) > DEPTH:
        raise ValueError(f"it is deeper than {DEPTH}")
    table = json.loads(text)
    if not isinstance(table, dict) or not isinstance(table.get("event"), str):
        raise ValueError("it names no event")  # noqa: TRY004 - as what json raises
    if table["event"] != "lab" and type(table.get("entry")) is not int:
        raise ValueError("it has no number")
    return table
