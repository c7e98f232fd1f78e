"""What a session looks at besides the trace: the server's processes as they are then."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn.errors import Exit
from sojourn.importers import hey
from sojourn.places import proc
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
    monkeypatch.setattr(session, "_load", lambda asked, lines: LOAD)
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


@pytest.mark.parametrize(
    ("script", "tool", "rate", "lines"),
    [
        ("wrk2 -R 5 -c2 http://x/", "wrk2", 5, 1),
        ("wrk2 -R 5 http://x/ & wrk2 -R 7 http://x/", "wrk2", None, 1),
    ],
)
def test_a_load_is_looked_for_in_what_a_process_started(
    script: str, tool: str, rate: float | None, lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = {1: ["./run"], 2: ["sh", "-c", script], 3: ["wrk2", "-R", "5"], 4: ["wrk2", "-R", "7"]}
    parents = {1: 0, 2: 1, 3: 2, 4: 2}
    with_parents(monkeypatch, family, parents)
    gathered = session._of_family(1)
    assert len(gathered) == lines
    load = session._load(Asked(port=1), gathered)
    assert (load.tool, load.rate_rps) == (tool, rate)


def with_parents(
    monkeypatch: pytest.MonkeyPatch, family: dict[int, list[str]], parents: dict[int, int]
) -> None:
    """Processes with these words, and from whom they came."""
    monkeypatch.setattr(session, "Kin", lambda pid: lambda: tuple(family))
    monkeypatch.setattr(session, "_command_line", lambda pid: family[pid])
    monkeypatch.setattr(session, "_folder", lambda pid: None)
    monkeypatch.setattr(proc, "stat", lambda pid: SimpleNamespace(parent=parents[pid]))


def test_two_loads_of_a_script_have_no_common_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script's file is not read, and both tools run at once; each has a child of its own."""
    family = {
        1: ["sh", "run.sh"],
        2: ["wrk2", "-R", "5"],
        3: ["wrk2", "-R", "5"],
        4: ["hey", "-q", "7", "-c", "2"],
    }
    with_parents(monkeypatch, family, {1: 0, 2: 1, 3: 2, 4: 1})
    load = session._load(Asked(port=1), session._of_family(1))
    assert (load.tool, load.rate_rps) == ("", None)
    assert "runs 2 loads" in load.notes[0]
    load = session._load(Asked(port=1, rate_rps=19.0), session._of_family(1))
    assert (load.rate_rps, load.is_users) == (19.0, True)
    del family[4]
    load = session._load(Asked(port=1), session._of_family(1))
    assert (load.tool, load.rate_rps) == ("wrk2", 5), "what it started itself is the same load"


def test_words_of_a_process_are_those_that_it_has_with_empty_ones() -> None:
    words = ["sleep", "60", ""]
    program = ["sh", "-c", 'echo; read line; : "$@"', *words]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert session._command_line(process.pid) == program
        process.communicate(b"\n")
    assert session._command_line(999_999_999) == []


def test_a_script_is_one_of_the_folder_of_its_process(tmp_path: Path) -> None:
    """Another script of that name lies in our own folder."""
    with subprocess.Popen(["sleep", "60"], cwd=tmp_path) as process:
        try:
            assert session._folder(process.pid) == tmp_path.resolve()
        finally:
            process.kill()
    assert session._folder(process.pid) is None, "it has ended"
