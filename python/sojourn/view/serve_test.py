"""The program of `sojourn view` sleeps until it is asked."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra view")
pytest.importorskip("uvicorn", reason="needs the extra view")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
ASLEEP_S = 1.5
MOST = 5  # times; a loop that looks ten times a second has more


@contextlib.contextmanager
def viewed(results: Path) -> Iterator[tuple[int, str]]:
    """Process and address of a view that answered once."""
    command = [sys.executable, "-m", "sojourn", "view", str(results), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[1]
            with urllib.request.urlopen(url, timeout=60) as reply:  # noqa: S310
                assert "Records" in reply.read().decode()
            yield process.pid, url
        finally:
            process.terminate()
        assert process.wait(60) is not None


def times_awake(pid: int) -> int:
    """How often the process went to sleep, so far."""
    text = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(text.partition("\nvoluntary_ctxt_switches:")[2].split()[0])


def test_it_does_not_wake_while_nobody_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    with viewed(tmp_path) as (pid, _):
        before = -1
        while before != (before := times_awake(pid)):  # it has closed the connection
            time.sleep(0.05)
        time.sleep(ASLEEP_S)
        assert times_awake(pid) - before <= MOST
