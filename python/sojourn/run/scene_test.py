"""Scenes: who enters and leaves in which order, whatever fails; neighbours that really run."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import actors, host, programs
from sojourn.actors import Actor, Role, Stage, neighbours
from sojourn.actors.kind import named
from sojourn.actors.managers import Changes, Manager, Windows
from sojourn.actors.neighbours import Neighbour, progress
from sojourn.errors import RunFault
from sojourn.host import Placement
from sojourn.places import proc
from sojourn.plan import Phase, Point
from sojourn.plan.setting import Setting
from sojourn.run import journal
from sojourn.run.execute import _All, _Watcher
from sojourn.run.journal import Journal
from sojourn.run.scene import Scene
from sojourn.spec import ServiceSpec, Study
from sojourn.spec.profiles import PROFILES

USED_S_MAX = 300.0  # until a task at nice 19 has had some CPU time on a machine that is busy
SESSION: Any = SimpleNamespace(show=lambda _event: None, every_s=5.0)
CPUS = sorted(os.sched_getaffinity(0))
WHERE = Placement(
    server=(CPUS[-1],), client=(CPUS[0],), housekeeping=(CPUS[0],), client_wait="sleep", shared=()
)
SPEC = ServiceSpec(kind="null", measure=("sweep",))
Host = Callable[[str], Path]


def point(**levels: str | float) -> Point:
    return Point(
        key="k",
        service="null",
        phase=Phase.SWEEP,
        offered_rps=1.0,
        measure_s=1.0,
        warmup_s=0.0,
        seed=1,
        setting=Setting.of(levels),
    )


def study(**inputs: object) -> Study:
    usual = {"name": "s", "question": "?", "run": PROFILES["quick"], "services": (SPEC,)}
    return Study.model_validate(usual | inputs)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Journal]:
    made = Journal.create(tmp_path / "state")
    yield made
    made.close()
    assert not list((tmp_path / "state").iterdir()), "something was left to be undone"


@pytest.fixture
def scene(tmp_path: Path, ledger: Journal) -> Scene:
    folder = tmp_path / "point"
    folder.mkdir()
    live: Any = SimpleNamespace(
        label="null",
        placement=WHERE,
        process=None,
        members=tuple,
        tasks=tuple,
        cpu_ns=lambda: 0,
        workers_cpu_ns=dict,
        knobs={},
    )
    return Scene(
        point=point(),
        spec=SPEC,
        folder=folder,
        placement=WHERE,
        facts=host.read(sample_s=0),
        book=ledger,
        services={"null": live},
    )


class Noted(Actor):
    """Writes down when it enters and leaves, and fails where it is told to."""

    role = Role.PROBE

    def __init__(self, name: str, diary: list[str], fails: str = "") -> None:
        self.name = name
        self._diary = diary
        self._fails = fails

    def _note(self, step: str) -> None:
        self._diary.append(f"{step} {self.name}")
        if self._fails == f"{step} {self.name}":
            raise RunFault(self._fails, at="here", fix="none")

    def enter(self, stage: Stage) -> None:
        assert self in stage.entered
        self._note("enter")

    def leave(self) -> None:
        self._note("leave")

    def saw(self) -> Mapping[str, Any]:
        return {self.name: "seen"}


def played(scene: Scene, fails: str = "") -> list[str]:
    """What three actors did, and what came of it."""
    diary: list[str] = []
    try:
        with scene:
            for name in "abc":
                scene.enter(Noted(name, diary, fails))
            diary.append("load")
            if fails == "load":
                raise RunFault("load", at="here", fix="none")  # noqa: TRY301
    except RunFault as fault:
        diary.append(f"fault: {fault.what}")
    return diary


ALL_LEAVE = ["leave c", "leave b", "leave a"]


def test_they_enter_in_order_and_leave_in_reverse(scene: Scene) -> None:
    assert played(scene) == ["enter a", "enter b", "enter c", "load", *ALL_LEAVE]
    assert scene.seen == {"a": "seen", "b": "seen", "c": "seen"}
    assert scene.entered == ()


@pytest.mark.parametrize(
    ("fails", "wanted"),
    [
        ("enter a", ["enter a", "leave a"]),
        ("enter b", ["enter a", "enter b", "leave b", "leave a"]),
        ("enter c", ["enter a", "enter b", "enter c", *ALL_LEAVE]),
        ("load", ["enter a", "enter b", "enter c", "load", *ALL_LEAVE]),
        ("leave c", ["enter a", "enter b", "enter c", "load", *ALL_LEAVE]),
        ("leave a", ["enter a", "enter b", "enter c", "load", *ALL_LEAVE]),
    ],
)
def test_whatever_fails_whoever_has_begun_to_enter_leaves_once(
    scene: Scene, fails: str, wanted: list[str]
) -> None:
    assert played(scene, fails) == [*wanted, f"fault: {fails}"]


def test_what_fails_in_leaving_does_not_hide_what_failed_first(scene: Scene) -> None:
    diary: list[str] = []
    with pytest.raises(RunFault, match="died"), scene:  # noqa: PT012
        scene.enter(Noted("a", diary, "leave a"))
        scene.enter(Noted("b", diary))
        raise RunFault("the server died", at="here", fix="none")
    assert diary[2:] == ["leave b", "leave a"]


def test_an_interrupted_entering_is_undone_too(scene: Scene) -> None:
    class Interrupted(Noted):
        def enter(self, stage: Stage) -> None:
            super().enter(stage)
            raise KeyboardInterrupt

    diary: list[str] = []
    with pytest.raises(KeyboardInterrupt), scene:  # noqa: PT012
        scene.enter(Noted("a", diary))
        scene.enter(Interrupted("b", diary))
    assert diary == ["enter a", "enter b", "leave b", "leave a"]


def used(neighbour: Neighbour, cpus: tuple[int, ...]) -> int:
    """CPU time it has had on some CPUs, ns; waits until it has had some anywhere."""
    end = time.monotonic() + USED_S_MAX
    while neighbour.window()["cpu_s"] < 0.02:
        assert time.monotonic() < end, "it does not run"
        time.sleep(0.02)
    return neighbour.cpu_ns(cpus)


@pytest.mark.parametrize("text", ["spin", "spin:client", "stream", "stream:server"])
def test_a_neighbour_uses_the_cpus_of_its_place_and_nothing_is_left_of_it(
    scene: Scene, tmp_path: Path, text: str
) -> None:
    (beside,) = (
        a for a in actors.cast(study(neighbour=text), SPEC, point()) if a.role is Role.NEIGHBOUR
    )
    assert isinstance(beside, Neighbour)
    free = tuple(c for c in CPUS if c not in {CPUS[0], CPUS[-1]})
    wanted = {"client": (CPUS[0],), "free": free or (CPUS[-1],)}.get(beside.where, (CPUS[-1],))
    with scene:
        scene.enter(beside)
        assert used(beside, wanted) > 0
        assert used(beside, tuple({*CPUS} - {*wanted})) == 0
        (left,) = journal.read(tmp_path / "state")
        tasks = [int(e.facts["pid"]) for e in left.entries if e.kind == "process"]
        assert len(tasks) == len(wanted)  # known to `sojourn restore`
        assert {c for pid in tasks for c in os.sched_getaffinity(pid)} == {*wanted}
        assert {os.getpriority(os.PRIO_PROCESS, pid) for pid in tasks} == {19}
    assert not [pid for pid in tasks if proc.session(pid)]
    neighbour = scene.seen["neighbour"]
    assert (neighbour["kind"], neighbour["where"]) == (text.partition(":")[0], beside.where)
    assert sum(neighbour["cpu_s"].values()) > 0


def test_a_neighbour_of_which_a_task_cannot_be_started_leaves_none(scene: Scene) -> None:
    started: list[int] = []

    def argv() -> tuple[str, ...]:
        return ("/bin/sleep", "600")

    real = scene.start

    def start(what: str, words: Any, **more: Any) -> Any:
        if started:
            raise RunFault("no more", at=what, fix="none")
        task = real(what, words, **more)
        started.append(task.pid)
        return task

    scene.start = start  # type: ignore[method-assign,assignment]
    scene.cpus = {**scene.cpus, Role.SERVICE: (CPUS[0], CPUS[-1])}
    with pytest.raises(RunFault, match="no more"), scene:
        scene.enter(Neighbour("sleep", "server", argv))
    assert len(started) == 1
    assert not proc.session(started[0])


has_noise = pytest.mark.skipif(
    programs.maybe("sojourn-noise") is None, reason="sojourn-noise is not built"
)


def _noise(scene: Scene, text: str) -> Neighbour:
    """A neighbour that has entered, and has reported about a second of its progress since."""
    _, actor = named(neighbours.KINDS, text, key="neighbour") or pytest.fail("there is none")
    assert isinstance(actor, Neighbour)
    scene.enter(actor)
    log, end_s = scene.folder / "neighbour-0.log", time.monotonic() + USED_S_MAX
    while (report := progress.read(log)) is None or len(report.seconds) < 3:
        assert time.monotonic() < end_s, log.read_text()
        time.sleep(0.05)
    return actor


@has_noise
def test_what_a_neighbour_did_is_in_its_point(scene: Scene) -> None:
    with scene:
        _noise(scene, "noise:cpu@10%")
    seen = scene.seen["neighbour"]
    assert (seen["kind"], seen["died"]) == ("noise", [])
    did = seen["progress"]
    assert (did["unit"], did["seconds"] >= 1) == ("blocks", True)
    assert did["p5_per_s"] <= did["per_s"] <= did["p95_per_s"]
    assert did["of_alone"] == pytest.approx(did["per_s"] / did["alone_per_s"])
    assert did["asked_per_s"] == pytest.approx(did["alone_per_s"] / 10, rel=1e-6)
    table = json.loads((scene.folder / "progress.json").read_text())
    assert len(table["tasks"][0]["seconds"]) >= did["seconds"]


def test_a_batch_program_is_counted_with_whatever_it_starts(scene: Scene) -> None:
    """Its pace, its pace alone, and the CPU time of a program that a driver started."""
    with scene:
        actor = _noise(scene, "batch:numpy@20%,alone_s=0.1,tolerance=100%")
        assert actor.cpu_ns(CPUS) > 0
    seen = scene.seen["neighbour"]
    assert (seen["called"], seen["died"], seen["not_held"]) == ("numpy", [], "")
    did = seen["progress"]
    assert (did["unit"], did["seconds"] >= 1) == ("rounds", True)
    assert did["asked_per_s"] == pytest.approx(did["alone_per_s"] / 5, rel=1e-6)
    assert did["alone_error_per_s"] >= 0


@pytest.mark.parametrize("dies", [True, False], ids=["dead", "no-work"])
def test_who_counts_and_does_not_is_reported(scene: Scene, *, dies: bool) -> None:
    """One that ended while load ran, and one that says a pace alone and then nothing."""
    line = json.dumps({"unit": "files", "alone_per_s": 2.0, "is_flat_out": True})
    ends = "exit 3" if dies else "exec sleep 600"

    def argv() -> tuple[str, ...]:
        return ("/bin/sh", "-c", f"echo '{line}'; {ends}")

    with scene:
        actor = Neighbour("batch", "server", argv, speaks=True, counts=True)
        scene.enter(actor)
        if dies:
            ((_, task),) = actor._tasks
            assert task.poll(USED_S_MAX) is not None
    seen = scene.seen["neighbour"]
    assert [("exit status 3" in one) for one in seen["died"]] == [True] * dies
    assert "no piece of work" in seen["not_held"]


@has_noise
def test_a_neighbour_that_died_is_reported(scene: Scene) -> None:
    with scene:
        actor = _noise(scene, "noise:cpu@10%")
        ((_, task),) = actor._tasks
        os.kill(task.pid, signal.SIGKILL)
        assert task.poll(USED_S_MAX) is not None
    (died,) = scene.seen["neighbour"]["died"]
    assert "killed by SIGKILL" in died
    assert died.startswith("on CPU")


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


def test_a_null_everything(scene: Scene) -> None:
    cast = actors.cast(study(neighbour="null", manager="null"), SPEC, point())
    names = [(a.role, a.name) for a in cast]
    assert (names[0], names[-1]) == ((Role.NEIGHBOUR, "null"), (Role.MANAGER, "null"))
    assert (Role.PROBE, "host") in names[1:-1]
    assert {role for role, _ in names[1:-1]} == {Role.PROBE}
    with scene:
        for actor in cast:
            scene.enter(actor)
        scene.second({"t_s": 1.0})
    assert scene.seen["manager"] == {"kind": "null", "periods": 1, "changed": 0}
    assert scene.seen["length_s"] >= 0


def test_the_points_own_setting_says_who_is_beside_it() -> None:
    def beside(of: Study, at: Point) -> list[str]:
        return [a.name for a in actors.cast(of, SPEC, at) if a.role is Role.NEIGHBOUR]

    assert beside(study(), point()) == []
    assert beside(study(neighbour="spin"), point()) == ["spin"]
    assert beside(study(neighbour="spin"), point(neighbour="none")) == []
    assert beside(study(), point(neighbour="stream:lab")) == ["stream"]


@pytest.mark.parametrize("table", actors.KINDS)
def test_folder_and_table_of_kinds_agree_and_have_a_null(table: str) -> None:
    folder = Path(neighbours.__file__).parents[1] / table
    kinds = {
        path.stem for path in folder.glob("*.py") if "KIND = " in path.read_text(encoding="utf-8")
    }
    assert kinds == {*actors.KINDS[table]} | {"null"}
