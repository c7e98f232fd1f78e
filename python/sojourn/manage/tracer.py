"""Windows of the eBPF tracer: server-side times of a service, without any client.

`sojourn-trace --windows` is a child of the manager and prints a line after each window. A time is
from the request's first segment at the host to the last byte of its reply handed to the kernel, so
a client sees more. The manager ends the tracer when it ends itself. If the manager is killed, the
next line of the tracer finds no reader, and that ends the tracer as well.

A tracer that ended, such as with its service, is started again as soon as there is a process.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sojourn import programs
from sojourn.controllers.look import Window
from sojourn.errors import HostFault
from sojourn.manage.source import Source

PROGRAM = "sojourn-trace"
ALL = "all"
LONGEST = "6h"  # what the tracer's counters are made for; then it is started again
BEGIN_S_MAX, END_S_MAX, AGAIN_S = 20.0, 3.0, 1.0
WORDS_BYTES, PART_BYTES = 2000, 1 << 16
BEGUN = b"tracing "


@dataclass(slots=True)
class Tracer:
    """One tracer after the other, of one service.

    Attributes:
        pids: processes of the service, the first of which is traced with all that it started.
        service: the group that the windows are about.
        cost: share of the service's CPU time that tracing may take, "2%"; "all": every request.
        ports: local ports; none: all that it listens on.
        starts: how many tracers were started.
        why: what the last one said when it ended; "": nothing.
    """

    pids: Callable[[], tuple[int, ...]]
    service: str
    target_ns: float
    cost: str
    ports: tuple[int, ...] = ()
    starts: int = 0
    why: str = ""
    _lines: Source = field(init=False)
    _task: subprocess.Popen[bytes] | None = None
    _again_s: float = 0.0
    _words: bytes = b""

    def __post_init__(self) -> None:
        self._lines = Source(Path(PROGRAM), self.service)

    @property
    def bad(self) -> int:
        """Lines that were no window."""
        return self._lines.bad

    def open(self) -> None:
        """Start it, and wait until it traces; HostFault where it cannot."""
        self._start()
        until_s = time.monotonic() + BEGIN_S_MAX
        while not self._has_begun():
            ended = self._task is None or self._task.poll() is not None
            if ended or time.monotonic() > until_s:
                self._hear()
                text = self._words.decode("utf-8", "replace").strip()
                self.close()
                raise HostFault(
                    f"the service cannot be traced: {text or 'the tracer says nothing'}",
                    at=f"windows.tracer, {' '.join(self._argv(self.pids()))}",
                    fix="run this command by hand; it says what it lacks",
                )
            self._wait(0.05)

    def close(self) -> None:
        """End it; all its hooks go with it."""
        task, self._task = self._task, None
        if task is None:
            return
        with contextlib.suppress(ProcessLookupError):
            task.send_signal(signal.SIGINT)
        self._lines.close()
        if task.stderr is not None:
            task.stderr.close()
        try:
            task.wait(END_S_MAX)
        except subprocess.TimeoutExpired:
            task.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # one that may not be killed stays
                task.wait(END_S_MAX)

    def read(self, t_s: float) -> None:
        """Take what has come; start another tracer where this one has ended."""
        if self._task is not None:
            self._lines.read(t_s)
            self._hear()
            if self._task.poll() is not None:
                self.why = self._words.decode("utf-8", "replace").strip()
                self.close()
                self._again_s = t_s + AGAIN_S
        elif t_s >= self._again_s:
            self._again_s = t_s + AGAIN_S
            with contextlib.suppress(HostFault):  # it is silent then, which means safe caps
                self._start()

    def windows(self, name: str, t_s: float, *, has_p99: bool = True) -> tuple[Window, ...]:
        """The newest of the service, and longer ones where windows leave no gaps."""
        return self._lines.windows(name, t_s, has_p99=has_p99)

    def _start(self) -> None:
        pids = self.pids()
        if not pids:
            raise HostFault(
                f"there is no process of {self.service} to trace",
                at="windows.tracer",
                fix="start the service first",
            )
        self._words = b""
        argv = self._argv(pids)
        try:
            self._task = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # a ^C is the manager's, which then ends it in order
            )
        except OSError as error:  # it went, or is replaced, since it was looked for
            raise HostFault(
                f"{PROGRAM} cannot be started: {error.strerror}",
                at=argv[0],
                fix="see that it is whole, and run the command again",
            ) from None
        self.starts += 1
        assert self._task.stdout is not None  # noqa: S101  # both were asked for
        assert self._task.stderr is not None  # noqa: S101
        os.set_blocking(self._task.stderr.fileno(), False)
        with self._task.stdout as pipe:
            self._lines.take(os.dup(pipe.fileno()))

    def _argv(self, pids: tuple[int, ...]) -> list[str]:
        words = [str(programs.find(PROGRAM)), "--pid", str(pids[0] if pids else 0), "--windows"]
        words += ["--bound", f"{round(self.target_ns)}ns", "--duration", LONGEST]
        words += ["--all"] if self.cost == ALL else ["--cost", self.cost]
        return [*words, *(word for port in self.ports for word in ("--port", str(port)))]

    def _hear(self) -> None:
        """What it says on its standard error, the end of it."""
        if self._task is None or self._task.stderr is None:
            return
        with contextlib.suppress(OSError):
            part = os.read(self._task.stderr.fileno(), PART_BYTES)
            self._words = (self._words + part)[-WORDS_BYTES:]

    def _has_begun(self) -> bool:
        self._hear()
        return any(line.startswith(BEGUN) for line in self._words.split(b"\n")[:-1])

    def _wait(self, longest_s: float) -> None:
        if self._task is not None and self._task.stderr is not None:
            select.select([self._task.stderr], [], [], longest_s)


def first(pids: tuple[int, ...], parent_of: Callable[[int], int]) -> tuple[int, ...]:
    """The same processes, those first that none of the others started.

    >>> first((7, 5, 9), {5: 1, 7: 5, 9: 7}.__getitem__)
    (5, 7, 9)
    """
    return tuple(sorted(pids, key=lambda pid: (parent_of(pid) in pids, pid)))
