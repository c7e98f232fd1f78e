"""What is left of a container, on folders that stand for the machine's (fakes)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn.places import cgroups, proc, remains
from sojourn.places.remains import Remains

NAME = "sojourn-0123456789"
PROGRAM = "no-such-runtime"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of /run; there are no control groups."""
    monkeypatch.setattr(remains, "RUN", tmp_path)
    monkeypatch.setattr(cgroups, "mounts", lambda: ())
    return tmp_path


def left_in(run: Path) -> Remains:
    """As nspawn leaves it: a folder with its name, a lock with the number of its root."""
    at = run / "runtime"
    root = run / NAME / "1" / "root"
    for made in (root, at / "propagate" / f"{NAME}-1", at / "locks"):
        made.mkdir(parents=True)
    report = root.stat()
    (at / "locks" / f"inode-{report.st_dev}:{report.st_ino}").touch()
    traces = (at / "propagate", at / "locks")
    return Remains(NAME, PROGRAM, traces, (*traces, at))


def test_files_are_found_by_name_and_by_the_number_of_the_root(run: Path) -> None:
    left = left_in(run)
    assert left.are_there
    left.clear()
    assert not list(run.iterdir())
    assert not left.are_there


def test_what_others_have_there_stays(run: Path) -> None:
    left = left_in(run)
    others = run / "runtime" / "locks" / "inode-1:2"
    others.touch()
    left.clear()
    assert [path for path in run.rglob("*") if path.is_file()] == [others]
    assert not (run / "runtime" / "propagate").exists()


def test_what_is_shared_stays_while_anybodys_runtime_runs(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = left_in(run)
    monkeypatch.setattr(proc, "stat", lambda _: SimpleNamespace(name=PROGRAM, state="S"))
    monkeypatch.setattr(Remains, "_members", lambda _: iter(()))
    left.clear()
    assert sorted(path.name for path in run.rglob("*")) == ["locks", "propagate", "runtime"]


def test_what_was_shared_before_is_not_removed(run: Path) -> None:
    left = left_in(run)
    Remains(NAME, PROGRAM, left.traces).clear()
    assert all(path.is_dir() for path in left.shared)


def test_an_entry_of_an_older_lab_is_undone_as_well(run: Path) -> None:
    facts = {key: value for key, value in left_in(run).facts.items() if key != "shared"}
    undone = remains.undo(facts)
    assert undone is not None
    assert undone.is_done
    assert remains.undo(facts) is None
    assert not (run / NAME).exists()


@pytest.mark.parametrize("name", ["", "sojourn-", "sojourn-0123456789x", "../sojourn-0123456789"])
def test_nothing_is_removed_by_a_name_that_no_lab_draws(run: Path, name: str) -> None:
    (run / "file").touch()
    assert remains.undo({**left_in(run).facts, "name": name}) is None
    assert (run / NAME).exists()
