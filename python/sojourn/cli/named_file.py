"""A page or file for CI under the name that the user typed, a link or device too.

The folder may be somebody else's, and root would write through a link that they planted there. So
a link is followed only if it belongs to this user or to root.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from sojourn.errors import SpecFault

LINKS_MAX = 8  # that lead on to one another
_OPEN = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def write(path: Path, text: str, *, is_more: bool = False) -> None:
    """Write a text; `is_more`: behind what is there.

    Raises:
        SpecFault: the file cannot be written.
    """
    flags = _OPEN | (os.O_APPEND if is_more else os.O_TRUNC)
    try:
        handle = _opened(path, flags)
        os.set_blocking(handle, True)  # not blocking it was only until a pipe has its reader
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise SpecFault(
            f"cannot write: {error.strerror}", at=str(path), fix="give another file"
        ) from None


def _opened(path: Path, flags: int, links: int = LINKS_MAX) -> int:
    """A descriptor of a file; OSError if there is none, or somebody else's link leads to it."""
    try:
        return os.open(path, flags | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        if error.errno != errno.ELOOP or not links:
            raise
    link = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(link).st_uid not in {0, os.geteuid()}:
            raise OSError(errno.ELOOP, "it is a link that somebody else has made", str(path))
        target = path.parent / os.readlink("", dir_fd=link)
    finally:
        os.close(link)
    if target.is_relative_to("/proc"):  # what /dev/stdout leads to, which has no name of its own
        return os.open(target, flags, 0o666)
    return _opened(target, flags, links - 1)
