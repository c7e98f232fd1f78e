"""Lines between an agent and the program that holds a service for it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import signal
import sys
import threading
from dataclasses import dataclass, field
from typing import Any

from sojourn.errors import Fault, RunFault
from sojourn.units import show_s

NEXT_S = 3600.0  # until the driver asks for something: it may measure elsewhere meanwhile


class Ears:
    """Lines that were heard, with a file that is readable while there are any."""

    def __init__(self) -> None:
        self._count = os.eventfd(0, os.EFD_SEMAPHORE | os.EFD_CLOEXEC)  # of lines: it never fills
        self._lines: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        threading.Thread(target=self._listen, name="ears", daemon=True).start()

    def _listen(self) -> None:
        try:
            for line in sys.stdin.buffer:
                with contextlib.suppress(ValueError):  # half a line, of an agent that was killed
                    self._lines.put(json.loads(line))
                    os.eventfd_write(self._count, 1)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)  # the main thread ends in order, wherever it is

    def fileno(self) -> int:
        """The descriptor that is readable once a message came."""
        return self._count

    def line(self, within_s: float = NEXT_S) -> dict[str, Any]:
        """The next line, when it comes.

        Raises:
            RunFault: none came in time, as from a driver that hangs.
        """
        if not select.select([self._count], [], [], within_s)[0]:
            raise silent(within_s)
        os.eventfd_read(self._count)
        return self._lines.get()


@dataclass(slots=True)
class Mouth:
    """Where lines go; programs and libraries that print do not reach it."""

    _file: int = field(default_factory=lambda: os.dup(1))

    def say(self, what: str, **more: Any) -> None:
        """Write one message to the agent, as a line of JSON."""
        line = json.dumps({"say": what, **more}).encode() + b"\n"
        while line:
            line = line[os.write(self._file, line) :]

    def fault(self, what: str, fault: Fault, **more: Any) -> None:
        """Say that something went wrong."""
        self.say(what, fault=plain(fault), **more)


def silent(length_s: float) -> RunFault:
    """The driver is there, and says nothing."""
    return RunFault(
        f"the driver has sent nothing for {show_s(length_s)}",
        at="hosts",
        fix="see whether it is stopped or its host is; then run the study again: it resumes",
    )


def plain(fault: Fault) -> dict[str, str]:
    """A fault as it is handed over; its kind is the name of its class."""
    kind = type(fault).__name__
    return {"kind": kind, "what": fault.what, "at": fault.at, "fix": fault.fix}
