"""Which libraries native programs are linked with, where they lie on this machine.

`ldd` starts the loader that a program names, which may be anything: without rights if it can.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sojourn.errors import RunFault
from sojourn.places import users
from sojourn.places.users import User

ELF = b"\x7fELF"
LINKED = re.compile(r"^\t(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)
LDD_S_MAX = 20.0
EACH_S_MAX = 0.2  # besides, of each further program
_PLAIN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


def linked(program: Path, user: User | None = None) -> tuple[Path, ...]:
    """Shared libraries that a program is linked with, and its loader, where they lie here.

    Args:
        program: by its full path.
        user: whom it is served as; None: as whoever runs the lab.

    Raises:
        RunFault: it is a script, or one of them is missing.
    """
    if not is_native(program):
        raise RunFault(
            f"{program.name} cannot run in a virtual machine: it is not a native program",
            at=str(program),
            fix='take place = "netns", or a container: they have all files of this machine',
        )
    text = _ldd([program], user)
    if "not found" in text:
        line = next(line.strip() for line in text.splitlines() if "not found" in line)
        raise RunFault(f"{program.name} lacks a library: {line}", at=str(program), fix="install it")
    return _paths(text)


def further(roots: Iterable[Path], user: User | None = None) -> tuple[Path, ...]:
    """Libraries of all native files below these folders, such as programs that a service starts.

    One that is not where loaders look is passed over, because its program may set where they look.
    So is one that not everyone may read, because others may have planted a program and its words.

    Args:
        roots: folders and files; links below them are not followed.
        user: whom they are served as.

    Raises:
        RunFault: `ldd` cannot be started, or takes too long.
    """
    programs = [path for root in roots for path in _files(root) if is_native(path)]
    paths = _paths(_ldd(programs, user)) if programs else ()
    return tuple(path for path in paths if _is_library(path))


def _is_library(path: Path) -> bool:
    return path.is_file() and bool(path.stat().st_mode & stat.S_IROTH) and is_native(path)


def is_native(path: Path) -> bool:
    """Whether a plain file is a native program or library; OSError if it cannot be read."""
    with os.fdopen(os.open(path.resolve(), _PLAIN), "rb") as file:
        return file.read(len(ELF)) == ELF


def _files(root: Path) -> list[Path]:
    paths = [root] if not root.is_dir() else sorted(root.rglob("*"))
    return [path for path in paths if stat.S_ISREG(path.lstat().st_mode)]


def _paths(text: str) -> tuple[Path, ...]:
    return tuple(map(Path, dict.fromkeys(LINKED.findall(text))))


def _ldd(programs: Sequence[Path], user: User | None) -> str:
    try:
        done: subprocess.CompletedProcess[str] = subprocess.run(
            ["ldd", *programs],
            capture_output=True,
            text=True,
            check=False,
            timeout=LDD_S_MAX + EACH_S_MAX * len(programs),
            stdin=subprocess.DEVNULL,
            **_without_rights(programs, user),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunFault(
            f"the libraries of {programs[0].name} are not known: {error}",
            at=f"ldd {programs[0]}",
            fix="apt install libc-bin",
        ) from None
    return done.stdout


def _without_rights(programs: Sequence[Path], user: User | None) -> dict[str, Any]:
    """Words for `subprocess.run` that make it an ordinary user's; {}: only root can read them."""
    who = user or (users.server_user() if all(map(_is_open, programs)) else None)
    return {"user": who.uid, "group": who.gid, "extra_groups": []} if who else {}


def _is_open(program: Path) -> bool:
    parents = program.resolve().parents
    return program.stat().st_mode & 0o005 == 0o005 and all(
        part.stat().st_mode & 0o001 for part in parents
    )
