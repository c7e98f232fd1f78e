"""Records that pages follow: looked at once, between two loads.

    a point's outcome is stored ─► its page is computed ─► each page is sent the lines that changed
    the next load runs          ─► nothing, unless somebody opens a page

The lab's own files report when load runs: the generator's job is written just before it starts, and
how the point went just after it ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import functools
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from sojourn import disk
from sojourn.host.tree import cpu_list
from sojourn.store.lock import is_live
from sojourn.store.named import OUTCOME
from sojourn.view import changes

JOB, JOB_END, ENDED = "load.", ".job.json", {"run.json", OUTCOME}
JOB_BYTES = 4 * 1024**2
CPU_KEYS = ("cpus", "server_cpus")

Wanted = Callable[[], bool]
#: Name and folder of a record to the HTML of its page; it ends early with None if not wanted.
View = Callable[[str, Path, Wanted], str | None]
KeepOff = Callable[[Collection[int]], None]
#: First line, number of lines that are replaced, and the lines that take their place.
Change = tuple[int, int, list[str]]


class Follower:
    """One record that pages follow.

    Attributes:
        lines: of its page, as computed last.
        has_ended: no process writes into the record any more.
        turn: is set when one of both may have changed; then there is another one.
    """

    def __init__(self, name: str, path: Path, view: View, keep_off: KeepOff) -> None:
        """Begin to wait for changes.

        Args:
            name: of the record.
            path: its folder.
            view: computes its page.
            keep_off: see `Following`.
        """
        self.lines: Sequence[str] = ()
        self.has_ended = False
        self.turn = asyncio.Event()
        self.pages = 0
        self._name, self._path, self._view, self._keep_off = name, path, view, keep_off
        self._cpus: set[int] = set()
        self._one = asyncio.Lock()
        self._task = asyncio.create_task(self._follow())

    async def renew(self, *, is_asked: bool) -> None:
        """Compute the page, with a result unless load runs or begins meanwhile.

        Args:
            is_asked: somebody waits for it, so it is computed whatever runs.
        """
        async with self._one:
            is_running = is_live(self._path)  # first: what is stored after the end is shown, too
            is_wanted = _always if is_asked or not is_running else self._is_quiet
            if not is_wanted():
                return
            self._cpus |= cpus_of(self._path)
            self._keep_off(self._cpus)
            text = await run_in_threadpool(self._view, self._name, self._path, is_wanted)
            if text is not None:
                self.lines = text.split("\n")
            self.has_ended = not is_running

    def _is_quiet(self) -> bool:
        return not is_loading(self._path)

    async def next(self, turn: asyncio.Event) -> None:
        """Wait for the end of a turn; what went wrong meanwhile is raised."""
        await turn.wait()
        if self._task.done() and not self.has_ended:
            self._task.result()

    def end(self) -> None:
        """Follow it no longer; its CPUs may be used again."""
        self._task.cancel()
        self._keep_off(())

    async def _follow(self) -> None:
        try:
            async with contextlib.aclosing(changes.changes(self._path)) as looks:
                await anext(looks)  # a page asks for the first view itself
                async for has_changed in looks:
                    if has_changed or not is_live(self._path):
                        await self.renew(is_asked=False)
                    self._tell()
                    if self.has_ended:
                        return
        finally:
            self._tell()

    def _tell(self) -> None:
        before, self.turn = self.turn, asyncio.Event()
        before.set()


class Following:
    """All records that pages follow now."""

    def __init__(self, keep_off: KeepOff) -> None:
        """None yet.

        Args:
            keep_off: is given the CPUs of a measurement, on which this process had better not run.
        """
        self._keep_off = keep_off
        self._all: dict[Path, Follower] = {}
        self._cpus: dict[Path, Collection[int]] = {}

    @property
    def pages(self) -> int:
        """How many pages wait for changes."""
        return sum(one.pages for one in self._all.values())

    @contextlib.contextmanager
    def joined(self, name: str, path: Path, view: View) -> Iterator[Follower]:
        """Follow a record as long as a page does, the first that asks with the `view` of it."""
        follower = self._all.get(path)
        if follower is None:
            avoid = functools.partial(self._avoid, path)
            follower = self._all[path] = Follower(name, path, view, avoid)
        follower.pages += 1
        try:
            yield follower
        finally:
            follower.pages -= 1
            if not follower.pages:
                self._all.pop(path, None)
                follower.end()

    def _avoid(self, path: Path, cpus: Collection[int]) -> None:
        """Keep off the CPUs of all records: the end of one frees none that another measures on."""
        self._cpus[path] = cpus
        self._keep_off(set().union(*self._cpus.values()))
        if not cpus:
            del self._cpus[path]


def _always() -> bool:
    return True


def is_loading(record: Path) -> bool:
    """Whether load is offered at the newest point; of a run that was killed it looks so, too."""
    last = changes.newest(record)
    names = _names(last) if last else set()
    return not names & ENDED and any(_is_job(name) for name in names)


def cpus_of(record: Path) -> set[int]:
    """The CPUs of client and server at the newest point, as far as its load has begun."""
    last, result = changes.newest(record), set[int]()
    for name in _names(last) if last else ():
        if last and _is_job(name):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                job = disk.read_json(last / name, most=JOB_BYTES)
                result.update(*(cpu_list(str(job.get(key, ""))) for key in CPU_KEYS))
    return result


def changed(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """What makes the new lines of the old ones, the last first.

    >>> changed(["a", "b", "c", "d"], ["a", "B", "c", "d", "e"])
    [(4, 0, ['e']), (1, 1, ['B'])]
    """
    codes = difflib.SequenceMatcher(None, old, new).get_opcodes()
    return [
        (at, end - at, list(new[first:last]))
        for kind, at, end, first, last in reversed(codes)
        if kind != "equal"
    ]


def _is_job(name: str) -> bool:
    return name.startswith(JOB) and name.endswith(JOB_END)


def _names(folder: Path) -> set[str]:
    try:
        return set(os.listdir(folder))  # noqa: PTH208 - names are all that is asked
    except OSError:
        return set()
