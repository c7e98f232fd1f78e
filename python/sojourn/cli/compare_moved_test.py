"""What moved between traced records: which traces pair, and what is shown."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from sojourn import programs, store
from sojourn.analysis import moved_stages
from sojourn.analysis.moved_stages import Trace
from sojourn.cli.app import main
from sojourn.errors import Exit
from sojourn.plan.points import Phase

GOLDEN = Path(__file__).parents[1] / "store" / "golden" / "record-1.tar.xz"
PART = {
    "name": "wait_\x1b[2Jlock<b>|",
    "cause": "waiting",
    "first_ns": 1000.0,
    "second_ns": 51_000.0,
    "change_ns": 50_000.0,
    "low_ns": 40_000.0,
    "high_ns": None,
    "p": 0.001,
    "has_moved": True,
}
SMALL = {**PART, "name": "tcp", "second_ns": 1001.0, "change_ns": 1.0, "has_moved": False}
TOTAL = {**PART, "name": "total", "low_ns": -40_000.0, "high_ns": 60_000.0, "has_moved": False}
TABLE = {"q": 0.99, "requests": [9, 9], "total": TOTAL, "parts": [PART, SMALL], "causes": []}
RESULT = {"answer": "the tail moved", "mean": TABLE, "tail": TABLE, "culprits": None}


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    """Two copies of a record in which a service was traced."""
    with tarfile.open(GOLDEN) as packed:
        packed.extractall(tmp_path)  # noqa: S202 - our own; Python 3.11.2 knows no filters
    first = store.resolve(tmp_path, None)
    second = first.with_name(f"{first.name}-again")
    shutil.copytree(first, second)
    return [first, second]


def stands_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """A program in the place of the tracer; it lists the files that it is given."""
    program, given = tmp_path / "tracer", tmp_path / "given"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {given}\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setattr(programs, "maybe", lambda _: program)
    return given


def test_traces_of_one_setting_are_paired_by_their_repeats(
    two: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "answer").write_text(json.dumps(RESULT))
    given = stands_in(tmp_path, monkeypatch, f"cat {tmp_path}/answer")
    every = moved_stages.moved(["A", "B"], [store.read(path) for path in two])
    assert every
    assert all(one.what.startswith("memcached ") for one in every)
    assert all(one.what.endswith("B against A") for one in every)
    for line in given.read_text().splitlines():
        verb, *files, option, out = line.split()
        assert (verb, option, out) == ("diff", "--json", "-")
        assert files
        assert [two[number % 2] in Path(file).parents for number, file in enumerate(files)] == [
            True
        ] * len(files)
        assert [Path(a).parent.name for a in files[::2]] == [
            Path(b).parent.name for b in files[1::2]
        ]
    rows = every[0].rows
    assert rows[0] == ("mean", "total", "1 µs", "51.0 µs", "+50.0 µs", "-40.0 µs to +60.0 µs", "")
    assert rows[1][2:] == ("1 µs", "51.0 µs", "+50.0 µs", "–", "moved")
    assert rows[2][1] == "1 other parts"
    assert len(rows) == 6, "no table by cause"


def test_the_page_and_the_texts_show_it_whatever_it_is_called(
    two: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "answer").write_text(json.dumps(RESULT))
    stands_in(tmp_path, monkeypatch, f"cat {tmp_path}/answer")
    page = tmp_path / "page.html"
    assert main(["compare", *map(str, two), "--html", str(page)]) in {Exit.OK, Exit.UNKNOWN}
    out = capsys.readouterr().out
    assert "the tail moved" in out
    assert "\x1b[2J" not in out
    assert "What moved: memcached" in page.read_text()
    assert "lock<b>" not in page.read_text()
    assert main(["compare", *map(str, two), "--markdown"]) in {Exit.OK, Exit.UNKNOWN}
    assert "| of | stage or cause |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("script", "word"),
    [
        ("echo 'error: the file is no JSON' >&2; exit 2", "the file is no JSON"),
        ("echo '{'", "not known"),
        ("echo '[1]'", "not known"),
        ("echo '{}'", "not known"),
        ("exit 4", "the program failed"),
    ],
)
def test_a_trace_that_cannot_be_compared_says_why(
    script: str, word: str, two: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stands_in(tmp_path, monkeypatch, script)
    every = moved_stages.moved(["A", "B"], [store.read(path) for path in two])
    assert word in every[0].answer
    assert every[0].rows == ()


def test_without_the_tracer_it_says_so_and_without_traces_nothing(
    two: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "maybe", lambda _: None)
    records = [store.read(path) for path in two]
    assert "is not installed" in moved_stages.moved(["A", "B"], records)[0].answer
    for file in two[1].glob("points/*/trace.json"):
        file.unlink()
    assert moved_stages.moved(["A", "B"], [store.read(path) for path in two]) == ()


@pytest.mark.parametrize(("rps", "is_compared"), [(10_050.0, True), (8_000.0, False)])
def test_traces_at_an_equal_share_of_another_max_rps_are_not_compared(
    rps: float, *, is_compared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "answer").write_text(json.dumps(RESULT))
    given = stands_in(tmp_path, monkeypatch, f"cat {tmp_path}/answer")
    monkeypatch.setattr(moved_stages, "_traces", lambda record, _phase: record)
    key = ("memcached", "load 0.7")
    loads = {"a": 10_000.0, "b": rps}
    records = [{key: [Trace(0, tmp_path / name, own)]} for name, own in loads.items()]
    [one] = moved_stages.moved(["A", "B"], records)  # type: ignore[arg-type]
    assert given.exists() is is_compared
    assert ("10.0k requests/s, the other at 8k" in one.answer) is not is_compared


def test_services_in_turn_are_compared_in_the_blocks_that_have_traces_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "answer").write_text(json.dumps(RESULT))
    given = stands_in(tmp_path, monkeypatch, f"cat {tmp_path}/answer")
    monkeypatch.setattr(moved_stages, "_traces", lambda record, _phase: record)

    def traced(name: str, *blocks: int) -> list[Trace]:
        return [Trace(block, tmp_path / f"{name}{block}", 10_000.0) for block in blocks]

    each = {"a": traced("a", 0, 1, 2), "b": traced("b", 1, 2), "c": traced("c", 3)}
    record = {(name, "load 0.7"): of for name, of in each.items()}
    some, none = moved_stages.in_turn(record, Phase.TRACE, "a")  # type: ignore[arg-type]
    [line] = given.read_text().splitlines()
    assert [Path(file).name for file in line.split()[1:-2]] == ["a1", "b1", "a2", "b2"]
    assert (some.what, some.answer) == ("b against a", "the tail moved")
    assert none.answer == "not compared, because no block has valid traces of both"
