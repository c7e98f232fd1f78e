"""Control groups of containers, on folders that stand for hierarchies (fakes)."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn.places import cgroups

NAME = "sojourn-0123456789-1"


def hierarchies(at: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> tuple[Path, ...]:
    """Folders that are taken for mounts of control groups."""
    made = tuple(at / name for name in names)
    for one in made:
        one.mkdir()
    monkeypatch.setattr(cgroups, "mounts", lambda: made)
    return made


@pytest.mark.parametrize("names", [("cpu", "memory", "unified"), ("v2",)])
def test_a_group_is_made_in_every_hierarchy_and_all_are_removed(
    names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = hierarchies(tmp_path, monkeypatch, *names)
    made = cgroups.make(NAME)
    assert made == tuple(one / NAME for one in paths)
    (paths[-1] / NAME / "payload").mkdir()  # as nspawn does, in version 2
    others = paths[0] / "another"
    others.mkdir()
    assert cgroups.remove(NAME)
    assert not any(one.exists() for one in made)
    assert others.exists()


def test_a_group_of_the_cpuset_has_the_cpus_and_memory_of_the_top(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (at,) = hierarchies(tmp_path, monkeypatch, "cpuset")
    (at / NAME).mkdir()  # the kernel makes the files with it
    for name, value in (("cpuset.cpus", "0-3"), ("cpuset.mems", "0")):
        (at / name).write_text(value)
        (at / NAME / name).write_text("\n")
    cgroups.make(NAME)
    assert (at / NAME / "cpuset.cpus").read_text() == "0-3"
    assert (at / NAME / "cpuset.mems").read_text() == "0"
    (at / NAME / "cpuset.cpus").write_text("1")
    cgroups.make(NAME)
    assert (at / NAME / "cpuset.cpus").read_text() == "1"  # told already


def test_where_one_hierarchy_cannot_be_written_the_others_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = hierarchies(tmp_path, monkeypatch, "cpu", "memory")
    paths[0].rmdir()
    assert cgroups.make(NAME) == (paths[1] / NAME,)
    for gone in (paths[1] / NAME, paths[1]):
        gone.rmdir()
    with pytest.raises(FileNotFoundError):
        cgroups.make(NAME)
    monkeypatch.setattr(cgroups, "mounts", lambda: ())
    with pytest.raises(OSError, match="no control groups are mounted"):
        cgroups.make(NAME)


def test_a_container_gets_the_real_time_budget_that_others_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, other = hierarchies(tmp_path, monkeypatch, "cpu", "memory")
    ours = at / NAME / "payload"
    for group in (ours, at / NAME / "monitor", at / "another", other / NAME):
        group.mkdir(parents=True)
    for group, budget in ((at, 950), (ours.parent, 0), (ours, 0), (at / "another", 200)):
        (group / cgroups.BUDGET).write_text(f"{budget}\n")
        (group / "cgroup.procs").write_text("7\n" if group == ours else "")
    (at / NAME / "monitor" / "cgroup.procs").write_text("")
    cgroups.allow_realtime(NAME, 7)
    inputs = {path.parent.name: path.read_text().strip() for path in at.rglob(cgroups.BUDGET)}
    assert inputs == {"cpu": "950", NAME: "750", "payload": "750", "another": "200"}
