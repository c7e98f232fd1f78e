"""Whom a server runs as: an unprivileged user where the lab may choose one."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sojourn.disk import tables
from sojourn.errors import HostFault

UID = "SOJOURN_UID"
#: What systemd gives to services without an account (`DynamicUser=`), and Debian to user nobody.
FREE = range(61_184, 65_520)
DYNAMIC = Path("/run/systemd/dynamic-uid")  # those that it has given
OVERFLOW_UID = 65_534
WANTED = 3  # for servers, for what is beside them, for clients
CAP_SETUID = 7  # include/uapi/linux/capability.h
CAP_SETGID = 6
#: What others may do with a file or folder: bits of its mode.
ENTER, READ = 0o001, 0o004


@dataclass(frozen=True, slots=True)
class User:
    """A user of the system, by name and number."""

    name: str
    uid: int
    gid: int


def server_user(*, has_account: bool = False) -> User | None:
    """Whom servers run as, if the lab is root and may become it; None: as the lab itself.

    A user of their own where that can be had: the number in `SOJOURN_UID`, or one that no account
    and no process has. `nobody` is also the user of other programs and of files that a network
    shares, and a process of the same user may stop a measured server, trace it, change its files.

    Args:
        has_account: the program looks its user up, as PostgreSQL does: it is `nobody`.

    Raises:
        HostFault: `SOJOURN_UID` is no number of an ordinary user.
    """
    if os.geteuid() != 0 or not (_has(CAP_SETUID) and _has(CAP_SETGID)):
        return None
    uid = None if has_account else _own_uid()
    user = User(f"uid-{uid}", uid, uid) if uid is not None else _nobody_user()
    # In a user namespace, root may lack the number: setuid would fail.
    is_mapped = user and _is_mapped("uid", user.uid) and _is_mapped("gid", user.gid)
    return user if is_mapped else None


def is_open(path: Path, mode: int) -> bool:
    """Whether others have all rights of `mode` to a path, and may enter all folders above it.

    False where there is no such path.
    """
    try:
        has = path.stat().st_mode & mode == mode
        return has and all(part.stat().st_mode & ENTER for part in path.resolve().parents)
    except OSError:
        return False


def may_enter(path: Path, user: User | None) -> bool:
    """Whether a user may enter a folder, or start a program; None: as the lab."""
    return user is None or is_open(path, ENTER)


def stays_root() -> bool:
    """Whether servers run as root: the lab is root, and cannot become another user here.

    So it is in a container without CAP_SETUID, and in a user namespace that maps root alone.
    """
    return os.geteuid() == 0 and server_user() is None


def beside_user() -> User | None:
    """Whom programs run as that are there beside a server; None: as whoever runs the lab.

    Another than the server's, because neither may stop the other or look into it.
    """
    return _other(0)


def client_user() -> User | None:
    """Whom the generator runs as; None: as whoever runs the lab."""
    return _other(1)


def _other(nth: int) -> User | None:
    """One of those that are not the servers'."""
    user = server_user()
    others = [uid for uid in _free_uids() if user is not None and uid != user.uid]
    return User(f"uid-{others[nth]}", others[nth], others[nth]) if nth < len(others) else None


def _nobody_user() -> User | None:
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return None
    return User(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _own_uid() -> int | None:
    """A number that is no one else's; None: there is none, or root lacks them here."""
    text = os.environ.get(UID, "")
    if not text:
        return next(iter(_free_uids()), None)
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < OVERFLOW_UID:
        raise HostFault(
            f"{UID} is '{text}', which is not an ordinary user",
            at=UID,
            fix=f"give a number from {FREE[0]} to {FREE[-1]} that no account has, or leave it out",
        )
    return int(text)


@cache
def _free_uids() -> tuple[int, ...]:
    """The first free ones; the same as long as the lab runs, since files of them are about."""
    taken, results = set(_uids()), []
    for uid in FREE:
        is_systemds = (DYNAMIC / str(uid)).exists()
        if uid not in taken and not is_systemds and not _is_account(uid):
            results.append(uid)
        if len(results) == WANTED:
            break
    are_mapped = all(_is_mapped("uid", uid) and _is_mapped("gid", uid) for uid in results)
    return tuple(results) if are_mapped else ()


def _uids() -> Iterator[int]:
    """Of all processes that are seen from here."""
    for path in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # it has ended
            if path.name.isdigit():
                yield path.stat().st_uid


def _is_account(uid: int) -> bool:
    for look, key in ((pwd.getpwuid, uid), (grp.getgrgid, uid)):
        with contextlib.suppress(KeyError):
            look(key)
            return True
    return False


def _has(capability: int) -> bool:
    for line in tables.lines(tables.text(Path("/proc/self/status"))):
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> capability & 1)
    return False


def _is_mapped(what: str, number: int) -> bool:
    try:
        lines = tables.lines(tables.text(Path(f"/proc/self/{what}_map")))
    except OSError:
        return True
    spans = ((int(a), int(n)) for a, _, n in (line.split() for line in lines))
    return any(first <= number < first + count for first, count in spans)
