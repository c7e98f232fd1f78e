"""A driver that is there and says nothing, and one that is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn import stage
from sojourn.errors import RunFault
from sojourn.run.clients import Load
from sojourn.run.generator_job import Files
from sojourn.stage_lines import Ears, Mouth


class Deaf(Ears):
    """Ears that hear nothing, as from a driver that is stopped."""

    def _listen(self) -> None:
        """Wait for nothing."""

    def close(self) -> None:
        """The count of lines."""
        os.close(self._count)


def test_a_driver_that_is_stopped_holds_no_server_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "LATE_S", 0.0)
    monkeypatch.setattr(stage, "length_s_max", lambda _: 0.2)
    ears, mouth = Deaf(), Mouth(os.open(os.devnull, os.O_WRONLY))
    opening = {"neighbours": [], "address": "", "rows": []}
    waits = stage.Stage(opening, ears, mouth)
    loads = [Load(job={"target": "null:"}, n=1, files=Files.named(Path(), "load"))]
    with pytest.raises(RunFault, match="sent nothing for 0 s"):
        waits._hold(loads, ledger=None)  # type: ignore[arg-type]
    with pytest.raises(RunFault, match="sent nothing"):
        ears.line(0.1)
    ears.close()


LISTENS = """
import signal, time
from sojourn.errors import RunFault
from sojourn.stage_lines import Ears
ended, lines = [], 0
signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
ears = Ears()
while not ended:
    time.sleep(0.01)
try:
    while ears.line(0.0):
        lines += 1
except RunFault:
    print(lines)
"""
ENDS_S_MAX = 60.0  # a guard against a hang


def heard(text: bytes, program: str = LISTENS) -> subprocess.CompletedProcess[bytes]:
    """What a program hears whose agent says a text and is gone."""
    return subprocess.run(
        [sys.executable, "-c", program],
        input=text,
        capture_output=True,
        timeout=ENDS_S_MAX,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.parametrize(
    "rest",
    [b"", b'{"do": "mea', b"\xff\n", b"[" * 100_000],
    ids=["nothing", "half a line", "no text", "too deep"],
)
def test_the_end_of_the_agent_is_noticed_also_within_a_line(rest: bytes) -> None:
    assert heard(b'{"do": "open"}\n' + rest).stdout == b"1\n"


def test_the_end_of_the_agent_is_noticed_behind_lines_that_no_one_has_read() -> None:
    """A socket for each line was full after some hundred of them."""
    assert heard(b'{"do": "second"}\n' * 3000).stdout == b"3000\n"


def test_who_does_nothing_else_is_ended_by_it() -> None:
    idle = "import time; from sojourn.stage_lines import Ears; Ears(); time.sleep(600)"
    assert heard(b"{", idle).returncode == -signal.SIGTERM
