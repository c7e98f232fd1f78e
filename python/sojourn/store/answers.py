"""Texts that were made of a record, so that they are not computed again.

A text is stored under a key of all that it depends on: the record's files, the code, and how it is
shown. A file is known by its inode, size and times. The time of the last change of an inode
cannot be set by anybody, so a file that was written anew is another one.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Iterator
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

import sojourn
from sojourn import disk
from sojourn.disk import cache, tree

#: What a report writes: nothing follows from it.
OUTPUT = frozenset({"figures", "report.html", "report.txt", "answer.json"})
TICK_NS = 50_000_000  # the clock of files ticks every 1 to 10 ms: younger changes look alike
ANALYSIS = "numpy"  # who lies beside it computes
_CODE = (".py", ".j2", ".js", ".css", ".json", ".toml", ".csv")


class Texts:
    """The texts of one record, as it is when this is made; of at most `most` bytes each."""

    most = cache.FILE_BYTES - 1024

    def __init__(self, path: Path) -> None:
        self._path = path
        self._newest_ns = 0
        self._state = self._read()
        if time.time_ns() - self._newest_ns < TICK_NS:
            time.sleep(TICK_NS / 1e9)
            self._state = self._read()
        self._is_settled = time.time_ns() - self._newest_ns >= TICK_NS

    def load(self, form: str) -> str | None:
        """The text in that form, as it was computed; None if it was not, or anything changed."""
        content = cache.load(self._key(form)) if self._is_settled else None
        return None if content is None else content.decode(errors="surrogateescape")

    def keep(self, form: str, text: str) -> None:
        """Keep it, unless the record changed while it was computed."""
        state = self._state
        if self._is_settled and self._read() == state:
            cache.keep(self._key(form), text.encode(errors="surrogateescape"))

    def _key(self, form: str) -> str:
        return "\n".join((form, str(self._path), str(disk.real(self._path)), code(), self._state))

    def _read(self) -> str:
        """A name that changes with any file of the record that an answer may follow from."""
        digest, newest = blake2b(digest_size=16), 0
        for name, about in _files(self._path):
            digest.update(f"{name}\0{_text(about)}\n".encode(errors="surrogateescape"))
            newest = max(newest, about.st_ctime_ns)
        self._newest_ns = newest
        return digest.hexdigest()


def _files(path: Path) -> Iterator[tuple[str, os.stat_result]]:
    start = len(os.fspath(path)) + 1
    every = [entry for _, entries in tree.walk(path) for entry in entries]
    for entry in sorted(every, key=lambda one: one.path):
        inner = entry.path[start:]
        if inner.split(os.sep, 1)[0] not in OUTPUT and not entry.is_dir(follow_symlinks=False):
            yield inner, entry.stat(follow_symlinks=False)


@functools.cache
def code() -> str:
    """A name that changes with the lab's own files, and with the libraries beside which it runs."""
    digest = blake2b(f"{sys.version}\n{sojourn.__version__}".encode(), digest_size=16)
    library = find_spec(ANALYSIS)
    if library and library.origin:  # whatever is installed there changes the folder
        digest.update(_text(Path(library.origin).parents[1].stat()).encode())
    digest.update(_text(Path(sys.executable).parent.stat()).encode())  # programs of the lab
    for folder, inner, names in os.walk(Path(__file__).parents[1]):
        inner[:] = sorted(name for name in inner if name != "__pycache__")
        for name in sorted(name for name in names if name.endswith(_CODE)):
            about = os.stat(f"{folder}/{name}")  # noqa: PTH116  # a thousand files
            digest.update(f"{name}\0{_text(about)}\n".encode())
    return digest.hexdigest()


def stamp(path: Path) -> str:
    """A name that changes with a file; "" if there is none."""
    try:
        return _text(path.lstat())
    except OSError:
        return ""


def _text(about: os.stat_result) -> str:
    return f"{about.st_ino} {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}"
