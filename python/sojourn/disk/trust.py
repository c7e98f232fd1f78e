"""Folders whose contents are obeyed: journals that are undone, programs that were fetched.

Root does what lies in them, so no one else may put a file there. The home of the user who calls is
not always the one that HOME names: `sudo` may leave it at that of somebody else, and with `-E` all
other variables too. Who owns a folder on the way may put another one in its place at any moment.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import stat
from pathlib import Path

OTHERS = stat.S_IWGRP | stat.S_IWOTH
NOWHERE = Path("/nonexistent")  # as Debian calls the home of who has none


def home() -> Path:
    """The user's own home, whatever HOME says; `NOWHERE` without HOME and without an account.

    So it is in a container that runs as a number which its list of users does not have.
    """
    try:
        named = Path("~").expanduser()
    except RuntimeError:
        return NOWHERE
    with contextlib.suppress(OSError, KeyError):
        result = named.stat()
        if result.st_uid != os.geteuid() or result.st_mode & stat.S_IWOTH:
            return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    return named


def with_home(name: str) -> Path:
    """A path as a user wrote it, `~` replaced; left as it is where no such home is known."""
    with contextlib.suppress(RuntimeError):
        return Path(name).expanduser()
    return Path(name)


def base(variable: str, usual: str) -> Path:
    """A folder for one kind of files: what a variable of the XDG names, or below the home.

    It is below the home where that one is relative, or lies in a folder of another user.
    """
    named = Path(os.environ.get(variable) or "")
    with contextlib.suppress(OSError):
        way = next((path for path in (named, *named.parents) if path.exists()), named)
        if named.is_absolute() and way.stat().st_uid in {0, os.geteuid()}:
            return named
    return home() / usual


def doubt(result: os.stat_result, *, may_be_roots: bool = False) -> str:
    """Why a folder's contents may not be obeyed; "" if they may.

    Args:
        result: what the folder is.
        may_be_roots: the machine's superuser may have made it for all.
    """
    trusted = {os.geteuid(), *([0] if may_be_roots else [])}
    if result.st_uid not in trusted:
        return f"it belongs to user {result.st_uid}"
    return "others may write into it" if result.st_mode & OTHERS else ""
