"""The driver's end of a stage: what a damaged host answers is a named fault."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.errors import Fault, RunFault
from sojourn.hosts import station as station_module
from sojourn.hosts.about import about
from sojourn.hosts.engine import LostError, Node
from sojourn.hosts.station import Station
from sojourn.run.watch import nothing
from sojourn.spec.hosts import NeedsSpec

NODE = Node(id="1", name="h", address="10.0.0.4")
FAULT = {"kind": "RunFault", "what": "it died", "at": "a", "fix": "f"}


class Odd:
    """An agent of which each method answers what a test wrote down."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {"hello": about(), "stage_open": None, "stage_tell": None} | answers

    def ask(self, name: str, *_: object) -> Any:
        answer = self.answers.get(name)
        return SimpleNamespace(result=lambda _: answer() if callable(answer) else answer)

    def end(self) -> None:
        pass


Built = Callable[..., Station]


@pytest.fixture
def build() -> Iterator[Built]:
    made: list[Station] = []

    def station(**answers: Any) -> Station:
        remote = Odd(**answers)
        engine: Any = SimpleNamespace(hire=lambda _: remote, about="a planted cluster")
        own = about()
        made.append(Station("server", NODE, engine, nothing, own=own, needs=NeedsSpec()))
        return made[-1]

    yield station
    for one in made:
        one.close()


@pytest.mark.parametrize("hello", [None, 7, [], {}, {**about(), "cpus": 3}])
def test_who_says_nothing_sensible_of_its_host_is_refused(hello: Any, build: Built) -> None:
    with pytest.raises(Fault, match=r"h \(10\.0\.0\.4\)"):
        build(hello=hello)


@pytest.mark.parametrize("heard", [7, None, [7], [{}], [{"say": 7}], [{"say": "done"}]])
def test_lines_that_make_no_sense_are_a_lost_host_at_once(heard: Any, build: Built) -> None:
    """Before, the thread that heard them died, and the driver waited for half an hour."""
    with pytest.raises(RunFault, match=r"server on h .*was lost: its answer makes no sense"):
        build(stage_heard=heard).begin({})


@pytest.mark.parametrize("reply", [7, {}, {"what": "w"}])
def test_a_stage_that_opens_with_nonsense_is_lost(reply: Any, build: Built) -> None:
    with pytest.raises(RunFault, match="makes no sense"):
        build(stage_open=reply).begin({})


def test_what_a_stage_reports_is_raised_as_it_is(build: Built) -> None:
    with pytest.raises(RunFault, match="it died") as fault:
        build(stage_heard=[{"say": "fault", "fault": FAULT}]).begin({})
    assert fault.value.at == "a, server on h (10.0.0.4)"


@pytest.mark.parametrize("name", ["../x", "a/x", "a\0b", "", "x" * 300])
def test_no_file_is_written_elsewhere(name: str, build: Built, tmp_path: Path) -> None:
    folder = tmp_path / "point"
    folder.mkdir()
    with pytest.raises(RunFault, match="makes no sense"):
        build(stage_files=[{name: b"x"}]).bring([folder])
    assert [path.name for path in tmp_path.rglob("*")] == ["point"]


def test_files_of_the_driver_and_links_are_left_alone(build: Built, tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "point", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.write_text("before")
    (folder / "service.log").symlink_to(elsewhere)
    own = ("load.json", "point.json", "run.json", "hosts.json", "outcome.parquet", ".x")
    files = dict.fromkeys((*own, "service.log", "host.json"), b"x")
    build(stage_files=[files]).bring([folder])
    assert elsewhere.read_text() == "before"
    assert sorted(path.name for path in folder.iterdir()) == ["host.json", "service.log"]
    assert (folder / "service.log").read_bytes() == b"x"


def test_a_number_is_no_file(build: Built, tmp_path: Path) -> None:
    with pytest.raises(RunFault, match="makes no sense"):
        build(stage_files=[{"host.json": 10**12}]).bring([tmp_path])


def test_who_waits_for_an_agent_that_was_lost_does_not_lose_the_next(
    build: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question may hang for longer than its thread is waited for."""
    monkeypatch.setattr(station_module, "ANSWER_S_MAX", 0.1)
    hangs, waits = threading.Event(), threading.Event()
    opened = [{"say": "open"}]

    def heard() -> Any:
        if opened:
            return [opened.pop()]
        waits.set()
        hangs.wait(60.0)
        raise LostError("it was lost")

    station = build(stage_heard=heard)
    station.begin({})
    before = station._thread
    assert waits.wait(60.0)
    remote: Any = Odd(stage_heard=[{"say": "open"}])
    monkeypatch.setattr(station._engine, "hire", lambda _: remote)
    station.again([NODE])
    station.begin({})
    hangs.set()
    assert before is not None
    before.join(60.0)
    lines = [station._lines.get() for _ in range(station._lines.qsize())]
    assert all(line["say"] == "open" for line in lines)


@pytest.mark.parametrize(
    "line", [{"say": "fault", "fault": FAULT}, {"say": "ended", "code": 4}, {"say": "nonsense"}]
)
def test_a_stage_that_ended_between_points_is_noticed_before_the_next(
    line: Any, build: Built
) -> None:
    """It waits an hour for its driver, which may measure elsewhere for longer."""
    said: list[Any] = [{"say": "open"}]

    def heard() -> Any:
        return [said.pop(0)] if said else []

    station = build(stage_heard=heard)
    station.begin({})
    station.notice()
    assert not station.is_lost
    said.append(line)
    until_s = time.monotonic() + 60.0
    while station._lines.empty():
        assert time.monotonic() < until_s
        time.sleep(0.02)
    station.notice()
    assert station.is_lost is (line["say"] != "nonsense")


def test_a_point_that_is_done_before_its_load_is_a_fault(build: Built) -> None:
    station = build(stage_heard=[{"say": "open"}])
    station.begin({})
    station._lines.put({"say": "done", "fault": None})
    with pytest.raises(RunFault, match=r"server on h .*: its answer makes no sense"):
        station.look()
