"""Where journals lie: a folder that is the user's own, into which no one else can put a file."""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sojourn import disk
from sojourn.errors import RunFault

STATE = "SOJOURN_STATE"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def state_folder() -> Path:
    """Where journals are kept: by user, and not in a folder that a reboot or a cleaner empties."""
    named = os.environ.get(STATE)
    if named:
        return Path(named)
    return disk.base("XDG_STATE_HOME", ".local/state") / "sojourn"


@contextmanager
def own_folder(folder: Path, *, is_made: bool = False) -> Iterator[int]:
    """An open handle of the journals' folder, into which no one else may put a file.

    Raises:
        RunFault: it belongs to somebody else, or others may write into it.
        OSError: it is not there, or cannot be made.
    """
    if is_made:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder, _FOLDER)
    try:
        stat = os.fstat(handle)
        if stat.st_uid != os.geteuid():
            raise RunFault(
                f"the journals' folder belongs to user {stat.st_uid}, but `restore` executes it",
                at=str(folder),
                fix=elsewhere(),
            )
        if stat.st_mode & disk.OTHERS:
            raise RunFault(
                "others may write into the journals' folder, but `restore` executes it",
                at=str(folder),
                fix=f"look what is in it, then: chmod 700 {folder}; or {elsewhere()}",
            )
        yield handle
    finally:
        os.close(handle)


def elsewhere() -> str:
    """Advice to choose a folder that is the user's own; never one that all users share."""
    example = "/var/lib/sojourn" if os.geteuid() == 0 else f"{_own()}/sojourn-state"
    return f"set {STATE} to a folder of your own, such as {STATE}={example}"


def _own() -> str:
    """A folder of the user's; a number without an account, as in a container, has no home."""
    with contextlib.suppress(KeyError):
        return os.environ.get("XDG_RUNTIME_DIR") or pwd.getpwuid(os.geteuid()).pw_dir
    return "$PWD"


def boot_id() -> str:
    """Names this boot: process numbers of another one mean nothing."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
