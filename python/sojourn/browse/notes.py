"""What a person wrote about a record: one file a record, in the user's own folder.

It does not lie in the record, because records are read only, may be sent away, and may belong to
others. It is found by the record's name, so it stays when the folder of results moves.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

from sojourn import disk
from sojourn.errors import StoreFault

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


def keep(name: str, text: str) -> None:
    """Replace the note on a record.

    Raises:
        StoreFault: it is too long, or cannot be written.
    """
    if len(text.encode("utf-8", "replace")) > TEXT_BYTES:
        raise StoreFault(
            f"the note has more than {TEXT_BYTES // 1024} kB", at=name, fix="shorten it"
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
    disk.keep_json(_file(name), {"schema": FORM, "of": name, "text": text})


def _file(name: str) -> Path:
    """Its file; a name of a record may hold any letters, so it is not the file's."""
    digest = blake2b(name.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return place() / f"{digest}.json"
