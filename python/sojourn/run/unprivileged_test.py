"""The generator as a user of its own: what it keeps, where it writes, when it is the lab's."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sojourn import programs
from sojourn.places import users
from sojourn.places.users import User
from sojourn.run import generator, unprivileged
from sojourn.run.generator_job import Files
from sojourn.run.generator_test import JOB, Notes

PYTHON = next(
    (
        str(path)
        for path in (Path(sys.executable).resolve(), Path("/usr/bin/python3").resolve())
        if users.is_open(path, users.READ)
    ),
    "",
)
SCRIPT = f"""#!{PYTHON} -IS
import json, os, sys
result = sys.argv[sys.argv.index("--json") + 1]
job = json.load(sys.stdin)
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
for key in ("hlog", "raw"):
    open(job[key], "w").write(key)
os.symlink("/etc/passwd", "point.json")  # what it was not asked for
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
json.dump({{"uid": os.getuid(), "caps": status["CapEff"], "bounds": status["CapBnd"],
           "nnp": status["NoNewPrivs"], "cwd": os.getcwd()}}, open(result, "w"))
"""


@pytest.fixture(name="program")
def _program(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A generator that all may start, in a folder that all may enter."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    path = folder / "sojourn-load"
    path.write_text(SCRIPT)
    path.chmod(0o755)
    monkeypatch.setattr(programs, "find", lambda name, fix=None: path)
    yield path
    shutil.rmtree(folder)


def job(home: Path, **more: object) -> dict[str, Any]:
    return {**JOB, "hlog": str(home / "load.hlog"), "raw": str(home / "raw.parquet"), **more}


def test_it_writes_into_a_folder_of_its_own_and_has_no_other_right(
    program: Path, tmp_path: Path
) -> None:
    user = users.client_user()
    if user is None or not PYTHON:
        pytest.skip("needs root, and an interpreter that others may start")
    del program
    tmp_path.chmod(0o700)
    result: Mapping[str, Any] = generator.run(job(tmp_path), Files.named(tmp_path, "load"), Notes())
    assert result["uid"] == user.uid
    stored = sum(1 << number for number in unprivileged.CAPABILITIES)
    assert int(result["caps"], 16) == int(result["bounds"], 16) == stored
    assert result["nnp"].strip() == "1"
    assert result["cwd"] == str(tmp_path / "load.own")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"load.json", "load.job.json", "load.log", "load.hlog", "raw.parquet"}
    assert (tmp_path / "load.hlog").read_text() == "hlog"
    assert {path.lstat().st_uid for path in tmp_path.iterdir()} == {os.geteuid()}
    assert json.loads((tmp_path / "load.job.json").read_text())["hlog"] == "load.hlog"


@pytest.mark.parametrize("kind", ["link", "pipe", "second name", "folder"])
def test_only_plain_files_are_taken_over(kind: str, tmp_path: Path) -> None:
    own, victim = tmp_path / "load.own", tmp_path / "victim"
    own.mkdir()
    victim.write_text("kept")
    planted = own / "load.hlog"
    match kind:
        case "link":
            planted.symlink_to(victim)
        case "pipe":
            os.mkfifo(planted)
        case "second name":
            planted.hardlink_to(victim)
        case _:
            planted.mkdir()
    (own / "load.json").write_text("{}")
    how = unprivileged.Run(
        user=User("x", 1, 1), folder=own, job={"hlog": "load.hlog"}, result=Path("load.json")
    )
    how.take_over(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"victim", "load.json"}
    assert victim.read_text() == "kept"


def test_no_name_changes_between_the_look_at_it_and_its_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "load.own"
    own.mkdir()
    own.chmod(0o777)
    (own / "load.json").write_text("{}")
    modes: list[int] = []

    def names(*_: object) -> list[str]:
        modes.append(stat.S_IMODE(own.stat().st_mode))
        return ["load.json"]

    monkeypatch.setattr(unprivileged, "_names", names)
    how = unprivileged.Run(user=User("x", 1, 1), folder=own, job={}, result=Path("load.json"))
    how.take_over(tmp_path)
    assert modes == [0o700]
    assert (tmp_path / "load.json").read_text() == "{}"
    how.take_over(tmp_path)  # its folder is gone: nothing is left to be taken
    assert not own.exists()


@pytest.mark.parametrize(
    ("changed", "is_own"),
    [
        ({}, True),
        ({"target": "http://unix:/run/x:/"}, False),
        ({"turns": "turns"}, False),
        ({"body_file": "/etc/passwd", "arrivals": "trace:/etc/passwd,speed=2"}, True),
        ({"body_file": "/etc/shadow"}, False),
        ({"body_file": "relative"}, False),
        ({"arrivals": "trace:/etc/shadow"}, False),
        ({"auth": "basic:file:/etc/shadow"}, False),
        ({"header": ["Cookie: file:/etc/shadow"]}, False),
        ({"auth": "basic:env:NAME"}, True),
        ({"raw": "/elsewhere/raw.parquet"}, False),
    ],
)
def test_where_it_needs_the_labs_rights_it_has_them(
    changed: Mapping[str, object],
    is_own: bool,  # noqa: FBT001
    program: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    me = User("me", os.getuid(), os.getgid())
    monkeypatch.setattr(users, "client_user", lambda: me)
    asked = job(tmp_path, **changed)
    how = unprivileged.run(asked, tmp_path / "load.json", program)
    assert (how.user == me) == is_own
    assert (how.folder == tmp_path / "load.own") == is_own
    assert is_own or how.job == asked
    monkeypatch.setattr(users, "client_user", lambda: None)
    assert unprivileged.run(asked, tmp_path / "load.json", program).user is None
