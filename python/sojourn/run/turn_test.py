"""One study at a time: who holds the machine, what a second one learns, and planted files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn import spec
from sojourn.errors import Exit, RunFault
from sojourn.run import turn
from sojourn.run.watch import Event

HOLD = """
import sys, time
from pathlib import Path
from sojourn.run import turn
turn.FOLDERS = (Path(sys.argv[1]),)
with turn.taken("a study", print):
    print("held", flush=True)
    time.sleep(60)
"""


#: What anybody may have written into the lock file.
STRANGE = (
    '{"pid": 1, "study": "\\u001b[2Jx", "began_s": 1}',
    "[",
    "{}",
    "\0" * 9000,
    "[" * 4000,
    *(f'{{"pid": 1, "study": "x", "began_s": {at}}}' for at in ("1e300", "-9e99", "NaN")),
    '{"pid": 1e400, "study": "x", "began_s": 1}',
    '{"pid": 1, "study": [[]], "began_s": 9e18}',
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(turn, "FOLDERS", (tmp_path,))
    return tmp_path


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def show(said: list[str]) -> Callable[[Event], None]:
    return lambda event: said.append(event.text)


def test_the_second_is_refused_while_the_first_measures_and_free_to_go_afterwards(
    folder: Path, show: Callable[[Event], None]
) -> None:
    with turn.taken("first", show) as other:
        assert other is None
        with pytest.raises(RunFault, match=r"measuring first \(process \d+, since") as fault:
            turn.taken("second", show).__enter__()
        assert fault.value.exit == Exit.FAILED
        assert "--wait" in fault.value.fix
        assert "--force" in fault.value.fix
    with turn.taken("second", show) as other:
        assert other is None
    assert (folder / turn.NAME).stat().st_mode & 0o777 == 0o666, "other users can open it"


def test_forced_it_goes_on_knows_beside_whom_and_leaves_the_first_ones_lock(
    folder: Path, show: Callable[[Event], None], said: list[str]
) -> None:
    with turn.taken("first", show):
        with turn.taken("second", show, is_forced=True) as other:
            assert other is not None
            assert (other.study, other.pid) == ("first", os.getpid())
        with pytest.raises(RunFault, match="first"):
            turn.taken("third", show).__enter__()
    assert "both are disturbed" in said[0]


def test_a_dead_holders_lock_is_free_and_a_waiting_one_gets_it(
    folder: Path, show: Callable[[Event], None], said: list[str]
) -> None:
    package = Path(spec.__file__).parents[2]
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(package)},
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RunFault, match=f"process {holder.pid}, since .*of waiting"):
            turn.taken("second", show, wait_s=0.05).__enter__()
        assert "waiting up to" in said[0]

        def end_it(event: Event) -> None:
            said.append(event.text)
            holder.send_signal(signal.SIGKILL)

        with turn.taken("second", end_it, wait_s=60) as other:
            assert other is None


def test_what_a_stranger_planted_is_refused_and_not_touched(
    folder: Path, show: Callable[[Event], None]
) -> None:
    aim = folder / "precious"
    aim.write_text("kept")
    for plant in (lambda p: p.symlink_to(aim), lambda p: p.hardlink_to(aim), os.mkfifo):
        path = folder / turn.NAME
        plant(path)
        with pytest.raises(RunFault, match="cannot be used") as fault:
            turn.taken("mine", show).__enter__()
        assert str(path) in fault.value.at
        path.unlink()
        assert aim.read_text() == "kept"


def test_what_a_stranger_wrote_reaches_no_terminal(
    folder: Path, show: Callable[[Event], None]
) -> None:
    with turn.taken("first", show):
        for text in STRANGE:
            (folder / turn.NAME).write_text(text)
            with pytest.raises(RunFault) as fault:
                turn.taken("second", show).__enter__()
            assert fault.value.what.isprintable()


def test_only_a_folder_that_all_share_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, show: Callable[[Event], None], said: list[str]
) -> None:
    path, ours, link = tmp_path / "mine", tmp_path / "ours", tmp_path / "link"
    path.mkdir(mode=0o700)
    ours.mkdir()
    ours.chmod(0o1777)
    link.symlink_to(ours)
    monkeypatch.setattr(turn, "FOLDERS", (path, link, tmp_path / "none", ours))
    assert turn._path() == ours / turn.NAME
    monkeypatch.setattr(turn, "FOLDERS", (path,))
    with turn.taken("alone", show) as other:
        assert other is None
    assert "nothing is locked" in said[0]


NAMED = """
import socket, sys, time
name = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
name.bind(sys.argv[1].replace("@", chr(0)))
name.listen(1)
print("held", flush=True)
time.sleep(600)
"""


def test_a_lab_that_shares_no_folder_is_noticed_by_the_name_of_the_network(
    folder: Path, show: Callable[[Event], None], said: list[str]
) -> None:
    """As two containers with the host's network do, each with a /run/lock of its own."""
    words = [sys.executable, "-I", "-S", "-c", NAMED, turn._name().replace("\0", "@")]
    with subprocess.Popen(words, text=True, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(RunFault, match=f"process {other.pid}") as fault:
            turn.taken("mine", show).__enter__()
        assert "--force" in fault.value.fix
        with turn.taken("mine", show, is_forced=True) as beside:
            assert beside is not None
            assert beside.pid == other.pid
        assert "both are disturbed" in said[-1]
        other.kill()
    with turn.taken("mine", show) as beside:
        assert beside is None
    assert (folder / turn.NAME).read_text() == ""


def test_where_no_folder_is_shared_the_name_alone_holds(
    tmp_path: Path, show: Callable[[Event], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "FOLDERS", (tmp_path / "none",))
    with turn.taken("first", show) as other:
        assert other is None
        with pytest.raises(RunFault, match="two studies at once"):
            turn.taken("second", show).__enter__()


def test_the_record_says_where_others_cannot_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Path("/proc/self/ns/pid").stat().st_ino
    monkeypatch.setattr(turn, "HOST_PIDS", here)
    assert turn.unseen() == ""
    monkeypatch.setattr(turn, "HOST_PIDS", here + 1)
    assert turn.unseen().startswith("in a container: others on this host cannot be seen")


CONTAINER = """
import sys, time
from pathlib import Path
from sojourn.errors import RunFault
from sojourn.run import turn
turn.FOLDERS = (Path("/run/lock"),)  # not the machine's own name: others may measure here
try:
    with turn.taken(sys.argv[1], lambda event: None) as other:
        print("alone" if other is None else "beside", "|", turn.unseen(), flush=True)
        time.sleep(float(sys.argv[2]))
except RunFault as fault:
    print("refused", "|", fault.what, flush=True)
"""


def container(*more: str, study: str, holds_s: float) -> subprocess.Popen[str]:
    """A lab in namespaces of its own, with a /run/lock that is no one else's."""
    script = 'mount -t tmpfs -o mode=1777 none /run/lock && exec "$0" -c "$1" "$2" "$3"'
    words = ["unshare", "-m", "-p", "-f", "--mount-proc", "--kill-child", *more, "sh", "-c", script]
    package = Path(spec.__file__).parents[2]
    return subprocess.Popen(
        [*words, sys.executable, CONTAINER, study, str(holds_s)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(package)},
    )


def test_two_labs_in_two_containers_meet_or_say_that_they_cannot() -> None:
    """With real namespaces: of files and processes, and then of the network as well."""
    with container(study="first", holds_s=600) as first:
        try:
            assert first.stdout is not None
            if not (text := first.stdout.readline()):
                first.wait(60)
                pytest.skip(f"needs namespaces: {first.stderr and first.stderr.read()}")
            assert text.startswith("alone | in a container: others on this host cannot be seen")
            second, _ = container(study="second", holds_s=0).communicate(timeout=120)
            assert second.startswith("refused |"), "they share the network"
            assert turn.ELSEWHERE in second
            third, _ = container("-n", study="third", holds_s=0).communicate(timeout=120)
            assert third.startswith("alone | in a container: others on this host cannot be seen")
        finally:
            first.kill()
    fourth, _ = container(study="fourth", holds_s=0).communicate(timeout=120)
    assert fourth.startswith("alone |"), "the name goes with its holder"


def test_a_folder_that_is_mounted_read_only_holds_no_lock(
    folder: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container that is started with --read-only: no user can make the file there."""
    real = os.statvfs

    def closed(path: Path) -> os.statvfs_result:
        result = [*real(path)]
        result[8] = os.ST_RDONLY
        return os.statvfs_result(result)

    monkeypatch.setattr(os, "statvfs", closed)
    with turn.taken("a study", lambda event: said.append(event.text)) as other:
        assert other is None
    assert "no folder for a lock" in said[0]
    assert [*folder.iterdir()] == []


def test_a_lock_file_that_takes_no_words_is_a_lock(
    folder: Path, monkeypatch: pytest.MonkeyPatch, show: Callable[[Event], None]
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "pwrite", full)
    with turn.taken("a study", show) as other:
        assert other is None
        with pytest.raises(RunFault, match="this machine is measuring a study"):
            turn.taken("another", show).__enter__()
    assert (folder / turn.NAME).exists()
