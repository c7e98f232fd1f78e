"""`sojourn manage`: what it refuses, and what a replay prints."""

from __future__ import annotations

import errno
import json
import os
import signal
from pathlib import Path

import pytest

from sojourn.cli.app import main
from sojourn.controllers.testing import look
from sojourn.manage.config_test import GOOD
from sojourn.manage.daemon import Manager


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["manage", *words]) == 2
    return capsys.readouterr().err


def test_one_of_config_and_replay_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "name either --config or --replay" in refused(capsys)
    both = ("--config", str(tmp_path / "a"), "--replay", str(tmp_path / "b"))
    assert "name either --config or --replay" in refused(capsys, *both)
    assert "a replay needs --controller" in refused(capsys, "--replay", str(tmp_path / "b"))


def test_a_replay_prints_each_decision_with_its_reason_in_equal_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "looks.jsonl"
    path.write_text(
        "".join(look(i / 10, 2.0, web={"cores": 4}).model_dump_json() + "\n" for i in range(3))
    )
    words = ["manage", "--replay", str(path), "--controller", "parties"]
    assert main(words) == 0
    first = capsys.readouterr().out
    assert main(words) == 0
    assert capsys.readouterr().out == first
    lines = [json.loads(line) for line in first.splitlines()]
    assert len(lines) == 3
    assert lines[0]["changes"][0]["level"] is not None
    assert "both < 0.05" in lines[0]["changes"][0]["reason"]


@pytest.mark.parametrize(
    ("text", "name", "says"),
    [
        ("{}\n", "parties", "this is no look"),
        ("", "partys", "did you mean parties?"),
        ("\n", "program:/no/such/program", "cannot be started"),
        (look(0).model_dump_json() + "\n", "program:true", "the controller's program has ended"),
    ],
)
def test_a_bad_replay_is_a_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, name: str, says: str
) -> None:
    path = tmp_path / "looks.jsonl"
    path.write_text(text)
    assert main(["manage", "--replay", str(path), "--controller", name]) in {2, 4}
    assert says in capsys.readouterr().err


def test_a_configuration_that_is_wrong_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "cannot be read" in refused(capsys, "--config", str(tmp_path / "absent.toml"))
    (tmp_path / "bad.toml").write_text('controller = "null"\n[groups]\n')
    says = refused(capsys, "--config", str(tmp_path / "bad.toml"), "--once")
    assert "no group has the role latency-critical" in says


def test_a_unit_is_printed_and_a_bad_address_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "web.toml"
    path.write_text(GOOD)
    assert main(["manage", "--config", str(path), "--listen", ":9123", "--systemd"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"manage --config {path} --listen :9123" in next(
        line for line in lines if line.startswith("ExecStart=")
    )
    assert lines[0] == "[Unit]"
    assert "'x:y' is no address" in refused(capsys, "--config", str(path), "--listen", "x:y")
    path.write_text("controller = ")
    assert "is no TOML" in refused(capsys, "--config", str(path), "--systemd")


def test_a_hangup_before_the_manager_is_there_asks_it_to_reload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else `systemctl reload` right after the start would end it, which counts as a clean end."""
    seen: list[bool] = []

    def hung_up() -> tuple[()]:
        signal.raise_signal(signal.SIGHUP)
        return ()

    def run(one: Manager) -> None:
        seen.append(one.asked.taken())
        seen.append(one.asked.taken())
        signal.raise_signal(signal.SIGTERM)

    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    monkeypatch.setenv("SOJOURN_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("sojourn.manage.reload._has_terminal", lambda: False)
    monkeypatch.setattr("sojourn.run.restore", hung_up)
    monkeypatch.setattr(Manager, "run", run)
    path = tmp_path / "web.toml"
    path.write_text(GOOD)
    try:
        assert main(["manage", "--config", str(path)]) == 0
    finally:
        signal.signal(signal.SIGHUP, before)
    assert seen == [True, False]


@pytest.mark.parametrize("number", [errno.EPIPE, errno.ENOSPC])
def test_a_log_that_cannot_be_shown_is_a_fault_and_not_a_good_end(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    number: int,
) -> None:
    """The caps stay then, and a unit starts anew only what has failed."""

    def refuse(_text: str) -> None:
        raise OSError(number, os.strerror(number))

    def run(one: Manager) -> None:
        one.audit.say("start")

    monkeypatch.setenv("SOJOURN_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("sojourn.cli.manage_cmd.put", refuse)
    monkeypatch.setattr("sojourn.cli.manage_cmd.drop_stdout", lambda: None)
    monkeypatch.setattr(Manager, "run", run)
    path = tmp_path / "web.toml"
    path.write_text(f'audit = "{tmp_path}/audit"\n{GOOD}')
    assert main(["manage", "--config", str(path)]) == 4
    assert "cannot be written to standard output" in capsys.readouterr().err
    assert '"event": "start"' in (tmp_path / "audit").read_text()
