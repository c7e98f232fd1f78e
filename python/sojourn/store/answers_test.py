"""A text of a record is read only while nothing has changed it follows from."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn.store import answers
from sojourn.store.answers import Texts


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "record"
    (path / "points" / "0001-a").mkdir(parents=True)
    (path / "figures").mkdir()
    for name in ("manifest.json", "report.html", "figures/a.csv", "points/0001-a/load.json"):
        (path / name).write_text(f"of {name}")
    return path


def test_a_text_is_read_as_it_was_kept(record: Path) -> None:
    texts = Texts(record)
    assert texts.load("text 80") is None
    texts.keep("text 80", "p99 ≤ 1 ms \udcff\n")
    assert Texts(record).load("text 80") == "p99 ≤ 1 ms \udcff\n"
    assert Texts(record).load("text 100") is None


def rewritten(path: Path) -> None:
    """Another content of the same size, with the times of before."""
    file = path / "points" / "0001-a" / "load.json"
    before = file.stat()
    file.write_text(file.read_text()[::-1])
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "written anew": rewritten,
    "a new file": lambda path: (path / "points" / "0001-a" / "summary.json").write_text("{}"),
    "a file less": lambda path: (path / "points" / "0001-a" / "load.json").unlink(),
    "renamed": lambda path: (path / "points" / "0001-a").rename(path / "points" / "0002-a"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_of_a_file_is_seen(record: Path, change: str) -> None:
    Texts(record).keep("json", "{}")
    assert Texts(record).load("json") == "{}"
    CHANGES[change](record)
    assert Texts(record).load("json") is None


def test_a_copy_is_another_record_and_what_a_report_writes_changes_none(record: Path) -> None:
    Texts(record).keep("json", "{}")
    (record / "report.html").write_text("anew")
    (record / "answer.json").write_text("anew")
    (record / "figures" / "b.csv").write_text("anew")
    assert Texts(record).load("json") == "{}"
    record.rename(record.with_name("other"))
    assert Texts(record.with_name("other")).load("json") is None


def test_what_changed_while_it_was_computed_is_not_kept(record: Path) -> None:
    texts = Texts(record)
    rewritten(record)
    texts.keep("json", "of before")
    assert texts.load("json") is None
    assert Texts(record).load("json") is None


def test_a_change_in_the_same_tick_of_the_clock_is_not_taken_for_none(
    record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that stands still cannot tell what was written before from what came after."""
    newest = max(file.stat().st_ctime_ns for file in record.rglob("*"))
    monkeypatch.setattr("time.time_ns", lambda: newest + answers.TICK_NS // 2)
    texts = Texts(record)
    texts.keep("json", "{}")
    assert texts.load("json") is None


def test_other_code_computes_anew(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Texts(record).keep("json", "{}")
    monkeypatch.setattr(answers, "code", lambda: "of tomorrow")
    assert Texts(record).load("json") is None


def test_the_code_is_known_by_each_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "sojourn" / "store" / "answers.py"
    file.parent.mkdir(parents=True)
    file.write_text("x = 1")
    monkeypatch.setattr(answers, "__file__", str(file))
    names = set()
    for change in ("x = 1", "x = 2", "x = 33"):
        file.write_text(change)
        names.add(answers.code.__wrapped__())
    (file.parents[1] / "page.j2").write_text("")
    names.add(answers.code.__wrapped__())
    assert len(names) == 4
