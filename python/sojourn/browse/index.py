"""Entries of all records of a folder, read once and stored in the user's cache.

A record is known by its folder's inode and by times of change: of the folder, of its points, and of
the files that an entry is made of. Such a time changes with a file's rights, too. So a look at ten
thousand records costs some `stat` calls for each, and only what changed is read again. Of a record
that could not be read nothing is stored.
"""

from __future__ import annotations

import json
import os
import threading
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sojourn import disk
from sojourn.browse import entries
from sojourn.browse.entries import Entry
from sojourn.disk import cache
from sojourn.store.lock import is_live
from sojourn.store.named import OUTCOME, began, number

FORM = "sojourn.index/2"
LOOK_S = 1.0  # a younger look is not repeated
SAVE_EVERY = 1000  # entries that are read between two savings
MOST = 100_000  # records; the newest ones
_LEVEL = 1  # of compression: entries are text that repeats
_BESIDE = (entries.ANSWER, entries.COPY, entries.POINTS)


@dataclass(frozen=True, slots=True)
class Look:
    """The records there are.

    Attributes:
        entries: newest first. Those that are not read yet have their names only.
        pending: how many these are.
    """

    entries: Sequence[Entry]
    pending: int


class Index:
    """The entries of a folder of results; may be used by several threads."""

    def __init__(self, results: Path) -> None:
        """Load what was stored; nothing of the folder is read yet."""
        self._results = results
        self._lock = threading.Lock()
        self._known = _loaded(results)  # by name: stamp and entry
        self._there: dict[str, str] = {}
        self._look: Look | None = None
        self._looked_s = 0.0
        self._reader: threading.Thread | None = None

    def look(self) -> Look:
        """What there is now; unknown entries are read by a thread that ends after the last."""
        with self._lock:
            if self._look is None or time.monotonic() - self._looked_s > LOOK_S:
                self._there = dict(scan(self._results))
                self._looked_s = time.monotonic()
                self._look = self._seen()
            if self._look.pending and self._reader is None:
                self._reader = threading.Thread(target=self._read_all, daemon=True)
                self._reader.start()
            return self._look

    def whole(self) -> Sequence[Entry]:
        """All entries, read to the end."""
        self.look()
        while (reader := self._reader) is not None:
            reader.join()
        with self._lock:
            return self._seen().entries

    def _seen(self) -> Look:
        result, pending = [], 0
        for name, stamp in self._there.items():
            known = self._known.get(name)
            if known is None or known[0] != stamp:
                pending += 1
            entry = known[1] if known else Entry(name=name, is_read=False)
            if entry.state in {entries.UNFINISHED, entries.RUNNING}:
                is_running = is_live(self._results / name)
                entry = replace(entry, state=entries.RUNNING if is_running else entries.UNFINISHED)
            result.append(entry)
        result.sort(key=_by_start, reverse=True)
        return Look(result, pending)

    def _read_all(self) -> None:
        """Read what is not known as it is now, newest first."""
        try:
            with self._lock:
                wanted = [
                    (name, stamp)
                    for name, stamp in self._there.items()
                    if name not in self._known or self._known[name][0] != stamp
                ]
            wanted.sort(key=lambda pair: pair[0].rpartition("/")[2], reverse=True)
            for number, (name, stamp) in enumerate(wanted, 1):
                entry = entries.read(self._results / name, name)
                with self._lock:
                    self._known[name] = (stamp, entry)
                if number % SAVE_EVERY == 0:
                    self._save()
            self._save()
        finally:
            with self._lock:
                self._reader, self._look = None, None

    def _save(self) -> None:
        with self._lock:
            there = [self._known[name] for name in self._there if name in self._known]
        rows = [[stamp, entry.table] for stamp, entry in there if entry.is_readable]
        text = json.dumps({"schema": FORM, "rows": rows}, ensure_ascii=False)
        content = text.encode("utf-8", "surrogatepass")  # names of folders may be no text
        cache.keep(_key(self._results), zlib.compress(content, _LEVEL))


def _by_start(entry: Entry) -> tuple[str, str, str]:
    return began(entry.folder, entry.started), entry.folder, entry.name


def scan(results: Path) -> list[tuple[str, str]]:
    """(name, stamp) of every record below the folder; no link is followed."""
    result = [
        (f"{study.name}/{machine.name}/{record.name}", mark)
        for study in _folders(results)
        for machine in _folders(study.path)
        for record in _folders(machine.path)
        if (mark := _mark(record.path))
    ]
    if len(result) > MOST:
        result.sort(key=lambda pair: pair[0].rpartition("/")[2])
    return result[-MOST:]


def _folders(path: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as every:
            return [one for one in every if one.is_dir(follow_symlinks=False)]
    except OSError:  # no folder, or one that may not be read
        return []


def _mark(record: str) -> str:
    """A text that changes with a record's entry; "" if it is no record.

    The outcome of the last point changes none of the folders above it.
    """
    text = stamp(record)
    if not text or _changed_ns(f"{record}/{entries.COMPLETE}"):
        return text
    points = f"{record}/{entries.POINTS}"
    try:
        last = max(os.listdir(points), key=number, default="")  # noqa: PTH208 - of ten thousand
    except OSError:
        return text
    return f"{text} {_changed_ns(f'{points}/{last}/{OUTCOME}')}"


def stamp(record: str | Path) -> str:
    """A text that changes with a record's own files; "" if it is no record."""
    try:
        manifest, own = os.lstat(f"{record}/{entries.MANIFEST}"), os.lstat(record)
    except OSError:
        return ""
    times = (_changed_ns(f"{record}/{name}") for name in _BESIDE)
    return " ".join(map(str, (own.st_ino, own.st_ctime_ns, manifest.st_ctime_ns, *times)))


def _changed_ns(path: str) -> int:
    """When a file, or who may read it, changed; 0: there is none."""
    try:
        return os.lstat(path).st_ctime_ns
    except OSError:
        return 0


def _key(results: Path) -> str:
    return f"{FORM} {disk.real(results)}"


def _loaded(results: Path) -> dict[str, tuple[str, Entry]]:
    """What was stored; nothing where it was not, or another version did it."""
    content = cache.load(_key(results))
    if content is None:
        return {}
    try:
        table = json.loads(zlib.decompress(content))
        rows = [(str(stamp), Entry.of(row)) for stamp, row in table["rows"]]
    except (ValueError, TypeError, KeyError, zlib.error):
        return {}
    return {entry.name: (stamp, entry) for stamp, entry in rows}
