"""The real lab on a machine that refuses it something: a process, a thread, time, room on the disk.

SOJOURN_FAULTS_EVERY=1 lets each fork of a study fail in turn; without it a sample does.
"""

from __future__ import annotations

import errno
import json
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn import store
from sojourn.cli.app import main
from sojourn.errors import Exit
from sojourn.testing import installed, is_bug

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group("turn"),
    pytest.mark.skipif(
        "SOJOURN_FAULTS_EVERY" not in os.environ, reason="minutes long: set SOJOURN_FAULTS_EVERY"
    ),
]

faulty = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("faulty.py"))))
EVERY = int(os.environ.get("SOJOURN_FAULTS_EVERY", "12"))
VERDICTS = {Exit.OK, Exit.VIOLATED, Exit.UNKNOWN}
Needs = Callable[[str], None]


@pytest.fixture(name="env")
def _env(tmp_path: Path) -> dict[str, str]:
    return faulty.environment(tmp_path)


@pytest.fixture(name="shim")
def _shim(tmp_path: Path) -> Path:
    if faulty.COMPILER is None:
        pytest.skip("needs a C compiler")
    return faulty.shim(tmp_path)


@pytest.mark.parametrize("error", [errno.EAGAIN, errno.ENOMEM], ids=["no process", "no memory"])
def test_a_process_that_cannot_be_started_is_a_fault_in_words_and_leaves_nothing(
    shim: Path, tmp_path: Path, needs: Needs, error: int
) -> None:
    needs("memcached")
    sound, *rows = faulty.real(
        shim, tmp_path, faulty.Asked(calls="forks", error=error, every=EVERY)
    )
    assert sound["code"] in VERDICTS, sound["err"]
    assert sound["calls"] > 5
    for row in rows:
        faulty.check(sound, row, is_exact=False)
    sys.stdout.write(faulty.text(f"forks, {error}", sound["calls"], rows))


@pytest.mark.parametrize("jump_s", [3600, -3600], ids=["an hour later", "an hour earlier"])
def test_a_clock_that_jumps_by_an_hour_voids_the_load_and_ends_nothing(
    shim: Path, tmp_path: Path, needs: Needs, jump_s: int
) -> None:
    needs("memcached")
    sound, *rows = faulty.real(
        shim, tmp_path, faulty.Asked(calls="clock", error=jump_s, every=5 * EVERY)
    )
    assert sound["code"] in VERDICTS, sound["err"]
    for row in rows:
        faulty.check(sound, row, is_exact=False)
        assert row["code"] in VERDICTS, row["err"]
        assert row["left"]["complete"] == [True]


def test_a_lab_that_was_stopped_for_seconds_says_so_and_ends_as_usual(
    tmp_path: Path, env: dict[str, str], needs: Needs
) -> None:
    needs("memcached")
    with subprocess.Popen(
        faulty.words(tmp_path, 3.0),
        env=env,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as made:
        until = time.monotonic() + 300
        while not list(tmp_path.glob("results/*/*/*/points/*-sweep-*/load.job.json")):
            assert made.poll() is None, made.stderr and made.stderr.read()
            assert time.monotonic() < until, "no load"
            time.sleep(0.02)
        time.sleep(0.5)
        every = faulty.descent.below(made.pid)
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in every:
                os.kill(pid, number)
            time.sleep(2.5)
        _, text = made.communicate(timeout=300)
    assert made.returncode in VERDICTS, text
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
            (tmp_path / "small.toml").write_text(faulty.of_real(0.2), encoding="utf-8")
            assert main(["run", str(tmp_path / "small.toml"), "--results", str(at)]) in VERDICTS
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


def asked(env: dict[str, str], *inputs: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "sojourn", *inputs],
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
    for inputs in (["ls"], ["show"], ["sql", "select count(*) from outcomes"]):
        code, text = asked(env, *inputs, "--results", str(disk))
        assert code in VERDICTS, text
    code, text = asked(env, "report", str(path))
    assert code == Exit.FAILED
    assert "fix:" in text
    code, text = asked(env, "run", str(tmp_path / "small.toml"), "--new", "--results", str(disk))
    assert code == Exit.FAILED
    assert "disk is" in text
    assert [one for one in sorted(disk.rglob("*")) if one.suffix == ".part"] == []
    assert set(before) <= set(disk.rglob("*"))
    (disk / "filler").unlink()
    code, text = asked(env, "report", str(path))
    assert code == Exit.OK, text


def test_a_medium_that_cannot_be_written_is_read(
    disk: Path, env: dict[str, str], tmp_path: Path
) -> None:
    (path,) = store.records(disk)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for inputs in (["ls"], ["show"], ["sql", "select count(*) from outcomes"]):
        code, text = asked(env, *inputs, "--results", str(disk))
        assert code in VERDICTS, text
    code, text = asked(env, "report", str(path))
    assert code == Exit.FAILED
    assert "--out" in text
    code, text = asked(env, "report", str(path), "--out", str(tmp_path / "page"))
    assert code == Exit.OK, text
    code, text = asked(env, "run", str(tmp_path / "small.toml"), "--results", str(disk))
    assert code == Exit.FAILED
    assert "--results" in text
