"""What a session looks at besides the trace: the server's processes as they are then."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator

import pytest

from sojourn.errors import Exit
from sojourn.importers import hey
from sojourn.referee import session, target
from sojourn.referee.judgement import Loss
from sojourn.referee.load import Load
from sojourn.referee.requests import Requests
from sojourn.referee.session import Asked
from sojourn.referee.simulated_testing import Server, limited, paced

LOAD = Load(tool="hey", rate_rps=1000, arrivals="paced", facts=hey.FACTS)


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            yield process
        finally:
            process.kill()


def test_processes_that_a_server_starts_under_load_are_looked_at(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = os.getpid()
    begun: list[int] = []

    @contextlib.contextmanager
    def started(asked: Asked) -> Iterator[None]:
        begun.append(asked.port)
        yield

    def family(pid: int) -> tuple[int, ...]:
        return (pid, child.pid) if begun and pid == server else (pid,)

    monkeypatch.setattr(session, "_started", started)
    monkeypatch.setattr(session, "Kin", lambda pid: lambda: family(pid))
    _, threads = session._watched(Asked(port=1, pid=server, duration_s=0.01), server)
    assert child.pid in threads.server[-1].threads


class Traced:
    """A tracer that saw a load."""

    def __init__(self, *words: object, is_whole: bool = False) -> None:
        del words, is_whole

    def begin(self) -> None:
        """Nothing is traced."""

    def end(self) -> tuple[Requests, Loss]:
        return limited(paced(1000, 20), Server(), 10, is_catching_up=False), Loss()

    def kill(self) -> None:
        """Nothing is traced."""


KILLED = "kill -KILL {0}; until grep -q 'State:.Z' /proc/{0}/status; do :; done"


@pytest.mark.parametrize("command", ["true", KILLED])
def test_a_server_that_ends_before_the_load_is_not_judged(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target, "check_rights", lambda: None)
    monkeypatch.setattr(target, "server", lambda port, pid: pid)
    monkeypatch.setattr(session, "Tracer", Traced)
    monkeypatch.setattr(session, "_load", lambda asked, words: LOAD)
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            line = command.format(process.pid)
            asked = Asked(port=1, server_pid=process.pid, command=("sh", "-c", line))
            of = session.look(asked, lambda text: None).judgement
        finally:
            process.kill()
    has_ended = command != "true"
    assert (session.ENDED in of.unknown) == has_ended
    assert (of.exit == Exit.UNKNOWN) == has_ended
