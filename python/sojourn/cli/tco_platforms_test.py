"""`sojourn tco RECORD --server` reads anybody's record: without rights, and no more."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import store
from sojourn.cli import lowered, tco_platforms
from sojourn.errors import StoreFault
from sojourn.models.tco import Costs

SERVED = {"placement": {"server": [2, 3, 4]}}


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """A record with a point of the server `a`: what its file holds, and where it says to lie."""

    def record(text: str, folder: str) -> Path:
        path = tmp_path / "record"
        for at in (path / "points/0001", tmp_path / "elsewhere"):
            at.mkdir(parents=True)
            (at / "service.json").write_text(text)
        setting = {tco_platforms.FACTOR: "a"}
        outcome = SimpleNamespace(point=SimpleNamespace(setting=setting), folder=folder)
        made: Any = SimpleNamespace(path=path, outcomes=lambda: (outcome,))
        made.folder_of = lambda one: store.Record.folder_of(made, one)
        monkeypatch.setattr(store, "read", lambda _: made)
        return path

    return record


def test_cpus_are_those_of_a_point_in_the_record(recorded: Callable[[str, str], Path]) -> None:
    assert tco_platforms._cpus(recorded(json.dumps(SERVED), "points/0001"), "a") == 3


@pytest.mark.parametrize("folder", ["../elsewhere", "points/.."])
def test_a_point_that_names_a_folder_elsewhere_is_refused(
    recorded: Callable[[str, str], Path], folder: str
) -> None:
    path = recorded(json.dumps(SERVED), folder)
    with pytest.raises(StoreFault, match="not in the record"):
        tco_platforms._cpus(path, "a")


@pytest.mark.parametrize("text", ["[]", "{", '{"placement": 3}', '{"placement": {"server": 3}}'])
def test_a_file_that_is_damaged_is_a_fault(recorded: Callable[[str, str], Path], text: str) -> None:
    path = recorded(text, "points/0001")
    with pytest.raises(StoreFault, match="cannot be read"):
        tco_platforms._cpus(path, "a")


def test_root_gives_up_its_rights_before_the_record_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    order: list[object] = []

    def read(path: Path, _: object) -> list[object]:
        order.append(("read", path))
        return []

    monkeypatch.setattr(store, "resolve", lambda _results, _name: tmp_path)
    monkeypatch.setattr(lowered, "for_reading", order.append)
    monkeypatch.setattr(tco_platforms, "platforms", read)
    tco_platforms.show("x", tmp_path, ["a=1"], Costs(), as_json=True)
    assert order == [tmp_path, ("read", tmp_path)]
    assert json.loads(capsys.readouterr().out)["rows"] == []
