"""Network namespaces that others made, by number: where one can be entered.

A namespace lives while a process is in it or a mount holds it. So it is looked for among both.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from sojourn.disk import tables
from sojourn.places import proc

NUMBER = re.compile(r"net:\[\d{1,10}\]", re.ASCII)


def number(pid: int) -> str:
    """The namespace that a process is in, such as "net:[4026531840]"; "": it is gone."""
    return _number_of(of_process(pid))


@contextlib.contextmanager
def opened(wanted: str, first: Path | None = None) -> Iterator[Path | None]:
    """A file by which a namespace can be entered; None: nothing holds it any more.

    While it is open the namespace lasts, and no other one has its number, whatever process ends.

    Args:
        wanted: its number.
        first: where it was before, which is looked at first.

    Raises:
        OSError: it is there, and cannot be opened.
    """
    places = _places() if first is None else chain((first,), _places())
    for path in places:
        if _number_of(path) != wanted:
            continue
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except (FileNotFoundError, ProcessLookupError):  # its process has ended since
            continue
        try:
            if f"net:[{os.fstat(handle).st_ino}]" == wanted:  # else its number was used again
                yield Path(f"/proc/self/fd/{handle}")
                return
        finally:
            os.close(handle)
    yield None


def are_one(one: int | str, other: int | str) -> bool:
    """Whether two processes have the same network namespace.

    Their files /proc/PID/net/dev are compared: anybody may look at these, and process 1 often hides
    the link below `ns`.

    Raises:
        OSError: one of them has ended, or is hidden.
    """
    first, second = (Path(f"/proc/{who}/net/dev").stat().st_ino for who in (one, other))
    return first == second


def members(wanted: str) -> frozenset[int]:
    """All processes that are in a namespace, as far as they may be seen."""
    return frozenset(pid for pid in proc.pids() if number(pid) == wanted)


def _places() -> Iterator[Path]:
    yield from map(of_process, proc.pids())
    for mount in tables.mounts(tables.text(tables.MOUNTS)):
        if mount.kind == "nsfs":
            yield Path(mount.point)


def of_process(pid: int) -> Path:
    """The file by which a process's namespace can be entered."""
    return Path(f"/proc/{pid}/ns/net")


def _number_of(path: Path) -> str:
    """Of a link below /proc its text; of a mounted namespace the number of its file."""
    try:
        if path.parts[:2] == ("/", "proc"):
            return str(path.readlink())  # it is no path
        return f"net:[{path.stat().st_ino}]"
    except OSError:
        return ""
