"""What was computed once and may be again: files in the user's cache folder.

Nothing in it is needed. It is read only from a folder that no other user can write. A cache inside
a record is never read. A file that is damaged, or was made for another key, counts as missing.
"""

from __future__ import annotations

import contextlib
import os
from hashlib import blake2b
from pathlib import Path

from sojourn.disk.foreign import read_bytes
from sojourn.disk.trust import base, doubt
from sojourn.disk.whole import write_whole

FORM = b"sojourn.cache/1"
FILES, FILE_BYTES, ALL_BYTES = 256, 16 * 1024**2, 64 * 1024**2
_DIGEST_BYTES = 16


class Use:
    """Whether this process keeps and reads anything; not once it acts as another user."""

    is_on = True


def place() -> Path:
    """The folder, which need not be there."""
    return base("XDG_CACHE_HOME", ".cache") / "sojourn" / "answers"


def load(key: str) -> bytes | None:
    """What was stored under a key; None if it is missing, damaged or open to other users."""
    if not Use.is_on:
        return None
    try:
        path = place()
        if doubt(path.lstat()):
            return None
        head, _, content = read_bytes(path / _name(key), most=FILE_BYTES).partition(b"\n")
    except (OSError, ValueError):
        return None
    return content if head == _head(key, content) else None


def keep(key: str, content: bytes) -> None:
    """Keep it, where there is a place for it; what was not used for the longest time goes."""
    if not Use.is_on or len(content) + 1024 > FILE_BYTES:
        return
    with contextlib.suppress(OSError):
        path = place()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if doubt(path.lstat()):
            return
        _make_room(path)
        head = _head(key, content) + b"\n"
        write_whole(path / _name(key), lambda file: file.writelines((head, content)), mode=0o600)


def _make_room(path: Path) -> None:
    with os.scandir(path) as entries:
        entries_by_age = sorted(
            ((entry.stat(follow_symlinks=False), entry.name) for entry in entries),
            key=lambda one: one[0].st_mtime_ns,
            reverse=True,
        )
    room = ALL_BYTES
    for number, (about, name) in enumerate(entries_by_age):
        room -= about.st_size
        if number >= FILES - 1 or room < 0:
            with contextlib.suppress(OSError):
                (path / name).unlink()


def _name(key: str) -> str:
    return blake2b(_bytes(key), digest_size=_DIGEST_BYTES).hexdigest()


def _head(key: str, content: bytes) -> bytes:
    """The first line of a file: a digest of its key and its content."""
    digest = blake2b(_bytes(key) + b"\0", digest_size=_DIGEST_BYTES)
    digest.update(content)  # not joined, because it may be long
    return FORM + b" " + digest.hexdigest().encode()


def _bytes(key: str) -> bytes:
    """A path that is no UTF-8 is a key like any other."""
    return key.encode(errors="surrogateescape")
