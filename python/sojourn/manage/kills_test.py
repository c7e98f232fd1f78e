"""Managers and wardens are killed at random: caps come, and all is put back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn.manage import testing

BENCH = Path(__file__).parents[3] / "bench" / "managers" / "kills.py"
TIMES, SEED, MOST_S = 5, 31, 8.0  # each deed once; the bound is for a busy machine
DEEDS = ["kill manager", "kill warden", "stop manager", "kill both", "kill all three"]

pytestmark = [
    pytest.mark.privileged,
    pytest.mark.timeout(400, func_only=True),
    pytest.mark.skipif(bool(testing.lack()), reason=testing.lack() or "-"),
]


def test_caps_come_and_everything_is_put_back_whoever_is_killed(tmp_path: Path) -> None:
    words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    words += [sys.executable, str(BENCH), "--times", str(TIMES), "--seed", str(SEED)]
    words += ["--most", str(MOST_S), "--rows", str(tmp_path), "--knobs", "quota"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=380)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.iterdir()
    rows = json.loads(path.read_text())["rows"]
    assert [row["deed"] for row in rows] == DEEDS
    assert [row["capped_s"] is None for row in rows] == [False] * 4 + [True]
    assert all(not row["differs"] for row in rows)
    assert all(row["moves"] for row in rows)
