"""The warden names what it cannot set, and writes again while it must."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sojourn.errors import RunFault
from sojourn.knobs.testing import MemoryBook
from sojourn.manage import warden
from sojourn.manage.guard import Guard
from sojourn.manage.pair import Pair
from sojourn.manage.testing import until

CAP_SYS_RESOURCE = 24  # include/uapi/linux/capability.h


def test_caps_that_are_refused_are_named_and_groups_that_are_gone_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(warden, "CAP_S", 0.05)
    (tmp_path / "good").touch()
    caps = [(str(tmp_path / name), "5") for name in ("good", "gone", "")]  # the last is a folder
    refused = warden.cap(caps)
    assert refused == [caps[2]]
    assert (tmp_path / "good").read_text() == "5"
    warden.report(refused)
    assert capsys.readouterr().err == f"sojourn: the safe cap 5 of {caps[2][0]} was refused\n"


def test_while_the_manager_is_paused_caps_are_written_again(tmp_path: Path) -> None:
    """Somebody may make the group anew meanwhile, or the kernel may have refused the cap."""
    path = tmp_path / "quota"
    path.write_text("9")
    guard = Guard([(str(path), "5")], 0.2, MemoryBook())
    with contextlib.ExitStack() as stack:
        stack.callback(guard.end)
        for _ in range(3):
            assert until(lambda: path.read_text() == "5"), "it caps again"
            path.write_text("9")
        assert until(lambda: path.read_text() == "5")
        assert guard.beat() == "capped"
        assert until(lambda: guard.beat() == "")


def test_a_manager_that_wakes_while_caps_are_written_knows_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may see the caps before they are all there, and must not take them for somebody else's."""
    mine, others = socket.socketpair()
    order: list[str] = []

    def cap(_caps: list[tuple[str, str]]) -> list[tuple[str, str]]:
        order.append(mine.recv(10).decode())
        mine.send(b"q")
        return []

    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(warden, "cap", cap)
    with mine:
        mine.sendall(json.dumps({"caps": [], "paused_s": 0.01}).encode() + b"\n")
        warden.main(others.detach())
        assert order == ["rc"]
        assert mine.recv(10) == b"c", "what was written meanwhile is reported as well"


def test_a_warden_that_cannot_be_started_is_a_fault_and_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(RunFault, match="warden cannot be started") as refused:
        Guard([(str(tmp_path / "quota"), "5")], 0.2, MemoryBook())
    assert str(tmp_path) in refused.value.at
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_warden_that_cannot_be_killed_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that is frozen: it ends when it is thawed."""
    monkeypatch.setattr("sojourn.manage.guard.END_S", 0.1)
    guard = Guard([(str(tmp_path / "quota"), "5")], 60.0, MemoryBook())
    os.kill(guard.pid, signal.SIGSTOP)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(subprocess.Popen, "kill", lambda _self: None)
            guard.end()
    finally:
        os.kill(guard.pid, signal.SIGKILL)
    assert guard._process.wait(20) == -signal.SIGKILL


def test_a_warden_that_is_stopped_counts_as_gone(tmp_path: Path) -> None:
    guard = Guard([(str(tmp_path / "quota"), "5")], 1.0, MemoryBook())
    try:
        assert {guard.beat() for _ in range(2000)} == {""}
        os.kill(guard.pid, signal.SIGSTOP)
        began_s = time.monotonic()
        assert until(lambda: guard.beat() == "gone")
        assert time.monotonic() - began_s >= 0.9, "a warden that waits for a CPU is not stopped"
    finally:
        os.kill(guard.pid, signal.SIGKILL)
        guard.end()


def test_a_manager_that_was_paused_does_not_take_its_warden_for_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both may have been, as in a virtual machine. The warden answers a moment later."""
    guard = Guard([(str(tmp_path / "quota"), "5")], 60.0, MemoryBook())
    with contextlib.ExitStack() as stack:
        stack.callback(guard.end)
        stack.callback(os.kill, guard.pid, signal.SIGCONT)
        os.kill(guard.pid, signal.SIGSTOP)
        assert until(lambda: is_stopped(guard.pid))
        after_s = time.monotonic() + 100.0
        monkeypatch.setattr("sojourn.manage.guard.time.monotonic", lambda: after_s)
        assert [guard.beat() for _ in range(3)] == ["", "", "gone"]
        os.kill(guard.pid, signal.SIGCONT)
        monkeypatch.undo()
        assert until(lambda: guard.beat() == "" and guard._unanswered == 0)


def is_stopped(pid: int) -> bool:
    """Whether a process is in state T."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_a_kill_of_one_warden_leaves_the_other_which_caps_when_the_manager_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else can set a cap where manager and warden are killed at once."""
    monkeypatch.setattr("sojourn.manage.guard.END_S", 20.0)
    path = tmp_path / "quota"
    path.write_text("9")
    pair = Pair([(str(path), "5")], 60.0, MemoryBook())
    assert pair.beat() == ""
    os.kill(pair.pids[0], signal.SIGKILL)
    assert until(lambda: pair.beat() == "gone")
    assert path.read_text() == "9", "the manager is still there"
    pair._ones[1]._unanswered = 9  # as where it had no CPU for a while
    pair.leave()
    assert path.read_text() == "5"


def test_of_two_wardens_none_is_left_where_one_cannot_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ones: list[Guard] = []

    def guard(caps: list[tuple[str, str]], paused_s: float, book: MemoryBook) -> Guard:
        if ones:
            raise RunFault("no", at="", fix="")
        ones.append(Guard(caps, paused_s, book))
        return ones[0]

    monkeypatch.setattr("sojourn.manage.pair.Guard", guard)
    (tmp_path / "quota").write_text("9")
    with pytest.raises(RunFault, match="no"):
        Pair([(str(tmp_path / "quota"), "5")], 60.0, MemoryBook())
    assert ones[0]._process.poll() is not None
    assert (tmp_path / "quota").read_text() == "9", "it has set nothing"


def test_a_warden_asks_the_kernel_to_spare_it_and_goes_on_without_that_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warden, "OOM", str(tmp_path / "score"))
    warden.spare()
    assert (tmp_path / "score").read_text() == "-1000"
    monkeypatch.setattr(warden, "OOM", str(tmp_path))  # refused, as without CAP_SYS_RESOURCE
    warden.spare()


def has_resource() -> bool:
    """Whether this process may have less than others to fear where memory is short."""
    line = re.search(r"CapEff:\s*(\w+)", Path("/proc/self/status").read_text())
    return line is not None and bool(int(line[1], 16) >> CAP_SYS_RESOURCE & 1)


@pytest.mark.skipif(not has_resource(), reason="needs CAP_SYS_RESOURCE")
def test_the_kernel_kills_others_first_where_memory_is_short(tmp_path: Path) -> None:
    pair = Pair([(str(tmp_path / "quota"), "5")], 60.0, MemoryBook())
    try:
        scores = [Path(f"/proc/{pid}/oom_score_adj").read_text().strip() for pid in pair.pids]
    finally:
        pair.end()
    assert scores == ["-1000"] * 2


def test_a_warden_that_does_not_answer_is_a_fault_and_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not cap what was never taken."""
    silent = tmp_path / "silent.py"
    silent.write_text("import time\ntime.sleep(600)\n")
    monkeypatch.setattr("sojourn.manage.guard.SCRIPT", silent)
    monkeypatch.setattr("sojourn.manage.guard.READY_S", 0.2)
    book = MemoryBook()
    with pytest.raises(RunFault, match="does not answer"):
        Guard([(str(tmp_path / "quota"), "5")], 60.0, book)
    assert book.count == 1, "it was noted before it knew the caps"
    assert not book.open


def test_one_warden_that_is_gone_counts_more_than_caps_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair([(str(tmp_path / "quota"), "5")], 60.0, MemoryBook())
    try:
        with monkeypatch.context() as patch:
            says = {pair.pids[0]: "capped", pair.pids[1]: "gone"}
            patch.setattr(Guard, "beat", lambda one: says[one.pid])
            assert pair.beat() == "gone"
    finally:
        pair.end()
