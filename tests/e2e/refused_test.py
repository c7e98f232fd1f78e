"""The real lab on a machine that refuses it something: a process, a thread, time, room on the disk.

SOJOURN_FAULTS_EVERY=1 lets each fork of a study fail in turn; without it a sample does.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sojourn import run, store
from sojourn.cli.app import main
from sojourn.errors import Exit
from sojourn.places import proc
from sojourn.run import journal
from sojourn.testing import installed, is_bug

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group("turn"),
    pytest.mark.skipif(
        "SOJOURN_FAULTS_EVERY" not in os.environ, reason="minutes long: set SOJOURN_FAULTS_EVERY"
    ),
]

HERE = Path(__file__).parent
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
EVERY = int(os.environ.get("SOJOURN_FAULTS_EVERY", "12"))
VERDICTS = {Exit.OK, Exit.VIOLATED, Exit.UNKNOWN}
HEAD = struct.Struct("lll")
STUDY = """schema = "sojourn.study/1"
name = "small"
question = "What remains?"
aa = false
[run]
measure_s = {measure_s}
warmup_s = 0.1
repeats = 1
retries = 0
fractions = [0.2]
peak_s = 0.2
peak_repeats = 1
[[services]]
kind = "memcached"
measure = ["sweep"]
[services.params]
items = 500
[services.load]
connections = 4
[services.qos]
q = 0.99
bound = "500ms"
"""

Needs = Callable[[str], None]
Eventually = Callable[[Callable[[], bool], str], None]


def words(folder: Path, measure_s: float = 0.3) -> list[str]:
    (folder / "small.toml").write_text(STUDY.format(measure_s=measure_s), encoding="utf-8")
    return [
        sys.executable,
        "-m",
        "sojourn",
        "run",
        str(folder / "small.toml"),
        "--force",
        "--results",
        str(folder / "results"),
    ]


@pytest.fixture(name="env")
def _env(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SOJOURN_STATE": str(tmp_path / "state"),
    }


@pytest.fixture(name="faulty")
def _faulty(tmp_path: Path, env: dict[str, str]) -> Callable[..., tuple[int, str, int]]:
    """A study in which a call fails: its exit code, what it said, and how many calls there were."""
    if COMPILER is None:
        pytest.skip("needs a C compiler")
    shim, shared = tmp_path / "faults.so", tmp_path / "shared"
    made = [COMPILER, "-shared", "-fPIC", "-O1", "-o", str(shim), str(HERE / "faults.c"), "-ldl"]
    subprocess.run(made, check=True)

    def go(calls: str, at: int, error: int) -> tuple[int, str, int]:
        shared.write_bytes(HEAD.pack(at, 0, error) + bytes(4096))
        shutil.rmtree(tmp_path / "results", ignore_errors=True)
        more = {
            "LD_PRELOAD": str(shim),
            "FAULT_FILE": str(shared),
            "FAULT_BELOW": "/none",
            "FAULT_CALLS": calls,
        }
        done = subprocess.run(
            words(tmp_path),
            env={**env, **more},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        return done.returncode, done.stderr, HEAD.unpack_from(shared.read_bytes())[1]

    return go


def below(pid: int) -> set[int]:
    """A process and all that descend from it."""
    seen = [one for one in map(proc.stat, proc.pids()) if one is not None]
    found = {pid}
    while more := {one.pid for one in seen if one.parent in found} - found:
        found |= more
    return found


def servers() -> set[int]:
    """Servers that a lab of these tests has started; the tests adopt those that lost their lab."""
    found = filter(None, map(proc.stat, below(os.getpid())))
    return {one.pid for one in found if "memcached" in one.name and one.state != "Z"}


@pytest.fixture(name="adopting")
def _adopting() -> Iterator[None]:
    libc, adopts = ctypes.CDLL(None), 36  # PR_SET_CHILD_SUBREAPER, include/uapi/linux/prctl.h
    assert libc.prctl(adopts, 1) == 0
    yield
    libc.prctl(adopts, 0)


def test_a_process_that_cannot_be_started_is_a_fault_in_words_and_leaves_nothing(
    faulty: Callable[..., tuple[int, str, int]],
    tmp_path: Path,
    needs: Needs,
    eventually: Eventually,
    adopting: None,
) -> None:
    needs("memcached")
    code, said, total = faulty("forks", 0, errno.EAGAIN)
    assert code in VERDICTS, said
    assert total > 5
    table: Counter[int] = Counter()
    for number in range(1, total + 1, EVERY):
        code, said, _ = faulty("forks", number, errno.EAGAIN)
        what = f"fork {number} of {total}: {said}"
        table[code] += 1
        assert code in {*VERDICTS, Exit.FAILED}, what
        assert not is_bug(said), what
        assert "Traceback" not in said, what
        if code == Exit.FAILED:
            assert "fix:" in said, what
        eventually(lambda: not servers(), f"a server is left: {what}")
        assert run.restore(tmp_path / "state") == (), what
        assert journal.read(tmp_path / "state") == (), what
    rows = (f"  exit {code}: {n}" for code, n in sorted(table.items()))
    sys.stdout.write("\n".join(["", f"forks, each {EVERY}. of {total}:", *rows, ""]))


def test_a_clock_that_jumps_by_an_hour_voids_the_load_and_ends_nothing(
    faulty: Callable[..., tuple[int, str, int]], tmp_path: Path, needs: Needs
) -> None:
    needs("memcached")
    code, said, total = faulty("clock", 0, 0)
    assert code in VERDICTS, said
    for number in (total // 3, total // 2, 2 * total // 3):
        code, said, _ = faulty("clock", number, 3600)
        assert code in VERDICTS, said
        assert not is_bug(said)
        (path,) = store.records(tmp_path / "results")
        assert store.read(path).is_complete
        assert journal.read(tmp_path / "state") == ()


def test_a_lab_that_was_stopped_for_seconds_says_so_and_ends_as_usual(
    tmp_path: Path, env: dict[str, str], needs: Needs
) -> None:
    needs("memcached")
    with subprocess.Popen(
        words(tmp_path, 3.0), env=env, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as made:
        until = time.monotonic() + 300
        while not list(tmp_path.glob("results/*/*/*/points/*-sweep-*/load.job.json")):
            assert made.poll() is None, made.stderr and made.stderr.read()
            assert time.monotonic() < until, "no load"
            time.sleep(0.02)
        time.sleep(0.5)
        every = below(made.pid)
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in every:
                os.kill(pid, number)
            time.sleep(2.5)
        _, said = made.communicate(timeout=300)
    assert made.returncode in VERDICTS, said
    (path,) = store.records(tmp_path / "results")
    (load,) = path.glob("points/*-sweep-*/load.json")
    table = json.loads(load.read_text())
    assert table["outages"]["longest_ns"] > 1_000_000_000, "the client knows that it did not run"
    (outcome,) = [one for one in store.read(path).outcomes() if "sweep" in one.point.key]
    is_out = table["outages"]["share_excluded"] > 0 or outcome.verdict == "unknown"
    assert is_out, "what was due meanwhile does not count"


@pytest.fixture(name="disk")
def _disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A record on a small disk of its own."""
    at = tmp_path / "disk"
    at.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300m", "none", str(at)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    try:
        with pytest.MonkeyPatch.context() as patch:
            installed(patch, tmp_path_factory.mktemp("locks"))
            (tmp_path / "small.toml").write_text(STUDY.format(measure_s=0.2), encoding="utf-8")
            assert main(["run", str(tmp_path / "small.toml"), "--results", str(at)]) in VERDICTS
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


def asked(env: dict[str, str], *given: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "sojourn", *given],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert not is_bug(done.stderr), done.stderr
    return done.returncode, done.stderr


def test_on_a_full_disk_what_is_there_is_shown_and_nothing_half_is_left(
    disk: Path, env: dict[str, str], tmp_path: Path
) -> None:
    (path,) = store.records(disk)
    filled = subprocess.run(
        ["cp", "/dev/zero", str(disk / "filler")], check=False, stderr=subprocess.DEVNULL
    )
    assert filled.returncode, "the disk has no end"
    before = sorted(disk.rglob("*"))
    for given in (["ls"], ["show"], ["sql", "select count(*) from outcomes"]):
        code, said = asked(env, *given, "--results", str(disk))
        assert code in VERDICTS, said
    code, said = asked(env, "report", str(path))
    assert code == Exit.FAILED
    assert "fix:" in said
    code, said = asked(env, "run", str(tmp_path / "small.toml"), "--new", "--results", str(disk))
    assert code == Exit.FAILED
    assert "disk is" in said
    assert [one for one in sorted(disk.rglob("*")) if one.suffix == ".part"] == []
    assert set(before) <= set(disk.rglob("*"))
    (disk / "filler").unlink()
    code, said = asked(env, "report", str(path))
    assert code == Exit.OK, said


def test_a_medium_that_cannot_be_written_is_read(
    disk: Path, env: dict[str, str], tmp_path: Path
) -> None:
    (path,) = store.records(disk)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for given in (["ls"], ["show"], ["sql", "select count(*) from outcomes"]):
        code, said = asked(env, *given, "--results", str(disk))
        assert code in VERDICTS, said
    code, said = asked(env, "report", str(path))
    assert code == Exit.FAILED
    assert "--out" in said
    code, said = asked(env, "report", str(path), "--out", str(tmp_path / "page"))
    assert code == Exit.OK, said
    code, said = asked(env, "run", str(tmp_path / "small.toml"), "--results", str(disk))
    assert code == Exit.FAILED
    assert "--results" in said
