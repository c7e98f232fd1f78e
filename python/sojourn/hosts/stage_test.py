"""The agent's hand on a stage: it is ended, whether it listens or not."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from sojourn.hosts import stage
from sojourn.hosts.stage import StageProgram
from sojourn.places import proc

ENDS_S_MAX = 60.0  # a guard against a hang
POPEN = subprocess.Popen


@pytest.fixture
def deaf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StageProgram:
    """A program in the place of a stage that never reads."""
    monkeypatch.setenv("SOJOURN_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(stage, "TELL_S_MAX", 0.2)

    def start(_: list[str], **how: Any) -> Any:
        return POPEN(["sleep", "600"], **how)

    monkeypatch.setattr(subprocess, "Popen", start)
    return StageProgram({"do": "open"})


def in_time(act: Any) -> bool:
    """Whether it returns."""
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(ENDS_S_MAX)
    return not thread.is_alive()


def test_a_stage_that_does_not_listen_is_ended(deaf: StageProgram, tmp_path: Path) -> None:
    line = {"do": "second", "line": "x" * 50_000}

    def tell() -> None:
        for _ in range(4):
            deaf.tell(line, 0.2)

    assert in_time(tell), "the pipe is full, and the driver would wait for its agent"
    assert in_time(lambda: deaf.end(1.0)), "the guard of a silent driver would wait as well"
    assert proc.stat(deaf._process.pid) is None
    assert {"say": "ended", "code": -9} in deaf.heard()
    assert not list((tmp_path / "state").iterdir()), "nothing is left to be undone"


def test_it_is_ended_while_somebody_waits_for_it_to_listen(deaf: StageProgram) -> None:
    line = {"do": "second", "line": "x" * 500_000}
    thread = threading.Thread(target=deaf.tell, args=(line, 0.5), daemon=True)
    thread.start()
    assert in_time(lambda: deaf.end(0.1))
    thread.join(ENDS_S_MAX)
    assert not thread.is_alive()
    assert proc.stat(deaf._process.pid) is None
