"""A folder for the file by which clients of one host take turns."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from sojourn import disk
from sojourn.errors import RunFault
from sojourn.run import journal, work

TURNS = "turns"


class Turns:
    """Each client makes it, or takes the one that is there; each removes it."""

    def __init__(self, name: str, book: journal.Journal) -> None:
        path = Path(tempfile.gettempdir(), f"{work.PREFIX}{name}")
        self._path, self._book, self._entry = path, book, book.made(path)
        try:
            path.mkdir(mode=0o700, exist_ok=True)
            self._check(path)
            disk.keep_text(path / work.MARK, "")
        except BaseException:
            book.undone(self._entry)
            raise
        self.file = str(path / TURNS)

    def _check(self, path: Path) -> None:
        about = path.lstat()
        if path.is_symlink() or about.st_uid != os.geteuid() or about.st_mode & 0o077:
            raise RunFault("the folder is another's", at=str(path), fix="remove it")

    def remove(self) -> None:
        """Remove it, if it is there."""
        work.remove(self._path, self._entry, self._book)
