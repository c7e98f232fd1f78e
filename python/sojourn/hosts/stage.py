"""The agent's hand on `sojourn.stage`, which does all of a point but its load.

It is a process of its own, so that signals end it in order. It hears lines of JSON and says some.
When its input ends, it ends everything that it started; so the agent's death ends it as well.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn import disk
from sojourn.hosts import answers
from sojourn.hosts.answers import FILE_BYTES, WRONG
from sojourn.hosts.engine import LostError
from sojourn.places import proc
from sojourn.run.journal import Journal

PROGRAM = "sojourn.stage"
FIRST_S_MAX = 8.0  # for its first line, which may be longer than a pipe holds: it starts meanwhile
TELL_S_MAX = 2.0  # for each other; less than the lease of a driver
ORDER_S = 1.0  # for its end in order, when the driver is silent; wardens end the rest with it
LINES_MAX = 10_000  # that it says before it is asked
FILE_BYTES_MAX, FILES_MAX = 1 << 28, 256
OWN = ("load.", "point.json", "run.json", "outcome.parquet", "hosts.json")  # of the driver alone


class StageProgram:
    """One stage, from its start to its end."""

    def __init__(self, message: Mapping[str, Any]) -> None:
        """Start it; `message` is the first that it hears.

        Raises:
            OSError, RunFault: it cannot be started, or not be noted.
        """
        self._journal = Journal.create()
        self._turn = threading.Lock()  # of those who write to it, or close its input
        self._lines: deque[dict[str, Any]] = deque(maxlen=LINES_MAX)
        self._folders: list[Path] = []
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except BaseException:
            self._journal.close()
            raise
        stat = proc.stat(self._process.pid)
        self._entry = self._journal.started(
            "stage", self._process.pid, stat.start_ticks if stat else 0
        )
        self._reader = threading.Thread(target=self._read, name="stage", daemon=True)
        self._reader.start()
        assert self._process.stdin is not None  # noqa: S101  # a pipe
        os.set_blocking(self._process.stdin.fileno(), False)
        self.tell(message, FIRST_S_MAX)

    def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101  # a pipe
        for line in self._process.stdout:
            with contextlib.suppress(LostError, *WRONG):
                reply = answers.table(json.loads(line))
                if reply.get("say") == "done":
                    self._folders = [Path(one) for one in reply.pop("folders")]
                self._lines.append(reply)
        code = self._process.wait()
        self._lines.append({"say": "ended", "code": code})

    def tell(self, message: Mapping[str, Any], within_s: float = TELL_S_MAX) -> None:
        """Say a line to it; one that has ended hears nothing, and `heard` says so.

        One that does not read it in time hangs, and is killed: who waited for it could not end it.
        """
        rest, until_s = json.dumps(message).encode() + b"\n", time.monotonic() + within_s
        with self._turn, contextlib.suppress(OSError, ValueError):
            assert self._process.stdin is not None  # noqa: S101  # a pipe
            handle = self._process.stdin.fileno()  # past its buffer, which a full pipe would lock
            while rest:
                try:
                    rest = rest[os.write(handle, rest) :]
                except BlockingIOError:
                    left_s = until_s - time.monotonic()
                    if left_s <= 0:
                        self._kill()
                        return
                    select.select([], [handle], [], left_s)

    def _kill(self) -> None:
        if self._process.poll() is None:  # else its number may be another's
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def heard(self) -> list[dict[str, Any]]:
        """Its lines since this was asked last."""
        result = []
        while self._lines:
            result.append(self._lines.popleft())
        return result

    def files(self) -> list[dict[str, bytes]]:
        """What the last point left in each of its folders, but for what is the driver's."""
        result: list[dict[str, bytes]] = []
        for folder in self._folders:
            room = FILE_BYTES - sum(len(one) for files in result for one in files.values())
            result.append(_files(folder, room))
        return result

    def end(self, within_s: float) -> None:
        """End it in order, or else at once: then wardens end what it started."""
        with self._turn, contextlib.suppress(OSError, ValueError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        if self._ended(within_s):
            return
        self._kill()
        self._ended(ORDER_S)

    def _ended(self, within_s: float) -> bool:
        try:
            self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            return False
        self._reader.join(within_s)
        if self._process.stdout is not None and not self._reader.is_alive():
            self._process.stdout.close()
        self._journal.undone(self._entry)
        self._journal.close()
        return True


def _files(folder: Path, room: int) -> dict[str, bytes]:
    """Files of a folder, as many as there is room for: the driver takes no more."""
    result = {}
    for path in sorted(folder.iterdir())[:FILES_MAX]:
        if path.is_file() and not path.is_symlink() and not path.name.startswith(OWN):
            with contextlib.suppress(OSError, ValueError):
                content = disk.read_bytes(path, most=min(room, FILE_BYTES_MAX))
                result[path.name], room = content, room - len(content)
    return result
