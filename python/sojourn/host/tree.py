"""A read-only view of /sys, /proc and /etc below a root folder.

Everything that `host` knows it knows through here, so tests can hand in a folder that fakes another
machine. What cannot be read is None: an absent file is a fact, not an error.
"""

from __future__ import annotations

import os
import re
import string
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sojourn.disk import tables

LIVE = Path("/")  # made once: a manager asks a hundred times a second
CPUS_MAX = 1 << 16  # eight times what any kernel is built for (NR_CPUS)


@dataclass(frozen=True, slots=True)
class Tree:
    """Files below `root`; paths are given as on the machine, `/` first."""

    root: Path = LIVE

    def path(self, path: str) -> Path:
        """Where `path` of the machine lies below the root."""
        return _below(self.root, path)

    @property
    def is_live(self) -> bool:
        """Whether this is the machine itself and not a fake."""
        return self.root == LIVE

    def name(self, path: str) -> str:
        """The same as text, which is faster on the machine itself: no path object is made."""
        return path if self.root is LIVE else str(self.path(path))

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        return os.path.exists(self.name(path))  # noqa: PTH110  # ten times a second

    def text(self, path: str) -> str | None:
        """Contents without the line end; None if it cannot be read.

        Some kernels end a file with a NUL, which is no part of what it says.
        """
        try:
            text = tables.text(self.name(path))
        except OSError:
            return None
        return text.strip(f"\0{string.whitespace}")

    def number(self, path: str) -> int | None:
        """Contents as a whole number; None if it cannot be read or is none."""
        return as_int(self.text(path))

    def names(self, path: str) -> tuple[str, ...]:
        """Names in a folder, sorted; none if it cannot be read."""
        try:
            return tuple(sorted(os.listdir(self.name(path))))  # noqa: PTH208  # ten times a second
        except OSError:
            return ()

    def table(self, path: str) -> dict[str, str]:
        """Lines of the form `name: value`, as in /proc/self/status and /proc/meminfo."""
        lines = tables.lines(self.text(path) or "")
        pairs = (line.partition(":") for line in lines if ":" in line)
        return {name.strip(): value.strip() for name, _, value in pairs}


@lru_cache(4096)  # a manager asks for the same files ten times a second
def _below(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def as_int(text: str | None, base: int = 10) -> int | None:
    """Read a whole number, or None."""
    try:
        return int(text, base) if text is not None else None
    except ValueError:
        return None


def has_kernel(tree: Tree, major: int, minor: int) -> bool:
    """Whether the kernel is of this version or later; True where it does not say.

    A distribution writes what it likes behind the first two numbers, such as `6.12-amd64`, `6.12+`.
    """
    match = re.match(r"(\d+)\.(\d+)", tree.text("/proc/sys/kernel/osrelease") or "")
    return match is None or (int(match[1]), int(match[2])) >= (major, minor)


def cpu_list(text: str | None) -> tuple[int, ...]:
    r"""Read a kernel CPU list, ascending; () where a part of it is no list: half is no truth.

    >>> cpu_list("0-2,8")
    (0, 1, 2, 8)
    >>> cpu_list("0-2\0"), cpu_list("0-2,(null)"), cpu_list("")
    ((0, 1, 2), (), ())
    """
    cpus: set[int] = set()
    for part in (text or "").strip(f"\0{string.whitespace}").split(","):
        run = _run(part.strip()) if part.strip() else range(0)
        if run is None:
            return ()
        cpus.update(run)
    return tuple(sorted(cpus))


def _run(part: str) -> range | None:
    """CPUs of one part of a list, such as `3` or `0-2`; None: it is neither."""
    first, dash, last = part.partition("-")
    words = (first, last if dash else first)
    if not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
        return None
    low, high = map(int, words)
    return range(low, high + 1) if low <= high < CPUS_MAX else None


def cpu_text(cpus: tuple[int, ...]) -> str:
    """Write CPUs as a kernel CPU list.

    >>> cpu_text((0, 1, 2, 8))
    '0-2,8'
    """
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def mask_is_set(text: str | None) -> bool:
    """Whether a kernel CPU mask such as `00000000,0000000f` names any CPU."""
    return any(char not in "0," for char in (text or "").strip())


def chosen(text: str | None) -> str:
    """Read the bracketed choice in `always [madvise] never`; the whole text if none is.

    >>> chosen("always [madvise] never")
    'madvise'
    """
    text = text or ""
    inner = text.partition("[")[2].partition("]")[0]
    return inner or text
