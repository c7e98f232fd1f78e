"""Services side by side, on real control groups and on a made-up version 2."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sojourn.errors import RunFault
from sojourn.knobs import groups as knob_groups
from sojourn.knobs.testing import MOUNT, FakeV2, MemoryBook, put
from sojourn.manage import abreast, placed, testing
from sojourn.manage.config import GroupSpec
from sojourn.manage.daemon_test import here, played, state
from sojourn.manage.groups import Managed
from sojourn.manage.testing import Stand

__all__ = ["here", "state"]
NAMES = ("a", "b", "batch")
needs_two = pytest.mark.skipif(
    bool(testing.lack()) or knob_groups.find(testing.TREE, "cpuset") is None or os.cpu_count() == 1,
    reason="needs the controllers cpu and cpuset, and two CPUs",
)


@pytest.fixture
def second(here: Stand) -> Iterator[str]:
    """Another service, `db`, behind `web`; the path of its group."""
    path = f"/sojourn-test-{secrets.token_hex(3)}-db"
    words = [sys.executable, "-I", "-S", "-c", testing.SLEEP]
    folders = testing.make_group(path)
    with subprocess.Popen(words) as program:
        try:
            for folder in folders:
                (folder / "cgroup.procs").write_text(str(program.pid))
            here.paths["db"] = path
            role = 'role = "latency-critical"\ntarget = "1ms"'
            here.more = f'[groups.db]\n{role}\ncgroup = "{path}"\n'
            yield path
        finally:
            program.kill()
            program.wait(20)
            for folder in folders:
                testing.remove_group(folder)


@needs_two
def test_two_services_that_have_parts_of_the_cores_share_no_cpu(here: Stand, second: str) -> None:
    del second
    before, seen = here.snapshot(), list[list[str]]()

    def note() -> None:
        for name in ("web", "db"):
            line = {"service": name, "length_ms": 100, "n": 1000, "p99_ns": 9e5, "above": 0}
            with here.lines.open("a") as file:
                file.write(json.dumps(line) + "\n")
        files = (here.file(name, "cpuset.cpus", "cpuset") for name in ("web", "db"))
        seen.append([file.read_text().strip() for file in files])

    played(here, [note, note, note], "parties", cpus="0-1", silent_s=20.0)
    assert seen[-1] == ["0", "1"]
    assert here.snapshot() == before


Make = Callable[..., dict[str, Managed]]


@pytest.fixture
def taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Two services and a best-effort group on four CPUs of a fake, all taken."""

    def make() -> dict[str, Managed]:
        fake = FakeV2(tmp_path, (), handed="cpuset cpu")
        for name, act in (("_mkdir", fake.mkdir), ("_rmdir", fake.rmdir), ("write", fake.write)):
            monkeypatch.setattr(knob_groups, name, act)
        groups = {}
        for name in NAMES:
            fake.mkdir(fake.tree, f"{MOUNT}/{name}")
            put(tmp_path, f"{MOUNT}/{name}/{placed.CPUSET}", "")
            role = {"role": "latency-critical", "target": "1ms"}
            spec = {"cgroup": f"/{name}", **({"role": "best-effort"} if name == "batch" else role)}
            one = Managed(name, GroupSpec.model_validate(spec), (0, 1, 2, 3), fake.tree)
            one.find()
            one.take(MemoryBook())
            groups[name] = one
        return groups

    return make


def cpus(groups: dict[str, Managed]) -> list[str]:
    return [one.cpuset.text("cpuset.cpus") if one.cpuset else "-" for one in groups.values()]


def test_a_service_moves_when_the_one_before_it_grows_shrinks_or_is_gone(taken: Make) -> None:
    groups = taken()
    for name, cores in (("a", 1), ("b", 2), ("batch", 1)):
        assert groups[name].apply("cores", cores) == ""
    abreast.put(groups)
    assert cpus(groups) == ["0", "1-2", "3"]
    assert groups["a"].apply("cores", 2) == groups["b"].apply("cores", 1) == ""
    abreast.put(groups)
    assert cpus(groups) == ["0-1", "2", "3"]
    lost = groups.pop("a")
    abreast.put(groups)
    assert cpus(groups) == ["0", "3"]
    assert [one.restore() for one in (lost, *groups.values())] == [[], [], []]


def test_a_service_that_has_no_cpus_by_the_manager_is_not_moved(taken: Make) -> None:
    groups = taken()
    assert groups["a"].apply("cores", 2) == ""
    abreast.put(groups)
    assert cpus(groups) == ["0-1", "", ""]
    assert groups["b"].apply("cores", 3) == "", "more than are left: the last ones"
    assert cpus(groups) == ["0-1", "1-3", ""]
    assert groups["b"].put_back() == ""
    groups["a"].apply("cores", 1)
    abreast.put(groups)
    assert cpus(groups) == ["0", "", ""]


def test_a_service_that_cannot_be_moved_is_a_fault(
    taken: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = taken()
    assert groups["b"].apply("cores", 2) == groups["a"].apply("cores", 1) == ""
    monkeypatch.setattr(Managed, "apply", lambda *_: "no")
    with pytest.raises(RunFault, match="b cannot be given 2 CPUs behind the first 1: no"):
        abreast.put(groups)


def test_cpus_that_somebody_else_sets_or_the_group_above_lacks_are_seen(
    taken: Make, tmp_path: Path
) -> None:
    one = taken()["batch"]
    assert one.apply("cores", 2) == ""
    put(tmp_path, f"{MOUNT}/batch/{placed.CPUSET}", "0-1")
    assert one.lies() == "CPUs 2-3 were set, and cpuset.cpus has 0-1"
    put(tmp_path, f"{MOUNT}/batch/{placed.CPUSET}", "2-3")
    put(tmp_path, f"{MOUNT}/batch/{placed.EFFECTIVE}", "2")
    assert one.lies() == "", "CPU 3 may be off-line"
    put(tmp_path, f"{MOUNT}/batch/{placed.EFFECTIVE}", "0-1")
    assert one.lies() == "CPUs 2-3 were set, and it runs on 0-1"
