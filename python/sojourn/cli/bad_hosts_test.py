"""Bad input of studies on many hosts: messages and exit codes.

Hosts are planted (a fake); the table in docs/howto/clusters.md has these cases.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sojourn import extras
from sojourn.cli.app import main
from sojourn.errors import Exit
from sojourn.hosts import follow, ray_engine
from sojourn.hosts.engine import Node
from sojourn.hosts.testing import Cluster, Host
from sojourn.testing import seen_once

SECOND = 1_000_000_000
STUDY = """
name = "bad"
question = "What does a study say whose hosts are wrong?"
probe = "0"
aa = false
[hosts]
at = "10.9.0.1:6379"
{hosts}
[run]
profile = "quick"
measure_s = 1
warmup_s = 0.2
repeats = 1
fractions = []
rates = ["500"]
retries = 0
[[services]]
kind = "synthetic"
measure = ["sweep"]
max_rps = "asked"
params = {{ service = "fixed:20us", mode = "sleep" }}
load = {{ connections = 8, wait = "sleep", outage_over = "10s", timely_within = "10s" }}
"""
TWO = 'clients = ["host0", "host1"]'


class Here(Cluster):
    """Planted hosts with addresses that this machine has."""

    def nodes(self) -> tuple[Node, ...]:
        """As a cluster names them."""
        every = super().nodes()
        return tuple(
            Node(id=n.id, name=n.name, address=f"127.0.0.{nth + 1}") for nth, n in enumerate(every)
        )


class Ended:
    """How a command ended."""

    def __init__(self, code: int, reply: str, folder: Path) -> None:
        self.code, self.reply, self.folder = Exit(code), reply, folder

    @property
    def points(self) -> list[Path]:
        """Folders of the points that were begun."""
        return [path.parent for path in self.folder.rglob("point.json")]


@pytest.fixture
def ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """Run a study with these keys on a planted cluster, or on the real engine."""
    monkeypatch.setenv("SOJOURN_STATE", str(tmp_path / "state"))
    seen_once(monkeypatch)

    def run(hosts: str, cluster: Cluster | None = None, at: str = "") -> Ended:
        if cluster is not None:
            for nth, _ in enumerate(cluster.hosts):
                cluster.facts.setdefault(nth, {})
            monkeypatch.setattr(ray_engine, "connect", lambda _: cluster)
        path = tmp_path / "study.toml"
        path.write_text(STUDY.format(hosts=hosts))
        where = [str(path), "--results", str(tmp_path / "results"), "--force", "--quiet"]
        code = main(["run", *where, *(["--hosts", at] if at else [])])
        return Ended(code, capsys.readouterr().err, tmp_path / "results")

    return run


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ('clients = ["host7"]', ("the cluster has no node 'host7'", "use one of: host0")),
        (f'{TWO}\nserver = "host7"', ("no node 'host7'", "at: hosts.server")),
        (f'{TWO}\nneighbours = ["zone=b"]', ("no node 'zone=b'", "at: hosts.neighbours")),
        (f'{TWO}\nserver = "host1"\nneeds.server.cpus = 999', ("the role server needs 999",)),
        (f"{TWO}\ncpus = 999", ("each client needs 999", "at: hosts.cpus")),
    ],
)
def test_a_role_without_a_fit_host_is_refused(
    hosts: str, words: tuple[str, ...], ended: Any
) -> None:
    how = ended(hosts, Here(Host(), Host()))
    assert how.code is Exit.USAGE
    assert all(word in how.reply for word in words), how.reply
    assert how.reply.count("fix:") == 1
    assert not how.points


def test_a_cluster_without_other_nodes_has_no_client(ended: Any) -> None:
    how = ended("", Here())
    assert how.code is Exit.USAGE
    assert "the role clients has no host" in how.reply
    assert not how.points


def test_ray_is_absent(ended: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_here", lambda name: name != extras.RAY)
    how = ended("", at="local:2")
    assert how.code is Exit.USAGE
    assert " 'ray>=" in " ".join(how.reply.split())
    assert not how.points


def test_ray_is_of_another_version(
    ended: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ray.py").write_text('__version__ = "1.13.0"\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    monkeypatch.setattr(extras, "is_here", lambda _: True)
    how = ended("", at="local:2")
    sys.modules.pop("ray", None)  # `delitem` would put the false one back at the end
    assert how.code is Exit.USAGE
    assert "Ray 1.13.0 is not known" in how.reply
    assert not how.points


def test_a_host_has_another_sojourn(ended: Any) -> None:
    cluster = Here(Host(), Host())
    cluster.facts[1] = {"version": "0.0.1"}
    how = ended('clients = ["host0"]\nserver = "host1"', cluster)
    assert how.code is Exit.USAGE
    assert "host1 (127.0.0.2) has 0.0.1, this host" in how.reply


def test_a_clock_that_jumps_makes_the_point_unknown(ended: Any) -> None:
    class Jumps(Host):
        """Its clock is set on by a second once load has begun."""

        def there(self, ns: int) -> int:
            return super().there(ns) + (SECOND if ns > self.jumps_ns else 0)

        jumps_ns = 1 << 62

    jumping = Jumps()
    original = follow.run

    def run(*args: Any) -> None:
        original(*args)
        Jumps.jumps_ns = 0

    cluster = Here(Host(), jumping)
    cluster.facts[1] = {"time": "another"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(follow, "run", run)
        how = ended(TWO, cluster)
    assert how.code is Exit.FAILED
    assert "the clock jumped by" in how.reply
    (point,) = how.points
    assert json.loads((point / "run.json").read_text())["state"] == "failed"


def test_a_host_that_hears_and_does_not_answer_makes_the_point_unknown(
    ended: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "SILENT_S", 1.0)
    deaf = Host(is_silent=lambda name: name in {"look", "drop"})
    how = ended(TWO, Here(Host(), deaf))
    assert how.code is Exit.FAILED
    assert "client 2 of 2, on host1 (127.0.0.2), was lost: no answer" in how.reply
    assert len(how.points) == 1
