"""What somebody plants in a server's folder leads nowhere: links, hard links, pipes, folders."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn.errors import RunFault
from sojourn.places import process, process_end, server_files
from sojourn.places.hidden import Hidden

PRECIOUS = "root:x:0:0"


@pytest.fixture(name="victim")
def _victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text(PRECIOUS)
    return path


@pytest.fixture(name="log")
def _log(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    return work / "service.log"


def link(log: Path, victim: Path) -> None:
    log.symlink_to(victim)


def second_name(log: Path, victim: Path) -> None:
    log.hardlink_to(victim)


def folder(log: Path, victim: Path) -> None:
    elsewhere = victim.parent / "elsewhere"
    elsewhere.mkdir()
    victim.rename(elsewhere / log.name)
    log.parent.rmdir()
    log.parent.symlink_to(elsewhere)
    victim.symlink_to(elsewhere / log.name)


def pipe(log: Path, victim: Path) -> None:
    del victim
    os.mkfifo(log)


@pytest.mark.parametrize("plant", [link, second_name, folder, pipe])
def test_nothing_is_written_or_read_through_what_was_planted(
    plant: Callable[[Path, Path], None], log: Path, victim: Path, tmp_path: Path
) -> None:
    plant(log, victim)
    assert process_end.last_words(log) == ""
    with pytest.raises(OSError, match=r"service\.log|work"):
        server_files.keep(log, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    with pytest.raises(RunFault) as caught:
        start(log)
    assert str(log) in caught.value.at
    if plant is folder:
        with pytest.raises(NotADirectoryError):
            server_files.write(log, "own")
        with contextlib.suppress(NotADirectoryError):
            server_files.remove(log)
    else:
        server_files.write(log, "own")
        assert log.read_text() == "own"
    assert victim.read_text() == PRECIOUS


def start(log: Path) -> None:
    process.start("x", ["/bin/true"], cwd=log.parent, ledger=UnreadLedger(), log=log).stop()


class UnreadLedger:
    """A ledger that no one reads."""

    def started(self, what: str, pid: int, start_ticks: int) -> int:
        return 0

    def undone(self, entry: int) -> None:
        pass


def test_a_log_is_appended_to_and_an_empty_one_is_not_kept(log: Path, tmp_path: Path) -> None:
    start(log)
    server_files.keep(log, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    for _ in range(2):
        words = ["/bin/echo", "again"]
        process.start("x", words, cwd=log.parent, ledger=UnreadLedger(), log=log).poll(20.0)
    server_files.keep(log, tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == "again\nagain\n"
    server_files.remove(log)
    server_files.remove(log)
    assert not log.exists()


def test_of_a_log_without_end_both_ends_are_copied(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_files, "COPIED_BYTES", 20)
    log.write_bytes(b"begins 1234 and then ends here")
    server_files.keep(log, tmp_path / "copy")
    mark = b"\n[10 bytes are left out here]\n"
    assert (tmp_path / "copy").read_bytes() == b"begins 123" + mark + b" ends here"
    log.write_bytes(b"x" * 20)
    server_files.keep(log, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"x" * 20


class Growing(io.BytesIO):
    """A log to which somebody writes once its end was looked for."""

    def tell(self) -> int:
        end = super().tell()
        self.write(b"y" * 5000)
        return end


def test_last_words_have_a_bound_also_where_a_log_grows_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log").write_text("x")

    def opened(handle: int, _mode: str) -> io.BytesIO:
        os.close(handle)
        return Growing(b"x" * 100)

    monkeypatch.setattr(os, "fdopen", opened)
    text = process_end.last_words(tmp_path / "log")
    assert 100 < len(text) <= process_end.LAST_WORDS_BYTES


PRINTED = "hunter2-very-secret"


@pytest.mark.parametrize("before", range(len(PRINTED) + 2))
@pytest.mark.parametrize("size", [40, 1000])
def test_no_copy_and_no_last_words_have_a_secret_or_a_part_of_it(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int, size: int
) -> None:
    """Wherever it is: across two pieces, where a long log is cut, where its end begins."""
    monkeypatch.setattr(server_files, "_PIECE_BYTES", 32)
    monkeypatch.setattr(server_files, "COPIED_BYTES", 200)
    monkeypatch.setattr(process_end, "LAST_WORDS_BYTES", 100)
    hidden = Hidden([PRINTED, "a"])
    log.write_text("." * before + f"{PRINTED}-" * (size // 20))
    server_files.keep(log, tmp_path / "copy", hidden)
    copy, words = (tmp_path / "copy").read_text(), process_end.last_words(log, hidden=hidden)
    for text in (copy, words):
        assert {*text.replace("bytes are left out here", "")} <= {*".-*[] \n0123456789"}
        assert "*" in text
    assert copy.startswith("." * before + "*")
    assert words.endswith("***-")


def test_a_copy_without_secrets_is_the_file(log: Path, tmp_path: Path) -> None:
    text = os.urandom(3 << 20)
    log.write_bytes(text)
    server_files.keep(log, tmp_path / "copy", Hidden(["hunter2-very-secret"]))
    assert (tmp_path / "copy").read_bytes() == text
