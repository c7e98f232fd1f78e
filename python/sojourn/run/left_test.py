"""Journals that somebody else has planted, or that another lab holds: none of them is obeyed."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import RunFault
from sojourn.host.tree import Tree
from sojourn.knobs import groups, resctrl
from sojourn.places import proc, remains
from sojourn.run import journal, left, state, work
from sojourn.run.journal import Journal
from sojourn.run.restore import restore

NOBODY_UID = 65534
PID = 2**22  # above every process
LAB = {"event": "lab", "pid": PID, "start_ticks": 1}


def planted(folder: Path, *lines: object, name: str = "lab-1-1.jsonl") -> Path:
    """A journal of a dead lab with these lines, as text or as what JSON makes of them."""
    first = {**LAB, "boot": journal.boot_id()}
    texts = [line if isinstance(line, str) else json.dumps(line) for line in (first, *lines)]
    path = folder / name
    path.write_text("".join(f"{text}\n" for text in texts))
    return path


def setting(path: str, root: str = "/", **more: object) -> dict[str, object]:
    """What an attacker writes: a file that says `old` is to say `new` again."""
    # fmt: off
    one = {"kind": "text", "what": "x", "path": path, "pid": 0, "tid": 0, "start_ticks": 0,
           "old": "root::0:0", "new": "mine", **more}
    # fmt: on
    return {"event": "settings", "entry": 1, "settings": [one], "at_ticks": 0, "root": root}


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("mine")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "state"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture(autouse=True)
def deadline() -> Iterator[None]:
    """What waits for the other end of a pipe fails, and does not hold up the tests."""

    def late(_number: int, _frame: object) -> None:
        raise TimeoutError("it waits for ever")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o722])
def test_a_folder_that_others_may_fill_is_neither_read_nor_written(
    folder: Path, victim: Path, mode: int
) -> None:
    path = planted(folder, setting(str(victim)))
    folder.chmod(mode)
    for act in (restore, Journal.create):
        with pytest.raises(RunFault, match="others may write") as caught:
            act(folder)
        assert "chmod 700" in caught.value.fix
        assert "/tmp" not in caught.value.fix.replace(str(folder), "")  # noqa: S108
    assert path.exists()
    assert victim.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away: needs root")
def test_a_folder_or_a_file_of_somebody_else_is_not_obeyed(folder: Path, victim: Path) -> None:
    path = planted(folder, setting(str(victim)))
    os.chown(path, NOBODY_UID, NOBODY_UID)
    (undone,) = restore(folder)
    assert not undone.is_done
    assert f"belongs to user {NOBODY_UID}" in undone.how
    os.chown(folder, NOBODY_UID, NOBODY_UID)
    for act in (restore, Journal.create):
        with pytest.raises(RunFault, match="belongs to user"):
            act(folder)
    assert victim.read_text() == "mine"


def test_a_folder_is_made_for_its_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = Journal.create(tmp_path / "new" / "state")
    finally:
        os.umask(before)
    assert stat.S_IMODE(made.path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    made.close()


def test_where_the_home_is_somebody_elses_the_users_own_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(journal.STATE, raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert journal.state_folder() == tmp_path / ".local/state/sojourn"
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: 0 if own else NOBODY_UID)
    assert tmp_path not in journal.state_folder().parents


@pytest.mark.parametrize("how", ["pipe", "link", "twin", "open", "folder"])
def test_what_is_no_plain_file_of_ones_own_is_passed_over_and_named(
    folder: Path, tmp_path: Path, victim: Path, how: str
) -> None:
    elsewhere = planted(tmp_path, setting(str(victim)), name="elsewhere")
    path = folder / "lab-3-3.jsonl"
    match how:
        case "pipe":
            os.mkfifo(path)
        case "link":
            path.symlink_to(elsewhere)
        case "twin":
            path.hardlink_to(elsewhere)
        case "open":
            planted(folder, setting(str(victim)), name=path.name).chmod(0o666)
        case "folder":
            path.mkdir()
    (undone,) = restore(folder)
    assert not undone.is_done
    assert str(path) in undone.what
    assert "passed over" in undone.how
    assert victim.read_text() == "mine"
    made = Journal.create(folder)  # a run goes on beside it
    made.close()


BAD_LINES = [
    '{"event": "x"}',
    '{"event": "x", "entry": 1}',
    '{"event": ["process"], "entry": 1}',
    '{"event": "undone", "entry": [1]}',
    '{"event": "process", "entry": true}',
    '{"event": "process", "entry": 1, "what": "x", "pid": "a", "start_ticks": 1}',
    '{"event": "process", "entry": 1, "pid": 1}',
    '{"event": "folder", "entry": 1}',
    '{"event": "settings", "entry": 1, "root": "/", "at_ticks": 0, "settings": [{"kind": "x"}]}',
    '{"event": "settings", "entry": 1, "root": "/", "at_ticks": 0, "settings": 3}',
    '{"event": "stopped", "entry": 1, "what": "x", "members": [3]}',
    '{"event": "netns", "entry": 1}',
    "[" * 100_000,
    "3",
    "\x00\xff",
]


@pytest.mark.parametrize("line", BAD_LINES)
def test_a_line_of_another_form_is_named_and_the_rest_is_done(folder: Path, line: str) -> None:
    ours = folder.parent / "sojourn-0123456789abcdef"
    ours.mkdir()
    (ours / work.MARK).touch()
    path = planted(folder, line, {"event": "folder", "entry": 7, "path": str(ours)})
    undone = restore(folder)
    assert [u.is_done for u in undone] in ([True, False], [False, True])
    (bad,) = (u for u in undone if not u.is_done)
    assert str(path) in bad.what
    assert not ours.exists()
    assert path.exists(), "it stays until somebody has looked at it"
    (again,) = restore(folder)
    assert not again.is_done


def test_only_settings_of_the_kernel_are_put_back(folder: Path, victim: Path) -> None:
    paths = [
        str(victim),
        f"/sys/../{victim}",
        f"/proc/self/root{victim}",
        "/etc/passwd",
        "/proc/sys/kernel/core_pattern",
        "/sys/kernel/uevent_helper",
        "/proc/self/mem",
        "sys/x",
        "/proc/sys/fs/binfmt_misc/register",
        "/sysx/a",
        "/proc/irqs",
    ]
    link = folder.parent / "sys"
    link.symlink_to(victim)
    for path in paths:
        planted(folder, setting(path))
        (undone,) = restore(folder)
        assert not undone.is_done, path
        assert "not a setting of the kernel" in undone.how
    for root in (str(folder.parent), "/proc/self/root", "//"):
        planted(folder, setting(victim.name, root))
        (undone,) = restore(folder)
        assert "another machine" in undone.how
    assert victim.read_text() == "mine"


def test_a_link_below_the_kernels_folders_leads_nowhere_else(tmp_path: Path, victim: Path) -> None:
    root, folder = tmp_path / "root", tmp_path / "state"
    (root / "sys").mkdir(parents=True)
    folder.mkdir(mode=0o700)
    (root / "sys/link").symlink_to(victim)
    planted(folder, setting("/sys/link", str(root)))
    (undone,) = restore(folder, Tree(root))
    assert "not a setting of the kernel" in undone.how
    assert victim.read_text() == "mine"
    (root / "sys/own").write_text("mine")
    planted(folder, setting("/sys/own", str(root)))
    (undone,) = restore(folder, Tree(root))
    assert undone.is_done
    assert (root / "sys/own").read_text() == "root::0:0"


def test_a_number_that_is_a_path_reads_and_writes_nothing(folder: Path) -> None:
    forged = setting("", kind="autogroup", pid="../../tmp/x", tid=1)
    planted(folder, forged)
    (undone,) = restore(folder)
    assert "this is not a setting" in undone.how


def test_groups_and_containers_of_other_places_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "sojourn-x"
    path.mkdir()
    facts = {"root": "/", "folder": str(path), "home": str(tmp_path)}
    for undo in (groups.undo, resctrl.undo):
        with pytest.raises(ValueError, match="not a setting of the kernel"):
            undo(facts)
    name = "sojourn-0123456789"
    (tmp_path / f"x{name}").touch()
    with pytest.raises(ValueError, match="no runtime"):
        remains.undo({"name": name, "program": "x", "traces": [str(tmp_path)], "shared": []})
    assert (tmp_path / f"x{name}").exists()
    assert path.exists()


def test_advice_names_no_folder_that_all_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    (tmp_path / "file").touch()
    with pytest.raises(RunFault) as caught:
        Journal.create(tmp_path / "file" / "state")
    assert journal.STATE in caught.value.fix
    assert "/tmp" not in caught.value.fix  # noqa: S108
    assert state.elsewhere() == caught.value.fix


HOLD = """
import sys, time
from pathlib import Path
from sojourn.run import work
from sojourn.run.journal import Journal
made = Journal.create(Path(sys.argv[1]))
print(work.make(made, None)[0], flush=True)
time.sleep(600)
"""
RESTORE = """
import sys
from pathlib import Path
from sojourn.run.restore import restore
print([u.how for u in restore(Path(sys.argv[1]))])
"""


@pytest.fixture
def living(folder: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another lab that runs, and its working folder."""
    words = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(words, text=True, stdout=subprocess.PIPE) as lab:
        assert lab.stdout is not None
        yield lab, Path(lab.stdout.readline().strip())
        lab.kill()


def test_a_lab_that_runs_holds_its_journal_whatever_its_number_means_here(
    folder: Path, living: tuple[subprocess.Popen[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, files = living
    monkeypatch.setattr(proc, "stat", lambda _pid: None)  # as in another namespace of processes
    assert restore(folder) == ()
    assert files.exists()
    (left,) = journal.read(folder)
    assert left.is_in_use
    lab.kill()
    lab.wait()
    (undone,) = restore(folder)
    assert undone.is_done
    assert not files.exists()
    assert list(folder.iterdir()) == []


@pytest.mark.privileged
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a namespace of processes")
def test_restore_in_another_container_leaves_a_lab_that_runs_alone(
    folder: Path, living: tuple[subprocess.Popen[str], Path]
) -> None:
    _, files = living
    words = ["unshare", "-pf", "--mount-proc", sys.executable, "-c", RESTORE, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "unshare" in done.stderr:
        pytest.skip(f"no namespaces here: {done.stderr.strip()}")
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
    assert files.exists()


def test_a_journal_that_is_just_being_made_is_not_taken_for_a_dead_labs(folder: Path) -> None:
    path = folder / "lab-5-5-aaaa.jsonl"
    path.touch()
    assert restore(folder) == ()
    assert path.exists()
    for at in (1, 2**32):  # a clock that jumped makes it of another time, or of one to come
        path.touch()
        os.utime(path, (at, at))
        assert restore(folder) == ()
        assert not path.exists()


@pytest.mark.parametrize("rest", [b"", bytes(4096)], ids=["cut", "filled up with zeros"])
def test_a_power_cut_at_any_byte_loses_the_last_line_at_most(folder: Path, rest: bytes) -> None:
    """Each line is on the disk before the lab does what it says, so only the last can be torn."""
    path = planted(folder, {"event": "folder", "entry": 1, "path": "/x"}, setting("/sys/x"))
    whole = path.read_bytes()
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut] + rest)
        (left,) = journal.read(folder)
        lines = whole[:cut].count(b"\n")
        assert [one.kind for one in left.entries] == ["settings", "folder"][3 - max(1, lines) :]
        assert left.bad == ()


def test_a_journal_of_any_size_is_read_and_a_line_without_end_passed_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left, "PART_BYTES", 1000)
    monkeypatch.setattr(left, "LINE_BYTES", 5000)
    done = [{"event": "undone", "entry": number} for number in range(10, 400)]
    planted(
        folder,
        {"event": "folder", "entry": 1, "path": "/x"},
        {"event": "folder", "entry": 2, "path": "/" + "y" * 4000},
        {"event": "folder", "entry": 3, "path": "/" + "z" * 20_000},
        *done,
        {"event": "folder", "entry": 4, "path": "/x"},
        {"event": "undone", "entry": 1},
    )
    (result,) = journal.read(folder)
    assert [one.number for one in result.entries] == [4, 2]
    assert result.bad == ("line 4: it has more than 5000 bytes",)


def test_one_that_is_removed_while_it_is_opened_is_gone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a lab does that goes on in a new file."""
    path, real = planted(folder), os.open

    def opened(name: str, *words: Any, **more: Any) -> int:
        handle = real(name, *words, **more)
        if name == path.name:
            path.unlink()
        return handle

    monkeypatch.setattr(os, "open", opened)
    assert journal.read(folder) == ()


def test_a_journal_that_grew_for_months_is_not_refused(folder: Path) -> None:
    path = planted(folder, {"event": "folder", "entry": 1, "path": "/x"})
    with path.open("ab") as file:
        file.truncate(65 * 1024**2)  # it has a hole, and no line feed
    (result,) = journal.read(folder)
    assert ([one.number for one in result.entries], result.bad) == ([1], ())


def test_of_lines_that_are_none_only_the_first_are_named(folder: Path) -> None:
    planted(folder, *["{"] * 300)
    (result,) = journal.read(folder)
    assert len(result.bad) == left.BAD_MAX


def test_half_a_line_on_a_full_disk_does_not_spoil_the_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Journal.create(folder)
    number = made.made(folder / "x")
    write = os.write

    def half(handle: int, data: bytes) -> int:
        monkeypatch.setattr(os, "write", full)
        return write(handle, data[: len(data) // 2])

    def full(_handle: int, _data: bytes) -> int:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(RunFault, match="disk is full"):
        made.started("memcached", 1, 1)
    monkeypatch.setattr(os, "write", write)
    made.undone(number)
    (left,) = journal.read(folder)
    assert (left.bad, left.entries) == ((), ())
    made.close()
