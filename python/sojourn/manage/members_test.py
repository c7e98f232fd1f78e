"""Who is in a group that is managed."""

from __future__ import annotations

from pathlib import Path

from sojourn.host.tree import Tree
from sojourn.manage import members


def test_members_in_another_namespace_are_not_the_lab_itself(tmp_path: Path) -> None:
    group = tmp_path / "sys/fs/cgroup/a"
    group.mkdir(parents=True)
    (group / "cgroup.procs").write_text("0\n7\n0\n")
    assert members.pids(Tree(tmp_path), "/sys/fs/cgroup/a") == (7,)
