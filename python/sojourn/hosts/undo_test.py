"""Restore on the nodes of a cluster: real journals of dead labs, planted hosts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import SpecFault
from sojourn.hosts import undo
from sojourn.hosts.engine import LostError, Node
from sojourn.hosts.testing import Cluster, Host, left_by_dead_lab


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder that a lab left when it died."""
    monkeypatch.setenv("SOJOURN_STATE", str(tmp_path / "state"))
    folder = left_by_dead_lab()
    yield folder
    assert not folder.exists()


def test_what_a_dead_lab_left_on_a_node_is_undone_there_and_named(left: Path) -> None:
    (row,) = undo.restored(Cluster(Host()))
    assert (row.host, row.is_done) == ("host0 (10.9.0.1)", True)
    assert row.what == f"working files {left}"
    assert undo.restored(Cluster(Host())) == ()


def test_a_node_that_does_not_answer_is_named_and_the_others_are_undone(left: Path) -> None:
    silent = Host(is_silent=lambda name: name == "undo")
    rows = undo.restored(Cluster(Host(), silent), within_s=30.0)
    by_host = {row.host: row for row in rows}
    assert not by_host["host1 (10.9.0.2)"].is_done
    assert "run `sojourn restore` on that host" in by_host["host1 (10.9.0.2)"].how
    assert not left.exists()


@pytest.mark.parametrize("at", ["local:2", "nowhere", "local:0"])
def test_what_is_no_cluster_is_refused(at: str) -> None:
    with pytest.raises(SpecFault) as fault:
        undo.of_cluster(at)
    assert fault.value.fix


def test_a_head_that_hangs_takes_no_more_than_the_time_of_all() -> None:
    hired: list[str] = []

    class Hangs(Cluster):
        def hire(self, node: Node) -> Any:
            hired.append(node.name)
            time.sleep(0.3)
            raise LostError("the cluster's head: no answer within 30 s")

    rows = undo.restored(Hangs(*(Host() for _ in range(50))), within_s=0.5)
    assert len(rows) == 50
    assert not any(row.is_done for row in rows)
    assert len(hired) < 50
    assert "took all the time" in rows[-1].how
