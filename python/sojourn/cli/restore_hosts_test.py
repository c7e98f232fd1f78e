"""`sojourn restore --hosts`: here and on planted hosts (a fake)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn.cli.app import main
from sojourn.errors import Exit
from sojourn.hosts import ray_engine
from sojourn.hosts.engine import LostError, Node
from sojourn.hosts.testing import Cluster, Host, left_by_dead_lab


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder that a lab left when it died."""
    monkeypatch.setenv("SOJOURN_STATE", str(tmp_path / "state"))
    folder = left_by_dead_lab()
    yield folder
    assert not folder.exists()


def test_the_command_restores_here_and_there(
    left: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ray_engine, "connect", lambda _: Cluster(Host()))
    assert main(["restore", "--hosts", "10.9.0.1:6379", "--json"]) == Exit.OK
    assert str(left) in json.loads(capsys.readouterr().out)[0]["what"]

    class Headless(Cluster):
        def nodes(self) -> tuple[Node, ...]:
            raise LostError("no answer within 30 s")

    monkeypatch.setattr(ray_engine, "connect", lambda _: Headless())
    assert main(["restore", "--hosts", "10.9.0.1:6379"]) == Exit.FAILED
    assert "no answer within 30 s" in capsys.readouterr().err
