"""The manager's side of its warden: starts it, sends heartbeats, hears it."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from sojourn.errors import RunFault
from sojourn.manage.notes import Step
from sojourn.places import proc
from sojourn.places.ledger import WARDEN, Book

SCRIPT = Path(__file__).with_name("warden.py")
READY_S, END_S = 5.0, 2.0
HEARD_BYTES = 1 << 16  # all that it said in a long pause
CAPPED = b"c"
GONE = "gone"  # it died, or it is stopped
UNANSWERED = 3  # heartbeats at least: a manager that was paused itself has sent only one


class Guard:
    """One warden, from start to end.

    It is noted before it knows the caps. So `restore` ends it, and nothing is capped later.
    """

    def __init__(self, caps: Sequence[Step], paused_s: float, book: Book) -> None:
        """Start it; RunFault if it does not answer, or cannot be noted."""
        own, others = socket.socketpair()
        try:
            with others:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(SCRIPT), str(others.fileno())],
                    pass_fds=[others.fileno()],
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                )
        except OSError as error:
            own.close()
            raise RunFault(
                f"the manager's warden cannot be started: {error.strerror}",
                at=sys.executable,
                fix="see that Python is whole, and run the command again; nothing was set",
            ) from None
        self._mine, self._book = own, book
        line = json.dumps({"caps": [list(step) for step in caps], "paused_s": paused_s})
        self._mine.settimeout(READY_S)
        is_ready = False
        try:
            self._entry = book.note(
                WARDEN,
                what="the manager's warden",
                pid=self.pid,
                start_ticks=started.start_ticks if (started := proc.stat(self.pid)) else 0,
            )
            with contextlib.suppress(OSError):
                self._mine.sendall(line.encode() + b"\n")
                is_ready = self._mine.recv(1) == b"r"
        finally:
            if not is_ready:  # it must not cap what was never taken
                self._kill()
                self._mine.close()
        if not is_ready:
            book.undone(self._entry)
            raise RunFault(
                "the manager's warden does not answer",
                at=str(SCRIPT),
                fix="run the command again; nothing was set",
            )
        self._mine.settimeout(0)
        self._paused_s = paused_s
        self._heard_s, self._unanswered = time.monotonic(), 0

    @property
    def pid(self) -> int:
        """Number of the warden's process."""
        return self._process.pid

    def beat(self) -> str:
        """Send a heartbeat: "": all is well; "capped": it had to act; "gone": it died.

        One that answers none for `paused_s` is stopped, and counts as gone too.
        """
        try:
            self._mine.send(b".")
            heard = self._mine.recv(HEARD_BYTES)
        except BlockingIOError:
            self._unanswered += 1
            is_late = time.monotonic() - self._heard_s > self._paused_s
            return GONE if is_late and self._unanswered >= UNANSWERED else ""
        except OSError:
            return GONE
        self._heard_s, self._unanswered = time.monotonic(), 0
        if not heard:
            return GONE
        return "capped" if CAPPED in heard else ""

    def end(self) -> None:
        """It ends without setting anything."""
        with contextlib.suppress(OSError):
            self._mine.send(b"q")
        if self._unanswered >= UNANSWERED:  # it is stopped, and would not end
            self._kill()
        self._wait()

    def leave(self) -> None:
        """It sets the caps and ends."""
        self._mine.close()
        self._wait()  # also for one that is late with its answers: it may need a CPU for the caps

    def _wait(self) -> None:
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._kill()
        self._mine.close()
        with contextlib.suppress(RunFault):  # `restore` finds nothing of it
            self._book.undone(self._entry)

    def _kill(self) -> None:
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # a frozen one ends when it is thawed
            self._process.wait(END_S)
