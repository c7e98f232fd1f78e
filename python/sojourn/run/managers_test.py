"""Managers in a scene: what they see, when they decide, and what is turned back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.actors.managers import Changes, Manager, Windows
from sojourn.run.execute import _All, _Watcher
from sojourn.run.journal import Journal
from sojourn.run.scene import Scene
from sojourn.run.testing_scene import Noted, new_ledger, new_scene

SESSION: Any = SimpleNamespace(show=lambda _event: None, every_s=5.0)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Journal]:
    with new_ledger(tmp_path) as made:
        yield made


@pytest.fixture
def scene(tmp_path: Path, ledger: Journal) -> Scene:
    return new_scene(tmp_path, ledger)


class Turning(Manager):
    """Turns a knob up once a period, and does something wrong when it is at 2."""

    name = "turning"

    def decide(self, windows: Windows, knobs: Mapping[str, Any]) -> Changes:
        assert windows["client"]["t_s"] > 0
        assert windows["seeing"] == {"x": 1}
        return {"share": str(int(knobs["share"].read()) + 1)}


class Listening(Manager):
    """Stores what it hears of the clients."""

    name = "listening"

    def __init__(self) -> None:
        super().__init__()
        self.windows: list[dict[str, Any]] = []

    def decide(self, windows: Windows, knobs: Mapping[str, Any]) -> Changes:
        del knobs
        self.windows.append({name: of for name, of in windows.items() if "client" in name})
        return {}


def test_a_manager_sees_the_clients_of_each_service(scene: Scene) -> None:
    lives: list[Any] = [SimpleNamespace(label=label, reply_s=0.0) for label in ("web", "cache")]
    others: Any = SimpleNamespace(point=scene.point)  # the other service's own stage
    watchers = [_Watcher(lives[0], scene, SESSION), _Watcher(lives[1], others, SESSION)]
    everybody, manager = _All(watchers), Listening()
    with scene:
        scene.enter(manager)
        everybody.of_load(0, {"t_s": 1.0, "done_rps": 5.0})
        everybody.of_load(1, {"t_s": 1.0, "done_rps": 2.0})
        everybody.second({"t_s": 1.0, "done_rps": 7.0})
        everybody.second({"t_s": 1.2, "done_rps": 7.0, "ended": True})  # nothing is left to decide
    (report,) = manager.windows
    assert {name: of["done_rps"] for name, of in report.items()} == {
        "client": 7.0,
        "web.client": 5.0,
        "cache.client": 2.0,
    }


def test_the_lab_is_woken_every_second_only_for_those_who_must_know(scene: Scene) -> None:
    watcher = _Watcher(SimpleNamespace(), scene, SESSION)  # type: ignore[arg-type]
    with scene:
        scene.enter(Seeing("seeing", []))
        assert watcher.every_s == _All([watcher]).every_s == SESSION.every_s
        scene.enter(Listening())
        assert watcher.every_s == _All([watcher]).every_s == 1.0


class Seeing(Noted):
    def window(self) -> Mapping[str, Any]:
        return {"x": 1}


class Share:
    """A knob that remembers."""

    def __init__(self) -> None:
        self.levels = ["0"]

    def read(self) -> str:
        return self.levels[-1]

    def apply(self, level: str) -> None:
        self.levels.append(level)


def test_a_manager_decides_once_a_second_and_its_knobs_are_turned_back(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    share = Share()
    monkeypatch.setattr(Scene, "knobs", {"share": share})
    with scene:
        scene.enter(Seeing("seeing", []))
        scene.enter(Turning())
        for second in (1, 2):
            scene.second({"t_s": second})
        assert share.read() == "2"
    assert share.levels == ["0", "1", "2", "0"]
    assert scene.seen["manager"] == {"kind": "turning", "periods": 2, "changed": 2}
    assert '"changes": {\n    "share": "2"' in (scene.folder / "decisions.json").read_text()


def test_knobs_are_turned_back_when_a_manager_fails(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    share = Share()
    monkeypatch.setattr(Scene, "knobs", {"share": share})
    with pytest.raises(AssertionError), scene:  # noqa: PT012
        scene.enter(Seeing("seeing", []))
        scene.enter(Turning())
        scene.second({"t_s": 1})
        scene.second({"t_s": 0})
    assert share.levels == ["0", "1", "0"]


def test_the_knobs_of_a_scene_are_those_of_its_services(scene: Scene) -> None:
    levels: Any = {"cpuset": Share()}
    scene.services = {"web": SimpleNamespace(knobs=levels)}
    assert dict(scene.knobs) == {"web.cpuset": levels["cpuset"]}
