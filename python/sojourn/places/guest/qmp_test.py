"""QEMU's monitor, played by a thread at the other end of a real socket."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sojourn.places.guest import qmp
from sojourn.places.guest.qmp import Monitor, MonitorError

GREETING = {"QMP": {"version": {"qemu": {"major": 7, "minor": 2, "micro": 22}}}}


class FakeMonitor:
    """Answers as QEMU 7.2 does, and notes what it was asked."""

    def __init__(self, folder: Path, statuses: tuple[str, ...], state: bytes = b"") -> None:
        self.asked: list[str] = []
        self.read = b""
        self._statuses, self._state = list(statuses), state
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(folder / qmp.SOCKET))
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        handles: list[int] = []
        with connection:
            connection.sendall(json.dumps(GREETING).encode() + b"\r\n")
            while data := self._received(connection, handles):
                for line in data.splitlines():
                    connection.sendall(json.dumps(self._answer(line, handles)).encode() + b"\r\n")
        for handle in handles:
            os.close(handle)

    def _received(self, connection: socket.socket, handles: list[int]) -> bytes:
        try:
            data, fds, _, _ = socket.recv_fds(connection, 4096, 1)
        except OSError:
            return b""
        handles += fds
        return data

    def _answer(self, line: bytes, handles: list[int]) -> dict[str, object]:
        verb = json.loads(line)["execute"]
        self.asked.append(verb)
        if verb == "migrate":
            os.write(handles[0], self._state)
        if verb == "migrate-incoming":
            self.read = os.read(handles[0], 4096)
        if verb == "query-migrate":
            return {"return": {"status": self._statuses.pop(0)}}
        if verb == "refused":
            return {"error": {"class": "GenericError", "desc": "no such thing"}}
        return {"return": {}}

    def close(self) -> None:
        self._socket.close()
        self._thread.join(5)


@contextmanager
def fake(folder: Path, *statuses: str, state: bytes = b"") -> Iterator[FakeMonitor]:
    monitor = FakeMonitor(folder, statuses, state)
    try:
        yield monitor
    finally:
        monitor.close()


def test_a_state_is_saved_through_an_open_file_and_the_guest_goes_on(tmp_path: Path) -> None:
    with (
        fake(tmp_path, "setup", "active", "completed", state=b"RAM") as qemu,
        Monitor(tmp_path) as monitor,
    ):
        monitor.save(tmp_path / "state")
    assert (tmp_path / "state").read_bytes() == b"RAM"
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0
    assert qemu.asked[1] == "stop"
    assert qemu.asked[-1] == "cont"


def test_a_state_is_loaded_before_the_guest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"RAM")
    with fake(tmp_path, "active", "completed") as qemu, Monitor(tmp_path) as monitor:
        monitor.load(tmp_path / "state")
    assert qemu.read == b"RAM"
    assert qemu.asked.index("migrate-incoming") < qemu.asked.index("cont")


def test_a_state_that_is_refused_is_an_error_and_the_guest_does_not_go_on(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"another machine's")
    with (
        fake(tmp_path, "failed") as qemu,
        Monitor(tmp_path) as monitor,
        pytest.raises(MonitorError, match="cannot be saved or loaded"),
    ):
        monitor.load(tmp_path / "state")
    assert "cont" not in qemu.asked


def test_a_refusal_says_what_was_asked_and_why(tmp_path: Path) -> None:
    with (
        fake(tmp_path),
        Monitor(tmp_path) as monitor,
        pytest.raises(MonitorError, match="refused: no such thing"),
    ):
        monitor.ask("refused")


def test_without_a_monitor_there_is_an_end_to_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qmp, "ANSWER_S_MAX", 0.05)
    with pytest.raises(MonitorError, match="no answer"):
        Monitor(tmp_path)
