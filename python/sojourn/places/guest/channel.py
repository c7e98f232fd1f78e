"""How the lab speaks with the agent of a guest: lines, over two pipes to QEMU.

Both pipes are there before QEMU is, and the lab holds them open, so that no word is lost: not what
the guest says early, nor what it reported last when QEMU has ended.
"""

from __future__ import annotations

import os
import select
import time
from pathlib import Path

NAME = "agent"  # QEMU puts .in and .out behind it, as it sees them
PART = 65_536
LINE_BYTES_MAX = 65_536
DATA_BYTES_MAX = 64 * 1024**2


class Channel:
    """The lab's ends of both pipes."""

    def __init__(self, folder: Path) -> None:
        """Make the pipes in a folder; OSError if refused."""
        self.path = folder / NAME
        ends = [folder / f"{NAME}.{way}" for way in ("in", "out")]
        for end in ends:
            os.mkfifo(end, 0o600)
        # Read and write, so that opening waits for no one and the end is never "end of file".
        self._to, self._from = (
            os.open(end, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC) for end in ends
        )
        self._heard = b""

    def close(self) -> None:
        """Let go of both; it can be closed again."""
        for handle in (self._to, self._from):
            if handle >= 0:
                os.close(handle)
        self._to = self._from = -1

    def say(self, line: str) -> bool:
        """Say a line; whether the pipe took it."""
        if self._to < 0:
            return False
        try:
            return os.write(self._to, f"{line}\n".encode()) > 0
        except BlockingIOError:
            return False

    def line(self, within_s: float = 0.0) -> str | None:
        """The next whole line; None if there is none within the time."""
        end = time.monotonic() + within_s
        while b"\n" not in self._heard:
            if len(self._heard) > LINE_BYTES_MAX:  # the agent says no such line: it is another
                self._heard = b""
            if not self._read(max(0.0, end - time.monotonic())):
                return None
        line, _, self._heard = self._heard.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")

    def data(self, size: int, within_s: float) -> bytes | None:
        """The next bytes as they are; None if they do not come in time, or are too many to keep."""
        if size > DATA_BYTES_MAX:
            return None
        end = time.monotonic() + within_s
        while len(self._heard) < size:
            if not self._read(max(0.0, end - time.monotonic())):
                return None
        data, self._heard = self._heard[:size], self._heard[size:]
        return data

    def _read(self, within_s: float) -> bool:
        if self._from < 0 or not select.select([self._from], [], [], within_s)[0]:
            return False
        try:
            self._heard += os.read(self._from, PART)
        except BlockingIOError:
            return False
        return True
