"""Kernel files that stay open between looks.

To open and to close a file takes the kernel several times as long as to read it. Only files are
read here that the kernel writes anew, and as a whole, for each reading from the begin (one record
of a seq_file). `cgroup.procs` of version 1 is none: what it says stays as long as it is read more
than once a second (kernel/cgroup/cgroup-v1.c).

A file of a group or thread that is gone cannot be read any more, whoever has its path by then. So
the path is opened again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from sojourn.host import reading
from sojourn.host.tree import Tree

FILES_MAX = 128  # of one group: a service may have many threads, and a process few open files
PART_BYTES = 1 << 14
LINE_BYTES = 128  # of a file that is one short line: less to make room for


class OpenFiles:
    """Files of one group; close it when the group is gone."""

    def __init__(self, tree: Tree) -> None:
        """Nothing is open yet: a file is opened at its first reading."""
        self._tree = tree
        self._handles: dict[str, int] = {}

    def each(self, paths: Iterable[str]) -> list[bytes | None]:
        """Files of a line each, as `whole`; in one loop: a service may have many threads."""
        texts: list[bytes | None] = []
        for path in paths:
            try:
                text = os.pread(self._handles[path], LINE_BYTES, 0)
            except (KeyError, OSError):
                text = b""
            texts.append(text if 0 < len(text) < LINE_BYTES else self.whole(path))
        return texts

    def whole(self, path: str) -> bytes | None:
        """All bytes of a file; None: it cannot be read."""
        if (handle := self._handles.get(path)) is not None:
            try:
                return _whole(handle)
            except OSError:
                self.drop(path)
        if not self._tree.is_live or len(self._handles) >= FILES_MAX:
            return reading.whole(self._tree, path)
        try:
            handle = self._handles[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            return _whole(handle)
        except OSError:
            self.drop(path)
            return None

    def drop(self, path: str) -> None:
        """Close a file that is not read any more."""
        if (handle := self._handles.pop(path, None)) is not None:
            os.close(handle)

    def close(self) -> None:
        """Close all of them; they are opened again if they are read."""
        for path in [*self._handles]:
            self.drop(path)

    def __del__(self) -> None:
        self.close()


def _whole(handle: int) -> bytes:
    """All of a file from its begin on; OSError if it is longer than any of these files."""
    text = os.pread(handle, PART_BYTES, 0)
    if len(text) >= PART_BYTES:
        raise OSError(0, "it is too long")
    return text
