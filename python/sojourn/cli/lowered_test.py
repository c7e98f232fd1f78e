"""What commands that read records may still do, seen by the kernel, in processes of their own."""

from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn.cli import lowered
from sojourn.places import users

STRANGER = 65_534
LOOK = """
import json, os, resource, sys
from pathlib import Path
from sojourn.cli import lowered
lowered.Process.is_own = True
getattr(lowered, sys.argv[1])(Path(sys.argv[2]))
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
try:
    open("/etc/hostname", "a").close()
    writes = True
except OSError:
    writes = False
words = ["sh", "-c", 'test "$(id -u)" = "$0"', str(os.geteuid())]
same = os.spawnv(os.P_WAIT, "/bin/sh", words) == 0
print(json.dumps({
    "ids": [*os.getresuid(), *os.getresgid()], "groups": os.getgroups(), "writes": writes,
    "capabilities": int(status["CapPrm"], 16), "bounding": int(status["CapBnd"], 16),
    "gains": int(status["NoNewPrivs"]), "data": resource.getrlimit(resource.RLIMIT_DATA)[0],
    "same": same,
}))
"""
READ_ALL = 1 << lowered.CAP_DAC_READ_SEARCH

as_root = pytest.mark.skipif(users.server_user() is None, reason="needs root: it is given up")


def looked(how: str, folder: Path) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", LOOK, how, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture(name="foreign")
def _foreign(tmp_path: Path) -> Path:
    os.chown(tmp_path, STRANGER, STRANGER)
    return tmp_path


@as_root
def test_records_of_others_are_looked_at_by_no_one(foreign: Path) -> None:
    result = looked("for_reading", foreign)
    (uid,) = {*result["ids"]}  # type: ignore[misc]
    assert uid not in {0, STRANGER}
    assert result["groups"] == []
    assert (result["capabilities"], result["bounding"]) == (READ_ALL, READ_ALL)
    assert result["gains"] == 1
    assert not result["writes"]
    assert result["same"], "a program that is started is the same user"


@as_root
def test_a_report_into_the_folder_of_another_is_written_as_them(foreign: Path) -> None:
    result = looked("for_writing", foreign)
    assert {*result["ids"]} == {STRANGER}  # type: ignore[misc]
    assert (result["capabilities"], result["gains"]) == (READ_ALL, 1)


@as_root
@pytest.mark.parametrize("how", ["for_reading", "for_writing"])
def test_of_its_own_records_root_is_the_owner_and_no_more(tmp_path: Path, how: str) -> None:
    result = looked(how, tmp_path)
    assert {*result["ids"]} == {0}  # type: ignore[misc]
    assert (result["capabilities"], result["bounding"]) == (READ_ALL, READ_ALL)


def test_memory_is_bounded_and_a_smaller_bound_stays(tmp_path: Path) -> None:
    result = looked("for_reading", tmp_path)
    assert isinstance(result["data"], int)
    assert lowered.LEAST_BYTES <= result["data"] < 2**50
    before = resource.getrlimit(resource.RLIMIT_DATA)
    small = lowered.LEAST_BYTES // 2
    resource.setrlimit(resource.RLIMIT_DATA, (before[0], before[1]))
    code = LOOK.replace(
        "getattr(lowered",
        f"resource.setrlimit(resource.RLIMIT_DATA, ({small}, {small}))\ngetattr(lowered",
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "for_reading", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert json.loads(done.stdout)["data"] == small


def test_a_command_that_is_called_in_a_process_of_another_changes_nothing(tmp_path: Path) -> None:
    before = (os.getresuid(), resource.getrlimit(resource.RLIMIT_DATA))
    lowered.for_reading(tmp_path)
    lowered.for_writing(tmp_path)
    assert (os.getresuid(), resource.getrlimit(resource.RLIMIT_DATA)) == before


def test_what_is_not_there_is_the_commands_own_fault_to_name(tmp_path: Path) -> None:
    result = looked("for_reading", tmp_path / "none")
    assert result["ids"] == [*os.getresuid(), *os.getresgid()]
    assert stat.S_ISDIR(tmp_path.stat().st_mode)
