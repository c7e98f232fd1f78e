"""Process numbers in a journal that would mean the whole machine, or the lab itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sojourn.host.tree import Tree
from sojourn.knobs import groups, settings
from sojourn.knobs.settings import AFFINITY, POLICY, Setting
from sojourn.places import proc
from sojourn.places.proc import members
from sojourn.run.journal_test import write
from sojourn.run.restore import restore


@pytest.mark.parametrize(("pid", "ticks"), [(0, 0), (-1, -1), (1, None), (-(2**70), 0), (5, -1)])
def test_numbers_that_no_lab_can_have_started_end_no_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pid: int, ticks: int | None
) -> None:
    ended: list[object] = []

    def end(stats: Sequence[object], *, within_s: float) -> bool:
        ended.extend([*stats, within_s])
        return True

    monkeypatch.setattr(proc, "end", end)
    monkeypatch.setattr(proc, "kill", ended.append)
    if ticks is None:
        first = proc.stat(1)
        ticks = first.start_ticks if first else 0
    line = {"event": "process", "entry": 1, "what": "x", "pid": pid, "start_ticks": ticks}
    path = write(tmp_path, line)
    (undone,) = restore(tmp_path)
    assert not ended
    assert not undone.is_done
    assert "no lab can have started process" in undone.how
    assert path.exists()


def test_session_0_is_of_no_one() -> None:
    assert proc.session(0) == proc.session(-1) == members(0, 0) == members(1, 0) == ()


@pytest.mark.parametrize("kind", [AFFINITY, POLICY])
def test_a_thread_0_is_not_the_lab_itself(kind: str) -> None:
    one = Setting(kind=kind, what="x", old="0", new="0", pid=0, tid=0, start_ticks=0)
    assert settings.read(one, Tree()) is None


def test_members_in_another_namespace_are_not_the_lab_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = tmp_path / "sys/fs/cgroup/a"
    group.mkdir(parents=True)
    (group / "cgroup.procs").write_text("0\n7\n0\n")
    moved: list[int] = []

    def rmdir(tree: Tree, folder: str) -> None:
        raise FileNotFoundError(tree.path(folder))

    monkeypatch.setattr(groups, "put", lambda tree, place, pid: moved.append(pid))
    monkeypatch.setattr(groups, "_rmdir", rmdir)
    assert groups.remove(Tree(tmp_path), "/sys/fs/cgroup/a", "/sys/fs/cgroup")
    assert moved == [7]
