"""The driver's end of a stage: what a damaged host answers is a named fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.errors import Fault, RunFault
from sojourn.hosts.about import about
from sojourn.hosts.engine import Node
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
