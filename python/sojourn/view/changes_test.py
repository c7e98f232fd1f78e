"""What wakes a page that shows a running study, and what does not."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import sys
from pathlib import Path

import pytest

from sojourn import disk
from sojourn.view import changes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs inotify")
IDLE_S = 0.3


@pytest.fixture
def record(tmp_path: Path) -> Path:
    (tmp_path / "points/0009-a").mkdir(parents=True)
    (tmp_path / "points/0010-b").mkdir()
    return tmp_path


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "GATHER_S", 0.0)


def seen(record: Path, *steps: object) -> list[bool]:
    """What is reported, one step before each look."""

    async def looked() -> list[bool]:
        async with contextlib.aclosing(changes.changes(record, idle_s=IDLE_S)) as stream:
            assert await anext(stream), "the first look"
            result = []
            for step in steps:
                waiting = asyncio.ensure_future(anext(stream))
                await asyncio.sleep(0.05)  # it watches by then
                if callable(step):
                    step()
                result.append(await waiting)
            return result

    return asyncio.run(looked())


def test_the_newest_point_is_that_of_the_highest_number(record: Path) -> None:
    (record / "points/x-not-one").mkdir()
    assert changes.newest(record) == record / "points/0010-b"
    assert changes.newest(record / "nothing") is None


def test_whole_files_and_new_points_wake_it(record: Path) -> None:
    newest = record / "points/0010-b"
    assert seen(
        record,
        lambda: disk.write_text(newest / "outcome.parquet", "x"),
        (record / "points/0011-c").mkdir,
        lambda: disk.write_text(record / "points/0011-c/outcome.parquet", "x"),
        lambda: disk.write_text(record / "complete.json", "{}"),
        None,
    ) == [True, True, True, True, False]


def test_of_a_point_only_its_outcome_is_a_change(record: Path) -> None:
    newest = record / "points/0010-b"

    def others() -> None:
        for name in ("load.job.json", "load.json", "host.json", "run.json"):
            disk.write_text(newest / name, "{}")

    stored = [others, lambda: disk.write_text(newest / "outcome.parquet", "x")]
    assert seen(record, *stored) == [False, True]


def test_points_of_before_are_watched_no_longer(record: Path) -> None:
    counts = []

    def begun(number: int) -> None:
        (record / f"points/{number:04d}-x").mkdir()
        counts.append(_watched())

    assert seen(record, *(functools.partial(begun, n) for n in range(11, 16)), None)[:5] == 5 * [1]
    assert len(set(counts)) == 1


def _watched() -> int:
    result = 0
    for path in Path("/proc/self/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the handle by which they are listed
            result += path.read_text("ascii").count("inotify wd:")
    return result


def test_what_the_generator_writes_while_it_runs_wakes_nobody(record: Path) -> None:
    def written() -> None:
        for folder in (record / "points/0010-b", record / "points/0009-a"):
            with (folder / "load.log").open("w") as file:
                file.write("x")
        os.utime(record / "points")

    assert seen(record, written) == [False]


def test_without_inotify_it_looks(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "other")
    monkeypatch.setattr(changes, "LOOK_S", 0.1)
    assert seen(record, (record / "points/0011-c").mkdir, None) == [True, False]


def test_handles_are_closed(record: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        seen(record, None)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
