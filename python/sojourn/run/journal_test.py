from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn.damage_testing import nested
from sojourn.errors import RunFault
from sojourn.places import podman, proc
from sojourn.places.ledger import Undone
from sojourn.places.proc import is_alive, members
from sojourn.run import journal, work
from sojourn.run.journal import Journal
from sojourn.run.restore import restore


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own, as a dead lab would leave one."""
    words = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
    with subprocess.Popen(words, start_new_session=True) as made:
        yield made
        made.kill()


def write(folder: Path, *lines: dict[str, object], pid: int = 2**22, boot: str = "") -> Path:
    """The journal of a lab that is dead: its number is above every other."""
    lab = {"event": "lab", "pid": pid, "start_ticks": 1, "boot": boot or journal.boot_id()}
    path = folder / f"lab-{pid}-1.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (lab, *lines)))
    return path


def entry(made: subprocess.Popen[bytes], *, later: int = 0) -> dict[str, object]:
    seen = proc.stat(made.pid)
    assert seen is not None
    ticks = seen.start_ticks + later
    return {
        "event": "process",
        "entry": 1,
        "what": "memcached",
        "pid": made.pid,
        "start_ticks": ticks,
    }


def test_a_lab_that_ends_well_leaves_no_journal(tmp_path: Path) -> None:
    made = Journal.create(tmp_path)
    number = made.started("memcached", 4711, 1)
    assert journal.read(tmp_path)[0].entries[0].facts["pid"] == 4711
    made.undone(number)
    made.close()
    assert list(tmp_path.iterdir()) == []


def test_a_lab_that_leaves_something_leaves_its_journal(tmp_path: Path) -> None:
    made = Journal.create(tmp_path)
    made.started("memcached", 4711, 1)
    made.undone(made.started("nginx", 4712, 1))
    made.close()
    (left,) = journal.read(tmp_path)
    assert [e.facts["what"] for e in left.entries] == ["memcached"]
    assert left.is_in_use  # this test's process is the lab, and it lives


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """The size from which on a journal is begun anew, bytes."""
    monkeypatch.setattr(journal, "COMPACT_BYTES", 4096)
    return 4096


def busy(made: Journal, times: int = 100) -> None:
    """What a manager does at each change: the new note, then the old one is crossed out."""
    for number in range(times):
        made.undone(made.started("nginx", 4712 + number, 1))


def test_a_journal_does_not_grow_by_what_is_crossed_out(tmp_path: Path, small: int) -> None:
    made = Journal.create(tmp_path)
    first = made.path
    stays = made.started("memcached", 4711, 1)
    busy(made)
    assert [*tmp_path.iterdir()] == [made.path]
    assert made.path != first
    assert made.path.stat().st_size < 2 * small
    assert made.path.stat().st_mode & 0o777 == 0o600
    (left,) = journal.read(tmp_path)
    assert [(one.number, one.facts["what"]) for one in left.entries] == [(stays, "memcached")]
    assert (left.is_locked, left.lab["pid"], left.bad) == (True, os.getpid(), ())
    made.undone(stays)
    made.close()
    assert not [*tmp_path.iterdir()]


def test_what_is_open_does_not_make_a_new_file_again_and_again(tmp_path: Path, small: int) -> None:
    made = Journal.create(tmp_path)
    entries = [made.started("memcached", number, 1) for number in range(small // 50)]
    first = made.path
    made.undone(made.started("nginx", 4712, 1))
    assert made.path == first, "hardly anything of it is crossed out"
    for entry in entries:
        made.undone(entry)
    made.close()


def test_where_no_new_file_can_be_made_the_old_one_goes_on(
    tmp_path: Path, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **_more: object) -> None:
        raise OSError(28, os.strerror(28))

    made = Journal.create(tmp_path)
    first, stays = made.path, made.started("memcached", 4711, 1)
    with monkeypatch.context() as patched:
        patched.setattr(journal, "_made", full)
        busy(made)
    assert made.path == first
    assert [one.number for one in journal.read(tmp_path)[0].entries] == [stays]
    busy(made, 3 * small // 50)
    assert made.path != first, "it is tried again"
    assert made.path.stat().st_size < 2 * small
    made.undone(stays)
    made.close()


def test_a_lab_that_dies_with_both_files_has_everything_undone_once(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    lines = [entry(sleeper), {"event": "undone", "entry": 9}]
    for number in (2**22, 2**22 + 1):
        write(tmp_path, *lines, pid=number)
    (undone,) = restore(tmp_path)
    assert undone.is_done
    assert sleeper.wait(10) == -9
    assert not [*tmp_path.iterdir()]


def test_a_running_lab_is_left_alone(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    made = Journal.create(tmp_path)
    seen = proc.stat(sleeper.pid)
    assert seen is not None
    made.started("memcached", sleeper.pid, seen.start_ticks)
    assert restore(tmp_path) == ()
    assert is_alive(seen)
    made.close()


def test_what_a_dead_lab_left_is_killed(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    path = write(tmp_path, entry(sleeper))
    (undone,) = restore(tmp_path)
    assert undone.is_done
    assert "memcached" in undone.what
    assert sleeper.wait(10) == -9
    assert not path.exists()
    assert restore(tmp_path) == ()


def test_a_number_that_was_used_again_is_not_killed(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    path = write(tmp_path, entry(sleeper, later=-5))
    assert restore(tmp_path) == ()
    assert sleeper.poll() is None
    assert not path.exists()


def test_numbers_of_another_boot_mean_nothing(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    write(tmp_path, entry(sleeper), boot="another")
    assert restore(tmp_path) == ()
    assert sleeper.poll() is None


def test_members_of_a_session_are_found_after_its_leader_died(tmp_path: Path) -> None:
    script = (
        "import os, sys, time\n"
        "if os.fork(): sys.stdout.write('x'); sys.stdout.flush(); time.sleep(600)\n"
        "time.sleep(600)"
    )
    words = [sys.executable, "-I", "-S", "-c", script]
    with subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE) as leader:
        assert leader.stdout is not None
        leader.stdout.read(1)
        line = entry(leader)
        leader.kill()
    (child,) = members(leader.pid, int(str(line["start_ticks"])))
    assert child.pid != leader.pid
    write(tmp_path, line)
    (undone,) = restore(tmp_path)
    assert undone.is_done
    assert not is_alive(child)


def test_working_files_are_removed_and_nothing_else(tmp_path: Path) -> None:
    state, path = tmp_path / "state", tmp_path / "sojourn-theirs"
    state.mkdir()
    path.mkdir()
    (path / "file").touch()
    made = Journal.create(state)
    ours, number = work.make(made, None)
    (ours / "file").write_text("x")
    write(
        state,
        {"event": "folder", "entry": 1, "path": str(ours)},
        {"event": "folder", "entry": 2, "path": str(path)},
        {"event": "folder", "entry": 3, "path": str(tmp_path / "none")},
    )
    (undone,) = restore(state)
    assert undone.is_done
    assert not ours.exists()
    assert path.exists()
    work.remove(ours, number, made)
    made.close()


def test_working_files_are_removed_however_deep_a_server_has_made_them(tmp_path: Path) -> None:
    """More folders, one in the other, than Python may call itself or have open."""
    (tmp_path / "state").mkdir()
    made = Journal.create(tmp_path / "state")
    for is_ended in (True, False):
        ours, number = work.make(made, None)
        with nested(ours, 1200):
            if is_ended:
                work.remove(ours, number, made)
            else:
                assert work.undo(ours)
            assert not ours.exists()
    made.close()


def test_a_line_that_a_crash_cut_off_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, {"event": "undone", "entry": 9})
    with path.open("a") as file:
        file.write('{"event": "process", "entry": 1, "wh')
    (left,) = journal.read(tmp_path)
    assert left.entries == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_journal_that_cannot_be_written_stops_the_lab(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(RunFault) as caught:
        Journal.create(tmp_path)
    assert journal.STATE in caught.value.fix


def test_a_journal_in_place_of_whose_folder_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunFault) as caught:
        Journal.create(tmp_path / "file" / "state")
    assert journal.STATE in caught.value.fix


def test_the_folder_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv(journal.STATE, raising=False)
    assert journal.state_folder() == tmp_path / "xdg" / "sojourn"
    monkeypatch.setenv(journal.STATE, str(tmp_path / "mine"))
    assert journal.state_folder() == tmp_path / "mine"


def test_a_container_of_podman_is_removed_after_another_boot_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Podman has it on a disk. It was noted in the journal that this process has open."""
    asked: list[tuple[str, ...]] = []

    def answer(*words: str) -> tuple[int, str]:
        asked.append(words)
        return 0, ""

    monkeypatch.setattr(podman, "_asked", answer)
    made = Journal.create(tmp_path)
    with podman.noted() as name:
        (noted,) = journal.read(tmp_path)[0].entries
        assert (noted.kind, noted.facts["name"]) == (podman.ENTRY, name)
    made.close()
    assert not list(tmp_path.iterdir()), "podman has removed it"
    del asked[:]
    line: dict[str, object] = {"event": podman.ENTRY, "entry": 1, "name": name}
    path = write(tmp_path, line, boot="another")
    (undone,) = restore(tmp_path)
    assert (undone.what, undone.is_done) == (f"podman's container {name}", True)
    assert asked == [("container", "exists", "--", name), ("rm", "-f", "--ignore", "--", name)]
    assert not path.exists()


def test_what_an_older_entry_was_in_the_way_of_is_undone_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A controller that a group was handed can be taken back once the group is removed."""
    left = {"group", "handed"}

    def group(*_: object) -> Undone:
        left.discard("group")
        return Undone(what="group", how="removed", is_done=True)

    def handed(*_: object) -> Undone | None:
        if "handed" not in left:
            return None
        is_done = "group" not in left
        if is_done:
            left.discard("handed")
        return Undone(what="handed", how="taken back" if is_done else "in use", is_done=is_done)

    module = sys.modules[restore.__module__]
    monkeypatch.setattr(module, "undos", lambda: {"group": group, "handed": handed})
    path = write(
        tmp_path, {"event": "group", "entry": 1}, {"event": "handed", "entry": 2}
    )  # newest first: the controller is asked for while the group is there
    assert [(u.what, u.how) for u in restore(tmp_path)] == [
        ("handed", "taken back"),
        ("group", "removed"),
    ]
    assert not path.exists()
