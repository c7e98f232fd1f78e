"""Scenes: who enters and leaves in which order, whatever fails; neighbours that really run."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn import actors, programs
from sojourn.actors import Role, Stage, neighbours
from sojourn.actors.kind import named
from sojourn.actors.neighbours import Neighbour, progress
from sojourn.errors import RunFault
from sojourn.places import proc
from sojourn.plan import Point
from sojourn.run import journal
from sojourn.run.journal import Journal
from sojourn.run.scene import Scene
from sojourn.run.testing_scene import CPUS, SPEC, Noted, new_ledger, new_scene, point
from sojourn.spec import Study
from sojourn.spec.profiles import PROFILES

USED_S_MAX = 300.0  # until a task at nice 19 has had some CPU time on a machine that is busy
Host = Callable[[str], Path]


def study(**inputs: object) -> Study:
    usual = {"name": "s", "question": "?", "run": PROFILES["quick"], "services": (SPEC,)}
    return Study.model_validate(usual | inputs)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Journal]:
    with new_ledger(tmp_path) as made:
        yield made


@pytest.fixture
def scene(tmp_path: Path, ledger: Journal) -> Scene:
    return new_scene(tmp_path, ledger)


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


def test_a_null_everything(scene: Scene) -> None:
    cast = actors.cast(study(neighbour="null"), SPEC, point())
    names = [(a.role, a.name) for a in cast]
    assert names[0] == (Role.NEIGHBOUR, "null")
    assert (Role.PROBE, "host") in names[1:]
    assert {role for role, _ in names[1:]} == {Role.PROBE}
    with scene:
        for actor in cast:
            scene.enter(actor)
        scene.second({"t_s": 1.0})
    assert scene.seen["length_s"] >= 0


def test_the_points_own_setting_says_who_is_beside_it() -> None:
    def beside(of: Study, at: Point) -> list[str]:
        return [a.name for a in actors.cast(of, SPEC, at) if a.role is Role.NEIGHBOUR]

    assert beside(study(), point()) == []
    assert beside(study(neighbour="spin"), point()) == ["spin"]
    assert beside(study(neighbour="spin"), point(neighbour="none")) == []
    assert beside(study(), point(neighbour="stream:lab")) == ["stream"]


@pytest.mark.parametrize("table", [name for name in actors.KINDS if name != "managers"])
def test_folder_and_table_of_kinds_agree_and_have_a_null(table: str) -> None:
    folder = Path(neighbours.__file__).parents[1] / table
    kinds = {
        path.stem for path in folder.glob("*.py") if "KIND = " in path.read_text(encoding="utf-8")
    }
    assert kinds == {*actors.KINDS[table]} | {"null"}
