"""Which of the user's own services get the priority: those that wait when idle."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sojourn import services
from sojourn.host import Placement
from sojourn.knobs import priority
from sojourn.run import shield, shielded
from sojourn.run.live import RunningService
from sojourn.run.shield import Wish
from sojourn.services import Allowance

WHERE = Placement(server=(1,), client=(0,), housekeeping=(0,), client_wait="sleep", shared=())
WORK = {
    "waits": "import time; time.sleep(60)",
    "polls": "while True: pass",
    "ends its work soon": "import time; end = time.process_time() + 0.1\n"
    "while time.process_time() < end: pass\ntime.sleep(60)",
}


@contextlib.contextmanager
def running(program: str) -> Iterator[int]:
    """The program in a session of its own, begun."""
    words = [sys.executable, "-c", f"print(flush=True)\n{program}"]  # Python itself has started
    with subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE) as task:
        try:
            assert task.stdout
            assert task.stdout.readline()
            yield task.pid
        finally:
            task.kill()


@pytest.mark.parametrize(
    ("kind", "work", "is_refused"),
    [
        ("command", "waits", False),
        ("command", "polls", True),
        ("command", "ends its work soon", False),
        ("memcached", "polls", False),  # it does not, and is not looked at
    ],
)
def test_a_service_that_polls_gets_no_priority(
    kind: str, work: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, is_refused: bool
) -> None:
    given: list[int] = []

    def give(leader: int) -> int:
        given.append(leader)
        return 1

    monkeypatch.setattr(priority, "give", give)
    if work == "ends its work soon":  # the second look outlasts it on a busy machine, too
        monkeypatch.setattr(shielded, "IDLE_S", (0.05, 2.0))
    params: dict[str, Any] = {"argv": "python3 app.py --port {port}"} if kind == "command" else {}
    live = RunningService(
        label="own",
        life="own/sweep/0",
        service=services.build(kind, params, Allowance(cpus=1, memory_bytes=1 << 30)),
        placement=WHERE,
        work=tmp_path,
        wish=Wish(name=shield.PRIORITY),
    )
    with running(WORK[work]) as pid:
        live.process = cast("Any", SimpleNamespace(pid=pid))
        shielded.begin(live, cast("Any", None))
        shielded.renew(live)
    assert live.is_shielded is not is_refused
    assert bool(given) is not is_refused
    assert ("busy while nothing is asked" in live.shield.why) is is_refused


@pytest.mark.parametrize(
    ("ran", "slept", "is_busy"),
    [
        (0.9, 5, True),
        (0.7, 0, True),  # a hypervisor took 30 %
        (0.7, 1, False),
        (0.1, 0, False),
        (0.0, 0, False),  # it sleeps all the time
    ],
)
def test_time_that_a_hypervisor_takes_hides_no_thread_that_polls(
    ran: float, slept: int, *, is_busy: bool
) -> None:
    now = (1_000 + int(ran * 1e8), 3 + slept)
    assert shielded._is_busy((1_000, 3), now, 100_000_000) is is_busy
