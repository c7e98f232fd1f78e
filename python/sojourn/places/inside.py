"""The program in a container: the first process of its namespace, as the machine numbers it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from sojourn.disk import tables
from sojourn.errors import RunFault
from sojourn.places import proc, process_end, starter
from sojourn.places.process import Ledger, Process
from sojourn.places.process_end import Ended

INSIDE_S_MAX = 20.0  # for a runtime to make its container, on a machine that is very busy
GONE_S_MAX = 8.0
WORDS = 10  # lines of a runtime that refuses: LXC says the cause first, then each that it led to


class Inside(Process):
    """A program in a container: its first process, as the machine numbers it."""

    def __init__(self, outer: Process, first: proc.Stat, ledger: Ledger) -> None:
        """Note it; `outer` is the runtime, which ends when it does."""
        self.what = outer.what
        self.pid = first.pid
        self._outer = outer
        self._first = first
        self._ledger = ledger
        self._entry = ledger.started(f"{outer.what}, contained", first.pid, first.start_ticks)

    def fileno(self) -> int:
        """As of the runtime: it ends when the program does."""
        return self._outer.fileno()

    def poll(self, within_s: float = 0.0) -> Ended | None:
        """How the runtime ended: as the program did, as far as it tells."""
        ended = self._outer.poll(within_s)
        if ended is not None and self._entry is not None:
            left = proc.members(self.pid, self._first.start_ticks)
            if proc.end(left, within_s=GONE_S_MAX):
                self._ledger.undone(self._entry)
                self._entry = None
        return ended

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program itself: not each runtime hands it on."""
        proc.send(self._first, number)

    def stop(self, *, term_s: float = 5.0, first: signal.Signals = signal.SIGTERM) -> Ended:
        """End it: ask, wait, kill; then the runtime."""
        self.send(first)
        if self.poll(term_s) is None:
            self.send(signal.SIGKILL)
            self.poll(GONE_S_MAX)
        self._outer.stop()
        ended = self.poll()
        assert ended is not None  # noqa: S101  # `stop` has waited for it
        return ended


def await_first(outer: Process, log: Path) -> proc.Stat:
    """The first process of the container, once it is the program and no more the runtime."""
    end = time.monotonic() + INSIDE_S_MAX
    while time.monotonic() < end:
        ended = outer.poll()
        if ended is not None:
            raise RunFault(
                f"{outer.what} cannot be started in a container: its runtime {ended.text}",
                at=process_end.last_words(log, lines=WORDS) or "it printed nothing",
                fix="see service.log in the point's folder; `sojourn doctor` says what is missing",
            )
        for first in _firsts(outer.pid):
            if not _is_runtime(first.pid, outer.pid):
                return first
        time.sleep(0.002)
    raise RunFault(
        f"no container started for {outer.what} within {INSIDE_S_MAX:.0f} s",
        at=process_end.last_words(log) or "its runtime printed nothing",
        fix="try again on a machine that is less busy",
    )


def _firsts(outer: int) -> Iterator[proc.Stat]:
    """Descendants of a process that are the first in a namespace of processes."""
    everybody = proc.everybody().values()
    wanted = {outer}
    while born := [s for s in everybody if s.parent in wanted and s.pid not in wanted]:
        wanted |= {s.pid for s in born}
        yield from (s for s in born if _numbers(s.pid)[1:][-1:] == ["1"])


def _numbers(pid: int) -> list[str]:
    """Its numbers, from the machine's namespace to its own; none if it is gone."""
    with contextlib.suppress(OSError):
        for line in tables.lines(tables.text(Path(f"/proc/{pid}/status"))):
            if line.startswith("NSpid:"):
                return tables.words(line)[1:]
    return []


def _command(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace").split("\0")


def _is_runtime(pid: int, outer: int) -> bool:
    """Whether it is not the program yet, or is gone.

    It runs the runtime's own file, or a copy of it (runc), or drops its rights (`starter`).
    """
    try:
        own, its = (Path(f"/proc/{number}/exe") for number in (pid, outer))
        name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace")
        return (
            own.samefile(its)
            or str(own.readlink()).startswith("/memfd:")
            or name.startswith("runc:[")
            or starter.is_one(_command(pid))
        )
    except OSError:
        return True


def hold(leader: int, cpus: Sequence[int]) -> None:
    """Put all threads of a session on these CPUs: a group that they were put into may undo it."""
    if not cpus:
        return
    for task in proc.tasks(leader):
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(task.tid, cpus)
