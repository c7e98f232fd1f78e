"""What the scheduler counts of the threads of a group, at each look.

The folder /proc/PID/task has a link for each thread. So a process is only listed again when their
number is another one, or when a thread that was there is gone. A kernel that does not count links
so is asked each time.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from sojourn.host.tree import Tree
from sojourn.manage.open_files import OpenFiles
from sojourn.text import schedstat
from sojourn.text.schedstat import Schedstat

OWN_LINKS = 2  # of a folder: its name, and "."


class Threads:
    """Those of one group, as they were at the look before."""

    def __init__(self, tree: Tree, files: OpenFiles) -> None:
        """No process is known yet."""
        self._tree, self._open = tree, files
        self._known: dict[int, dict[int, str]] = {}  # process → thread → file

    @property
    def known(self) -> Collection[int]:
        """Processes that had threads when they were read last."""
        return self._known

    def schedstats(self, pids: Collection[int]) -> dict[int, Schedstat]:
        """What the scheduler counts, by thread.

        Args:
            pids: all processes of the group.
        """
        for gone in self._known.keys() - {*pids}:
            self._put(gone, {})
        schedstats: dict[int, Schedstat] = {}
        for pid in pids:
            known = self._known.get(pid, {})
            now = self._read(known) if len(known) == self._count(pid) else {}
            if not now or len(now) < len(known):
                now = self._read(self._listed(pid))
            schedstats |= now
        return schedstats

    def _count(self, pid: int) -> int:
        """How many threads a process has, as far as the kernel counts links; -1: it is gone."""
        try:
            links = os.stat(self._tree.name(f"/proc/{pid}/task")).st_nlink  # noqa: PTH116
        except OSError:
            return -1
        return links - OWN_LINKS

    def _listed(self, pid: int) -> dict[int, str]:
        """The files of a process's threads, listed anew."""
        tids = self._tree.names(f"/proc/{pid}/task")
        self._put(pid, {int(tid): schedstat.path(pid, tid) for tid in tids if tid.isdigit()})
        return self._known.get(pid, {})

    def _put(self, pid: int, files: dict[int, str]) -> None:
        """Only these files are read of a process from now on."""
        for path in {*self._known.pop(pid, {}).values()} - {*files.values()}:
            self._open.drop(path)
        if files:
            self._known[pid] = files

    def _read(self, files: dict[int, str]) -> dict[int, Schedstat]:
        """Of the threads that are there."""
        results: dict[int, Schedstat] = {}
        for tid, text in zip(files, self._open.each(files.values()), strict=True):
            if (one := schedstat.parse(text)) is not None:
                results[tid] = one
        return results
