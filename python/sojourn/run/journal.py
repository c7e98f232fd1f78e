"""What the lab has started and made, on disk, so that it can be undone even after `kill -9`.

One file per lab that runs, one JSON object a line, written through to the disk before the lab goes
on. A lab that ends well leaves no file. A file whose lab is dead is what `restore` works on.

    ~/.local/state/sojourn/lab-4711-88032.jsonl       (SOJOURN_STATE names another folder)
        {"event": "lab", "pid": 4711, "start_ticks": 88032, "boot": "…"}
        {"event": "folder", "entry": 1, "path": "/tmp/sojourn-x1"}
        {"event": "process", "entry": 2, "what": "memcached", "pid": 4720, "start_ticks": 88101}
        {"event": "settings", "entry": 3, "settings": [{"kind": …, "old": "0-1", "new": "0"}]}
        {"event": "netns", "entry": 4, "name": "sojourn-1a2b3c"}
        {"event": "link", "entry": 5, "name": "sojourn-1a2b3cb", "mac": "02:…"}
        {"event": "undone", "entry": 2}
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from sojourn.errors import RunFault
from sojourn.places import proc
from sojourn.run.record import disk_fault

STATE = "SOJOURN_STATE"


def state_folder() -> Path:
    """Where journals are kept: by user, and not in a folder that a reboot or a cleaner empties."""
    named = os.environ.get(STATE)
    if named:
        return Path(named)
    base = os.environ.get("XDG_STATE_HOME")
    home = Path(base) if base else Path("~/.local/state").expanduser()
    return home / "sojourn"


def boot_id() -> str:
    """Names this boot: process numbers of another one mean nothing."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the journal: something to be undone."""

    number: int
    kind: str
    facts: Mapping[str, Any]


class Journal:
    """The journal of this lab; a `places.ledger.Book`."""

    def __init__(self, path: Path, file: IO[str]) -> None:
        self.path = path
        self._file = file
        self._count = 0
        self._open: set[int] = set()
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
        path = folder / f"lab-{os.getpid()}-{ticks}.jsonl"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            journal = cls(path, path.open("a", encoding="utf-8"))
        except OSError as error:
            raise RunFault(
                f"the journal cannot be written: {error.strerror}",
                at=str(path),
                fix=f"set {STATE} to a folder that can, such as {STATE}={tempfile.gettempdir()}",
            ) from None
        journal._write(event="lab", pid=os.getpid(), start_ticks=ticks, boot=boot_id())
        return journal

    def note(self, kind: str, /, **facts: object) -> int:
        """Note something that is about to be done; returns the entry's number.

        Args:
            kind: by which `restore` knows how it is undone.
            facts: what it takes to undo it, and to know it for the lab's own; as JSON.
        """
        with self._lock:
            self._count += 1
            self._open.add(self._count)
            self._write(event=kind, entry=self._count, **facts)
            return self._count

    def started(self, what: str, pid: int, start_ticks: int) -> int:
        """Note a process; returns the entry's number."""
        return self.note("process", what=what, pid=pid, start_ticks=start_ticks)

    def made(self, path: Path) -> int:
        """Note a folder that is about to be made; returns the entry's number."""
        return self.note("folder", path=str(path))

    def undone(self, entry: int) -> None:
        """Note that nothing is left to be undone for an entry."""
        with self._lock:
            self._open.discard(entry)
            self._write(event="undone", entry=entry)

    def close(self) -> None:
        """End the journal; it is removed if nothing is left to be undone."""
        self._file.close()
        if not self._open:
            self.path.unlink(missing_ok=True)

    def _write(self, **line: object) -> None:
        try:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise disk_fault(error, self.path) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A journal read back: whose it is and what is still to be undone, last first."""

    path: Path
    lab: Mapping[str, Any]
    entries: tuple[Entry, ...]

    @property
    def is_of_this_boot(self) -> bool:
        """Whether its process numbers can still mean what they meant."""
        return self.lab.get("boot") == boot_id()

    @property
    def is_in_use(self) -> bool:
        """Whether its lab is still running."""
        seen = proc.stat(int(self.lab.get("pid", 0)))
        return (
            self.is_of_this_boot
            and seen is not None
            and seen.state != "Z"
            and seen.start_ticks == self.lab.get("start_ticks")
        )


def read(folder: Path) -> tuple[Left, ...]:
    """All journals of a folder."""
    return tuple(_left(path) for path in sorted(folder.glob("lab-*.jsonl")))


def _left(path: Path) -> Left:
    lines = list(_lines(path))
    undone = {line["entry"] for line in lines if line["event"] == "undone"}
    entries = tuple(
        Entry(number=line["entry"], kind=line["event"], facts=line)
        for line in reversed(lines)
        if line["event"] not in ("lab", "undone") and line["entry"] not in undone
    )
    lab = next((line for line in lines if line["event"] == "lab"), {})
    return Left(path=path, lab=lab, entries=entries)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Whole lines; the last one may have been cut off by a crash."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        try:
            table = json.loads(line)
        except ValueError:
            continue
        if isinstance(table, dict) and "event" in table:
            yield table
