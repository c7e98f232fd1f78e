r"""Tables of the kernel: lines end at line feeds, words at spaces and tabs.

Names of tasks, control groups and mounts stand in them as anybody chose them. What Python takes for
the end of a line (`\r`, `\v`, `\x1c`, `\x85`, U+2028) or of a word (`\x1f`, U+2003) the kernel does
not escape, so a name could be followed by a line of its own: a mount or a user that there is not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PART_BYTES = 1 << 14
MOUNTS = Path("/proc/self/mountinfo")
_BLANK = re.compile(r"[ \t]+")
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One mount, as proc(5) has it under mountinfo.

    Attributes:
        root: which part of its file system is mounted.
        point: where.
        options: of the mount.
        kind: of the file system.
        source: what was mounted, such as a device's file.
        whole: options of the file system.
    """

    root: str
    point: str
    options: frozenset[str]
    kind: str
    whole: frozenset[str]
    source: str


def text(path: Path | str) -> str:
    """What a file of the kernel says; no byte of it becomes a line feed.

    Raises:
        OSError: it cannot be read.
    """
    # Without a file object, because a manager reads ten tables a round.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(handle, PART_BYTES):  # the kernel hands over a page at a time
            parts.append(part)
    finally:
        os.close(handle)
    return b"".join(parts).decode("utf-8", "replace")


def lines(result: str) -> list[str]:
    r"""Its lines.

    >>> lines("Name:\ta\rUid:\t0\nUid:\t1000\n")
    ['Name:\ta\rUid:\t0', 'Uid:\t1000']
    """
    every = result.split("\n")
    return every[:-1] if not every[-1] else every


def words(line: str) -> list[str]:
    r"""The words of a line.

    >>> words("cgroup2  /a\u2003b\x1fc\trw")
    ['cgroup2', '/a\u2003b\x1fc', 'rw']
    """
    return [word for word in _BLANK.split(line) if word]


def mounts(result: str | None) -> Iterator[Mount]:
    r"""The mounts of a text of /proc/PID/mountinfo, the oldest first; None: there is no such text.

    >>> [m.point for m in mounts("30 23 0:26 / /a\\040b rw shared:1 - cgroup2 none rw\n")]
    ['/a b']
    """
    for line in lines(result or ""):
        front, dash, behind = line.partition(" - ")
        own, rest = words(front), words(behind)
        if dash and len(own) >= 6 and rest:
            yield Mount(
                root=_plain(own[3]),
                point=_plain(own[4]),
                options=frozenset(own[5].split(",")),
                kind=rest[0],
                whole=frozenset(rest[2].split(",") if len(rest) > 2 else ()),
                source=_plain(rest[1]) if len(rest) > 2 else "",
            )


def _plain(name: str) -> str:
    """A name as it is: the kernel has octal numbers for spaces, line feeds and backslashes."""
    return _OCTAL.sub(lambda result: chr(int(result[1], 8)), name)
