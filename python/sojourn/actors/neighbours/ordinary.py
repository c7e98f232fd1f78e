"""Programs of neighbours without root's rights: they are the distribution's, and need none.

What only root can reach (a checkout in its home, a folder that others cannot write) is run as
before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from sojourn import programs
from sojourn.places import starter, users

FOLDER = Path("/tmp")  # noqa: S108  # some want to write where they are started, as stress-ng does
ENTERED, WRITTEN = 0o005, 0o007


def as_ordinary_user(
    argv: Sequence[str], needs: Iterable[Path], folder: str = ""
) -> tuple[str, ...]:
    """The command, as somebody who is no one else on this machine.

    Args:
        argv: the program and its arguments.
        needs: programs and files that it must reach.
        folder: where it writes; "": nowhere.

    Returns:
        `argv` as it was where the lab is not root, or it could not run so.
    """
    user = users.beside_user()
    paths = (Path(sys.prefix), Path(sys.executable).resolve(), *needs)
    writes = (FOLDER, *([Path(folder)] if folder else ()))
    can_run = all(users.is_open(path, ENTERED) for path in paths)
    if user is None or not can_run or not all(users.is_open(path, WRITTEN) for path in writes):
        return tuple(argv)
    env = str(programs.find("env", fix="apt install coreutils"))
    setpriv = str(programs.find(starter.SETPRIV, fix="apt install util-linux"))
    who = (f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups", *starter.NO_RIGHTS)
    return (env, "-C", str(FOLDER), setpriv, *who, *argv)
