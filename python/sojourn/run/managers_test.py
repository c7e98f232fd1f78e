"""Managers in a scene: what they are handed, and what is refused before."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import actors, controllers, disk, host
from sojourn.actors import Role, Stage, managers
from sojourn.actors.managers import Manager, Windows
from sojourn.actors.managers.audited import counted, events
from sojourn.errors import HostFault, SpecFault
from sojourn.host.tree import Tree
from sojourn.plan import Point
from sojourn.run.execute import _All, _Watcher
from sojourn.run.journal import Journal
from sojourn.run.scene import Scene
from sojourn.run.testing_scene import Noted, new_ledger, new_scene, point
from sojourn.spec import PROFILES, ServiceSpec, Study

SESSION: Any = SimpleNamespace(show=lambda _event: None, every_s=5.0)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Journal]:
    with new_ledger(tmp_path) as made:
        yield made


@pytest.fixture
def scene(tmp_path: Path, ledger: Journal) -> Scene:
    return new_scene(tmp_path, ledger)


class Listening(Manager):
    """Starts nothing, and stores what it hears of the clients."""

    def __init__(self) -> None:
        super().__init__("null", {})
        self.windows: list[dict[str, Any]] = []

    def enter(self, stage: Stage) -> None:
        del stage

    def period(self, windows: Windows) -> None:
        self.windows.append({name: of for name, of in windows.items() if "client" in name})


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


def test_the_lab_is_woken_often_only_for_those_who_must_know(scene: Scene) -> None:
    watcher = _Watcher(SimpleNamespace(), scene, SESSION)  # type: ignore[arg-type]
    with scene:
        scene.enter(Noted("seeing", []))
        assert watcher.every_s == _All([watcher]).every_s == SESSION.every_s
        scene.enter(Listening())
        assert watcher.every_s == _All([watcher]).every_s == 0.1


def test_windows_of_the_client_are_handed_on_and_lines_without_one_are_not(scene: Scene) -> None:
    """What the manager reads is what its program can read."""
    manager = Manager("null", {})
    manager._stage, manager._labels = scene, ("null",)
    manager._lines = disk.append(scene.folder / "windows.jsonl")
    window = {"length_ms": 100, "n": 2000, "p99_ns": 3e5, "above": 7}
    manager.period({"client": {"t_s": 1.0, "done_rps": 5.0, "window": window}})
    manager.period({"client": {"t_s": 1.1, "done_rps": 5.0}})
    manager.period({"client": {"t_s": 1.1}, "null.client": {"window": {**window, "n": 5}}})
    manager.leave()
    lines = (scene.folder / "windows.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"service": "null", **window},
        {"service": "null", **window, "n": 5},
    ]


def test_only_changes_of_the_measured_part_count() -> None:
    def at(second: int, **more: Any) -> dict[str, Any]:
        return {"event": "change", "time": f"2026-01-01T00:00:{second:02}+00:00", **more}

    every = [at(1, knob="idle", after=True), at(3, knob="quota", after=0.5), at(4, knob="quota")]
    from_s = datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC).timestamp()
    every = [*every, {"event": "capped", "time": "2026-01-01T00:00:05+00:00"}]
    assert counted(every, from_s, 10.0) == {
        "changes": 2,
        "settled": {"idle": True, "quota": None},
        "seconds": 10.0,
        "late_s": 0.0,
    }
    late = {"event": "late", "after_s": 4.0, "time": "2026-01-01T00:00:05+00:00"}
    assert counted([*every, late], from_s, 10.0)["late_s"] == 3.0, "a second of it was before"
    assert counted(every, from_s, 1.5)["changes"] == 1, "what comes after the load is no part of it"
    assert counted(every, None, 10.0)["changes"] == 0, "no load was measured"


def test_a_torn_line_of_the_audit_log_is_left_out(tmp_path: Path) -> None:
    assert events(tmp_path) == []
    (tmp_path / "manager.audit.jsonl").write_text('{"event": "start"}\n[1]\n{"event": "cha')
    assert events(tmp_path) == [{"event": "start"}]


def study(**more: Any) -> Study:
    spec = ServiceSpec.model_validate(
        {"kind": "memcached", "measure": ("sweep",), "qos": {"q": 0.99, "bound": "1ms"}}
    )
    table = {"name": "s", "question": "q", "run": PROFILES["quick"], "services": (spec,)}
    return Study.model_validate({**table, "neighbour": "null", "manager": "null", **more})


def test_a_manager_is_there_only_beside_a_neighbour_and_under_a_load() -> None:
    def managed(of: Study, at: Point) -> list[str]:
        cast = actors.cast(of, of.services[0], at)
        return [actor.name for actor in cast if actor.role is Role.MANAGER]

    assert managed(study(manager="static:idle=1"), point()) == ["static"]
    assert managed(study(manager="none"), point()) == []
    assert managed(study(), point(neighbour="none")) == []
    assert managed(study(), replace(point(), offered_rps=None)) == [], "the axis is measured alone"


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"neighbour": "none"}, "nothing to move without a neighbour"),
        ({"groups": "session"}, "moves control groups"),
        ({"manager": "static:idel=1"}, "idel"),
    ],
)
def test_a_manager_that_could_move_nothing_is_refused_on_every_machine(
    more: dict[str, str], what: str
) -> None:
    asked = study(**more)
    with pytest.raises(SpecFault, match=what):
        actors.check(asked, asked.services[0], host.read(sample_s=0))


def test_a_level_is_refused_before_the_run_where_the_machine_lacks_what_it_needs(
    tmp_path: Path,
) -> None:
    for name in ("proc/self", f"proc/{os.getpid()}"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    bare: Any = SimpleNamespace(root=str(tmp_path))
    with pytest.raises(HostFault, match="a manager needs the control-group controller cpu"):
        managers.KINDS["null"].check(bare)
    assert "cores" not in managers.present(Tree(tmp_path))
    parties = controllers.kind("parties")
    with pytest.raises(HostFault, match="needs CPUs of a group"):
        parties.check(managers.present(Tree(tmp_path)))


def test_every_controller_is_a_manager_with_its_constants() -> None:
    assert [*managers.KINDS] == [*controllers.KINDS]
    for name, kind in managers.KINDS.items():
        wanted = controllers.KINDS[name].constants
        assert {param.name: float(str(param.default)) for param in kind.params} == wanted
        made = kind.build({param.name: str(param.default) for param in kind.params})
        assert isinstance(made, Manager)
        assert made.constants == {}, "what does not differ is not said"


def test_the_knobs_of_a_scene_are_those_of_its_services(scene: Scene) -> None:
    levels: Any = {"cpuset": object()}
    scene.services = {"web": SimpleNamespace(knobs=levels)}
    assert dict(scene.knobs) == {"web.cpuset": levels["cpuset"]}
