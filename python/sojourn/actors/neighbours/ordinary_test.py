"""Programs of neighbours run without rights, where they can run so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sojourn.actors.neighbours import ordinary
from sojourn.actors.neighbours.ordinary import as_ordinary_user
from sojourn.places import users
from sojourn.places.users import User

SELF = ("/bin/sh", "-c", "cat /proc/self/status; pwd")


def test_it_has_no_right_left_and_is_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/usr")
    monkeypatch.setattr(sys, "executable", "/bin/sh")  # the lab's may be closed to others
    words = as_ordinary_user(SELF, [Path("/bin/sh")])
    if words == SELF:
        pytest.skip("needs root, and the right to change users")
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    reports = dict(line.split(":\t", 1) for line in done.stdout.splitlines() if ":\t" in line)
    uid = int(reports["Uid"].split()[0])
    assert uid in users.FREE
    assert {reports[kind] for kind in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")} == {
        "0" * 16
    }
    assert reports["NoNewPrivs"] == "1"
    assert reports["Groups"].strip() == ""
    assert done.stdout.splitlines()[-1] == str(ordinary.FOLDER)


def test_what_only_root_can_reach_is_run_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(users, "beside_user", lambda: User("uid-61185", 61_185, 61_185))
    monkeypatch.setattr(sys, "prefix", "/usr")
    monkeypatch.setattr(sys, "executable", "/bin/sh")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "program").touch(mode=0o755)
    assert as_ordinary_user(SELF, [Path("/bin/sh")])[-3:] == SELF
    assert as_ordinary_user(SELF, [Path("/bin/sh")]) != SELF
    assert as_ordinary_user(SELF, [closed / "program"]) == SELF
    assert as_ordinary_user(SELF, [Path("/no/such")]) == SELF
    assert as_ordinary_user(SELF, [], str(closed)) == SELF
    assert as_ordinary_user(SELF, [], "/usr") == SELF, "it could not write there"
    monkeypatch.setattr(users, "beside_user", lambda: None)
    assert as_ordinary_user(SELF, [Path("/bin/sh")]) == SELF
