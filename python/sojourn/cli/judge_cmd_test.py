"""`sojourn judge` as typed: wrong usage, missing rights, simulated loads."""

from __future__ import annotations

import json
import os
import socket
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import programs
from sojourn.cli.app import main
from sojourn.errors import Exit, HostFault, SpecFault
from sojourn.host import rights
from sojourn.host.tree import Tree
from sojourn.importers import hey
from sojourn.referee import judge, session, target, versions
from sojourn.referee.load import Load
from sojourn.referee.session import Asked, Seen
from sojourn.referee.simulated_testing import Server, every, limited, paced

S, MS = 1_000_000_000, 1_000_000
LOAD = Load(tool="hey", rate_rps=1000, arrivals="paced", facts=hey.FACTS)


@pytest.mark.parametrize(
    ("words", "at"),
    [
        ([], "--port"),
        (["--port", "0", "--", "true"], "--port"),
        (["--port", "70000", "--", "true"], "--port"),
        (["--port", "80"], "sojourn judge"),
        (["--port", "80", "--pid", "1", "--", "true"], "sojourn judge"),
        (["--port", "80", "--pid", "-4"], "--pid"),
        (["--port", "80", "--pid", "999999999"], "--pid"),
        (["--port", "80", "--duration", "x", "--pid", "1"], "--duration"),
        (["--port", "80", "--duration", "0s", "--pid", "1"], "--duration"),
        (["--port", "80", "--duration", "9h", "--pid", "1"], "--duration"),
        (["--port", "80", "--rate", "many", "--", "true"], "--rate"),
        (["--port", "80", "--rate", "0", "--", "true"], "--rate"),
        (["--port", "80", "--arrivals", "x", "--", "true"], "--arrivals"),
        (["--port", "80", "--", "/no/such/program"], "-- COMMAND"),
        (["--port", "x"], "sojourn judge"),
        (["--port", "80", "-c8", "wrk"], "sojourn judge"),
    ],
)
def test_wrong_usage_is_refused_with_its_place(
    words: list[str], at: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", *words]) == Exit.USAGE
    out, err = capsys.readouterr()
    assert not out
    assert f"at: {at}" in err or at in err
    assert "fix:" in err or "see:" in err


@pytest.fixture
def has_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "check_rights", lambda: None)


def test_a_port_without_a_server_is_refused(
    has_rights: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        assert main(["judge", "--port", str(port), "--", "true"]) == Exit.USAGE
    err = capsys.readouterr().err
    assert f"no server listens on TCP port {port}" in err
    assert "start the server first" in err


def test_the_server_itself_is_no_load(has_rights: None, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert target.server(port) == os.getpid()
        words = ["judge", "--port", str(port), "--pid", str(os.getpid())]
        assert main(words) == Exit.USAGE
    assert "is the server itself" in capsys.readouterr().err


def test_a_server_that_is_named_has_to_be_there() -> None:
    assert target.server(80, os.getpid()) == os.getpid()
    with pytest.raises(SpecFault, match="there is no process"):
        target.server(80, 999_999_999)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"has_btf": False}, "BTF"),
        ({"capabilities": ()}, "CAP_BPF"),
        ({"capabilities": ("bpf",)}, "CAP_PERFMON"),
    ],
)
def test_what_is_missing_for_a_trace_is_named(
    changes: dict[str, object], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    able = replace(rights.read(Tree()), has_btf=True, capabilities=("bpf", "perfmon"))
    monkeypatch.setattr(programs, "find", lambda name, fix=None: Path(name))
    monkeypatch.setattr(rights, "read", lambda tree: able)
    target.check_rights()
    monkeypatch.setattr(rights, "read", lambda tree: replace(able, **changes))  # type: ignore[arg-type]
    with pytest.raises(HostFault, match=what):
        target.check_rights()


def test_without_a_tracer_it_says_what_builds_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "places", lambda: ())
    with pytest.raises(HostFault, match="sojourn-trace"):
        target.check_rights()


def stopped(asked: Asked, say: object) -> Seen:
    del asked, say
    server = Server(stops=every(2 * S, 200 * MS, 20))
    requests = limited(paced(1000, 20), server, 10, is_catching_up=False)
    return Seen(judgement=judge(requests, LOAD), code=99)


def test_the_page_says_what_users_would_have_waited(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(session, "look", stopped)
    assert main(["judge", "--port", "80", "--", "true"]) == Exit.VIOLATED
    out = capsys.readouterr().out
    assert out.startswith("misleading: ")
    assert "as users" in out
    assert "exit code 99" in out
    assert "Coordinated omission" in out


def test_json_holds_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(session, "look", stopped)
    assert main(["judge", "--port", "80", "--json", "--", "true"]) == Exit.VIOLATED
    result = json.loads(capsys.readouterr().out)
    assert result["verdict"] == "misleading"
    assert result["load_exit_code"] == 99
    assert result["load"]["rate_rps"] == 1000
    assert len(result["gaps"]["stops"]) == 10
    assert result["numbers"][2]["users"]["value"] > 100 * MS


def test_another_version_than_those_that_were_tried_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "wrk"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for answer, words in (
        ("wrk 4.1.0 [epoll]", ""),
        ("wrk 5.2.0 [epoll]", "Version 5.2.0 of wrk was not tried"),
        ("\x1b[2J", "version of wrk is not known"),
    ):
        programs.says.cache_clear()
        program.write_text(f"#!/bin/sh\nprintf '%s' '{answer}'\n")
        program.chmod(stat.S_IRWXU)
        assert versions.remark("wrk", ["taskset", "-c", "1", "wrk", "-c8"]).find(words) >= 0
    assert "no version of it was tried" in versions.remark("oha", ["oha"])
    assert versions.remark("", ["./mine"]) == ""
    for tool in ("bombardier", "hey", "vegeta"):
        assert versions.remark(tool, [tool]) == "", "docs/howto/judge.md has what was measured"
