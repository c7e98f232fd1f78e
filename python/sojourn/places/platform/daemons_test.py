"""Tools that are asked end with the lab."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sojourn import programs
from sojourn.places import proc

KILLED = """
import sys
from pathlib import Path
from sojourn.places.platform.daemons import Daemons
Daemons("tools", Path("."), None).call(["/bin/sh", "-c", "echo $$ > pid; exec sleep 600"], 600.0)
"""


@pytest.mark.skipif(programs.maybe("setpriv") is None, reason="needs util-linux")
def test_a_tool_ends_with_the_lab_that_is_killed(tmp_path: Path) -> None:
    """`rbd import` waits for ever for a cluster that is gone, and no journal has it."""
    lab = subprocess.Popen(
        [sys.executable, "-c", KILLED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    until_s = time.monotonic() + 60.0
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        assert lab.poll() is None
        assert time.monotonic() < until_s
        time.sleep(0.02)
    tool = proc.stat(int((tmp_path / "pid").read_text()))
    assert tool is not None
    lab.kill()
    lab.wait()
    while proc.is_alive(tool) and time.monotonic() < until_s:
        time.sleep(0.02)
    is_left = proc.is_alive(tool)
    proc.kill(tool)
    assert not is_left
