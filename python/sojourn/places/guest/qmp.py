"""QEMU's monitor (QMP): its guest's state saved to a file, or loaded from one.

Each answer is one line of JSON within a deadline. A file is handed over as an open handle, so that
a QEMU that has become another user needs no right to open it.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

SOCKET = "qmp"  # in the guest's folder
ANSWER_S_MAX = 10.0
STATE_S_MAX = 60.0  # to save or load a state, on a machine that others use as well
LINE_BYTES_MAX = 1 << 20
POLL_S = 0.01
HANDLE = "state"
FAILED, COMPLETED = "failed", "completed"


class MonitorError(Exception):
    """QEMU did not answer, or answered that it could not."""


class Monitor:
    """A connection to one QEMU's monitor."""

    def __init__(self, at: Path) -> None:
        """Connect to the socket in a guest's folder, and be greeted.

        Raises:
            MonitorError: QEMU does not answer there.
        """
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(ANSWER_S_MAX)
        self._text = b""
        try:
            self._connect(at / SOCKET)
            self._line(time.monotonic() + ANSWER_S_MAX)  # the greeting
            self.ask("qmp_capabilities")
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _connect(self, path: Path) -> None:
        until = time.monotonic() + ANSWER_S_MAX
        while True:
            try:
                self._socket.connect(str(path))
            except OSError as error:  # QEMU has just been started
                if time.monotonic() > until:
                    raise MonitorError(f"no answer at its monitor: {error.strerror}") from None
                time.sleep(POLL_S)
            else:
                return

    def ask(self, verb: str, *, handle: int | None = None, **words: object) -> Mapping[str, Any]:
        """Ask for something, perhaps with an open file; what it returned.

        Raises:
            MonitorError: it refused, or did not answer in time.
        """
        line = json.dumps({"execute": verb, "arguments": words}).encode() + b"\n"
        until = time.monotonic() + ANSWER_S_MAX
        try:
            if handle is None:
                self._socket.sendall(line)
            else:
                socket.send_fds(self._socket, [line], [handle])
        except OSError as error:
            raise MonitorError(f"its monitor is closed: {error.strerror}") from None
        while True:
            answer = self._line(until)
            if "error" in answer:
                refusal = answer["error"]
                text = refusal.get("desc") if isinstance(refusal, dict) else refusal
                raise MonitorError(f"{verb}: {text}")
            if "return" in answer:  # all else are events
                result = answer["return"]
                return result if isinstance(result, dict) else {}

    def _line(self, until: float) -> Mapping[str, Any]:
        while b"\n" not in self._text:
            left = until - time.monotonic()
            if left <= 0 or len(self._text) > LINE_BYTES_MAX:
                raise MonitorError("no answer from its monitor")
            self._socket.settimeout(left)
            try:
                part = self._socket.recv(65_536)
            except OSError:
                continue
            if not part:
                raise MonitorError("it has ended")
            self._text += part
        line, _, self._text = self._text.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            raise MonitorError("an answer that is no JSON") from None
        if not isinstance(answer, dict):
            raise MonitorError("an answer of another form")
        return answer

    def save(self, path: Path) -> None:
        """Save the guest's state to a new file; the guest stops for it, and goes on.

        Raises:
            MonitorError: QEMU refused, or took too long.
            OSError: the file cannot be made.
        """
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            self.ask("stop")
            self.ask("migrate-set-parameters", **{"max-bandwidth": 1 << 34})
            self.ask("getfd", handle=handle, fdname=HANDLE)
            self.ask("migrate", uri=f"fd:{HANDLE}")
            self._await("query-migrate", COMPLETED)
        finally:
            os.close(handle)
            self.ask("cont")

    def load(self, path: Path) -> None:
        """Load a state into a QEMU that waits for one, and let the guest go on.

        Raises:
            MonitorError: the state is not this QEMU's, or it took too long.
            OSError: the file cannot be read.
        """
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.ask("getfd", handle=handle, fdname=HANDLE)
            self.ask("migrate-incoming", uri=f"fd:{HANDLE}")
            self._await("query-migrate", COMPLETED)
        finally:
            os.close(handle)
        self.ask("cont")

    def _await(self, question: str, wanted: str) -> None:
        until = time.monotonic() + STATE_S_MAX
        while (status := self.ask(question).get("status")) != wanted:
            if status == FAILED:
                raise MonitorError("its state cannot be saved or loaded")
            if time.monotonic() > until:
                raise MonitorError(f"its state took more than {STATE_S_MAX:.0f} s")
            time.sleep(POLL_S)
