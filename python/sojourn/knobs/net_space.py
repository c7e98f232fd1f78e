"""Network namespaces that others made, by number: where one can be entered.

A namespace lives while a process is in it or a mount holds it. So it is looked for among both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sojourn.disk import tables
from sojourn.places import proc

NUMBER = re.compile(r"net:\[\d{1,10}\]", re.ASCII)
OWN = Path("/proc/thread-self/ns/net")


def number(pid: int) -> str:
    """The namespace that a process is in, such as "net:[4026531840]"; "": it is gone."""
    return _number_of(of_process(pid))


def entrance(wanted: str, first: Path | None = None) -> Path | None:
    """A file by which a namespace can be entered; None: nothing holds it any more.

    Args:
        wanted: its number.
        first: where it was before, which is looked at first.
    """
    places = _places() if first is None else (path for one in ((first,), _places()) for path in one)
    return next((path for path in places if _number_of(path) == wanted), None)


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
