"""Samples that `sojourn-counters` took, read as if the machine were still as it was then.

A record is lines of JSON: a head, a sample each, and at the end what that cost. A sample holds
files of /proc as they were read, with the time of each.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FORM = "sojourn.counters/1"


class Recorded:
    """The files of one sample at a time; a clock that goes on as they are read."""

    def __init__(self) -> None:
        """No sample is shown yet."""
        self._texts: dict[str, str] = {}
        self._ns: dict[str, int] = {}
        self._folders: Mapping[str, set[str]] = {}
        self._now_ns = self._boot_ns = 0

    def show(self, sample: Mapping[str, Any]) -> None:
        """From now on the machine is as it was in `sample`."""
        self._now_ns, self._boot_ns = sample["start_ns"], sample["boot_ns"]
        self._texts = {path: text for path, _, text in sample["files"]}
        self._ns = {path: ns for path, ns, _ in sample["files"]}
        folders = defaultdict(set)
        for path in self._texts:
            above = path
            while above:
                above, _, name = above.rpartition("/")
                folders[above].add(name)
        self._folders = folders

    def clock(self) -> float:
        """When what was read last had been read, s of the monotonic clock."""
        return self._now_ns / 1e9

    def boot(self) -> float:
        """When the sample began, s since boot."""
        return self._boot_ns / 1e9

    def read(self, path: str) -> bytes:
        """Contents; empty if it was not there."""
        self._now_ns = max(self._now_ns, self._ns.get(path, 0))
        return self._texts.get(path, "").encode()

    def text(self, path: str) -> str | None:
        """Contents without the line end; None if it was not there."""
        return self.read(path).decode().strip() if path in self._texts else None

    def names(self, path: str) -> list[str]:
        """Names in a folder, of which something was read, in order."""
        return sorted(self._folders.get(path, ()))

    def fields(self, path: str) -> list[bytes]:
        """The fields of a `stat` after the name, which may hold blanks and brackets (proc(5))."""
        return self.read(path).rpartition(b")")[2].split()


def lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """The lines of a record as far as they are whole: head, samples, cost.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such record.
    """
    with path.open(encoding="utf-8") as file:
        for nth, line in enumerate(file):
            try:
                table = json.loads(line)
            except ValueError:
                if nth == 0:
                    raise
                return  # whoever wrote it was killed in the middle of a line
            if nth == 0 and table.get("schema") != FORM:
                raise ValueError(f"{path}: not {FORM}")
            yield table
