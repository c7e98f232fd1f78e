"""Sleeps until the files of a record change: the kernel reports it by inotify.

A record changes by files that take their names when they are whole. So three folders are watched,
and in two of them only for files that are renamed: the generator's own writing does not. Of the
point that is measured only its outcome counts, which comes when its load has ended. Where there is
no inotify, the folders' times of change are looked at once a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import struct
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

from sojourn.store.named import FAILED, OUTCOME, POINTS, number

MOVED_TO, CREATE, ONLY_FOLDER, NO_LINK = 0x80, 0x100, 0x01000000, 0x02000000
IGNORED = 0x8000  # a folder is watched no longer
FLAGS = os.O_NONBLOCK | os.O_CLOEXEC  # the same bits as IN_NONBLOCK and IN_CLOEXEC
GATHER_S = 0.2  # after a change: those that belong to it; the next load begins after a second
LOOK_S = 1.0  # without inotify
IDLE_S = 30.0  # then it is looked whether the run still lives
OF_POINT = {OUTCOME, FAILED}
_HEAD = struct.Struct("iIII")  # of an event: watch, mask, cookie, length of the name
_READ = 64 * 1024


async def changes(record: Path, *, idle_s: float = IDLE_S) -> AsyncGenerator[bool]:
    """True at once and after each change of the record's files, False when none came for `idle_s`.

    What changes after a value was given leads to another one, so a look between two misses nothing.
    """
    watch = _Watch.begun() if sys.platform == "linux" else None
    if watch is None:
        async for one in _looked(record, idle_s):
            yield one
        return
    try:
        has_changed = True
        while True:
            watch.cover(record)
            yield has_changed
            has_changed = await watch.wait(idle_s)
            if has_changed:
                await asyncio.sleep(GATHER_S)
                watch.drop()
    finally:
        watch.close()


def newest(record: Path) -> Path | None:
    """The folder of the point that was begun last."""
    try:
        with os.scandir(record / POINTS) as entries:
            names = [one.name for one in entries if one.is_dir(follow_symlinks=False)]
    except OSError:
        return None
    numbered = [name for name in names if name.partition("-")[0].isdecimal()]
    last = max(numbered, key=number, default=None)
    return record / POINTS / last if last else None


class _Watch:
    """The kernel's list of what is watched."""

    def __init__(self, handle: int, library: ctypes.CDLL) -> None:
        self._handle, self._library = handle, library
        self._last = -1, Path()  # the point that was begun last, and its watch

    @classmethod
    def begun(cls) -> _Watch | None:
        """None where the kernel gives no more of them."""
        library = ctypes.CDLL(None, use_errno=True)
        handle = library.inotify_init1(FLAGS)
        return None if handle < 0 else cls(handle, library)

    def cover(self, record: Path) -> None:
        """Watch the record, its folder of points, and the point that was begun last."""
        self._add(record, MOVED_TO)
        self._add(record / POINTS, CREATE)
        last = newest(record)
        if last is not None and last != self._last[1]:
            self._library.inotify_rm_watch(self._handle, self._last[0])
            self._last = self._add(last, MOVED_TO), last

    def _add(self, path: Path, mask: int) -> int:
        """One that is watched already stays so."""
        mask |= ONLY_FOLDER | NO_LINK
        return int(self._library.inotify_add_watch(self._handle, os.fsencode(path), mask))

    async def wait(self, idle_s: float) -> bool:
        """Sleep until something changes that a page shows; False if nothing did."""
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def look() -> None:
            if any(map(self._is_shown, self._events())):
                woken.set()

        loop.add_reader(self._handle, look)
        try:
            await asyncio.wait_for(woken.wait(), idle_s)
        except TimeoutError:
            return False
        finally:
            loop.remove_reader(self._handle)
        return True

    def _is_shown(self, event: tuple[int, str]) -> bool:
        """Of the newest point's files only few are; of all others, and of what was lost, each."""
        watch, name = event
        return watch != self._last[0] or name in OF_POINT

    def _events(self) -> Iterator[tuple[int, str]]:
        """The watch and the name of each event that was not read yet."""
        with contextlib.suppress(BlockingIOError):
            while rest := os.read(self._handle, _READ):
                while rest:
                    watch, mask, _, length = _HEAD.unpack_from(rest)
                    name, rest = rest[_HEAD.size :][:length], rest[_HEAD.size + length :]
                    if not mask & IGNORED:
                        yield watch, os.fsdecode(name.rstrip(b"\0"))

    def drop(self) -> None:
        """Forget what was reported: only that there was something counts."""
        for _ in self._events():
            pass

    def close(self) -> None:
        """Close the kernel's handle of the list."""
        os.close(self._handle)


async def _looked(record: Path, idle_s: float) -> AsyncGenerator[bool]:
    before, waited_s = _state(record), 0.0
    yield True
    while True:
        await asyncio.sleep(LOOK_S)
        waited_s += LOOK_S
        now = _state(record)
        if now != before or waited_s >= idle_s:
            yield now != before
            before, waited_s = now, 0.0


def _state(record: Path) -> tuple[int, ...]:
    places = [record, record / POINTS, *([last] if (last := newest(record)) else [])]
    result = []
    for path in places:
        with contextlib.suppress(OSError):
            result.append(path.lstat().st_mtime_ns)
    return tuple(result)
