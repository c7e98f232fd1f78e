"""What a person wrote about a record: one file a record, in the user's own folder.

It does not lie in the record, because records are read only, may be sent away, and may belong to
others. It is found by the record's name, so it stays when the folder of results moves. Several
programs may show a note at once, so who replaces it can say which one was seen.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from sojourn import disk
from sojourn.errors import StoreFault
from sojourn.store.named import shown

TEXT_BYTES = 16 * 1024
FORM = "sojourn.note/1"
_FIX = "let XDG_DATA_HOME name a folder of your own that no one else may write to"


def place() -> Path:
    """The folder, which need not be there."""
    return disk.base("XDG_DATA_HOME", ".local/share") / "sojourn" / "notes"


def load(name: str) -> str:
    """The note on a record; "" if there is none, or it may be another user's."""
    try:
        if disk.doubt(place().lstat()):
            return ""
        table = disk.read_json(_file(name), most=8 * TEXT_BYTES)
    except (OSError, ValueError):
        return ""
    is_own = isinstance(table, dict) and table.get("schema") == FORM and table.get("of") == name
    return str(table.get("text", "")) if is_own else ""


def version(text: str) -> str:
    """A short text that differs between two notes, also between none and some."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def keep(name: str, text: str, seen: str | None = None) -> None:
    """Replace the note on a record.

    Args:
        name: of the record.
        text: the whole note.
        seen: `version` of the note that the writer saw; None: any is replaced.

    Raises:
        StoreFault: it is too long, cannot be written, or the note is not the one that was seen.
    """
    if len(text.encode("utf-8", "replace")) > TEXT_BYTES:
        raise StoreFault(
            f"the note has more than {TEXT_BYTES // 1024} kB", at=shown(name), fix="shorten it"
        )
    folder = place()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        why = disk.doubt(folder.lstat())
    except OSError as error:
        raise StoreFault(
            f"the note cannot be written: {error.strerror or error}", at=str(folder), fix=_FIX
        ) from None
    if why:
        raise StoreFault(f"the note is not written: {why}", at=str(folder), fix=_FIX)
    with _turn(folder):
        if seen is not None and version(load(name)) != seen:
            raise StoreFault(
                "the note was changed meanwhile",
                at=shown(name),
                fix="read the note that is there now, then save yours again",
            )
        disk.keep_json(_file(name), {"schema": FORM, "of": name, "text": text})


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """One writer at a time, of all programs of this user."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _file(name: str) -> Path:
    """Its file; a name of a record may hold any letters, so it is not the file's."""
    digest = blake2b(name.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return place() / f"{digest}.json"
