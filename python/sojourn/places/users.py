"""Whom a server runs as: an unprivileged user where the lab may choose one."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

CAP_SETUID = 7  # include/uapi/linux/capability.h
CAP_SETGID = 6


@dataclass(frozen=True, slots=True)
class User:
    """A user of the system, by name and number."""

    name: str
    uid: int
    gid: int


def server_user() -> User | None:
    """`nobody` if the lab is root and may become it; None: servers run as the lab itself."""
    if os.geteuid() != 0 or not (_has(CAP_SETUID) and _has(CAP_SETGID)):
        return None
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return None
    # In a user namespace, root may lack the number: setuid would fail.
    if not (_is_mapped("uid", entry.pw_uid) and _is_mapped("gid", entry.pw_gid)):
        return None
    return User(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _has(capability: int) -> bool:
    for line in (
        Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    ):
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> capability & 1)
    return False


def _is_mapped(what: str, number: int) -> bool:
    try:
        lines = Path(f"/proc/self/{what}_map").read_text(encoding="ascii").splitlines()
    except OSError:
        return True
    spans = ((int(a), int(n)) for a, _, n in (line.split() for line in lines))
    return any(first <= number < first + count for first, count in spans)
