"""Roles on planted hosts: real services, neighbours and generators.

Hosts are threads of this process, what they start is real. Nothing is asserted about times.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sojourn import disk, pipeline, plan, questions, report, run, spec
from sojourn.cli import tco_platforms
from sojourn.errors import Fault, HostFault, RunFault, SpecFault
from sojourn.hosts import ray_engine
from sojourn.hosts.agent import Agent
from sojourn.hosts.engine import Node
from sojourn.hosts.fleet import Fleet
from sojourn.hosts.testing import Cluster, Host
from sojourn.models.tco import Costs
from sojourn.places import ports, proc
from sojourn.plan import codec
from sojourn.run.clients import Load
from sojourn.spec import to_toml
from sojourn.testing import seen_once

GONE_S_MAX = 120.0  # a guard against a hang
STUDY = """
name = "roles"
question = "Does a service on another host answer as one here?"
probe = "0"
aa = false
{neighbour}
[hosts]
at = "10.9.0.1:6379"
clients = ["host0", "host1"]
{roles}
[run]
profile = "quick"
measure_s = {seconds}
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
{more}
"""


class Quiet:
    """Somebody who watches a study and hears of nothing."""

    def opened(self, *_: object) -> None: ...
    def event(self, *_: object) -> None: ...
    def began(self, *_: object) -> None: ...
    def ended(self, *_: object) -> None: ...


class Here(Cluster):
    """Planted hosts with addresses that this machine has."""

    def nodes(self) -> tuple[Node, ...]:
        """As a cluster names them."""
        return tuple(
            Node(id=node.id, name=node.name, address=f"127.0.0.{nth + 1}")
            for nth, node in enumerate(super().nodes())
        )


Measured = Callable[..., Path]


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measured:
    """Run a study with these roles; the folder of its record."""
    monkeypatch.setenv("SOJOURN_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("sojourn.hosts.about.FEATURES", {})  # no host has any
    seen_once(monkeypatch)
    monkeypatch.setattr(report, "write", lambda _findings, path, _parts, **_: [path])

    def measure(roles: str, neighbour: str = "", *, seconds: float = 0.6, more: str = "") -> Path:
        cluster = Here(*(Host() for _ in range(4)), facts={n: {} for n in range(4)})
        monkeypatch.setattr(ray_engine, "connect", lambda _: cluster)
        path = tmp_path / "study.toml"
        text = STUDY.format(roles=roles, neighbour=neighbour, seconds=seconds, more=more)
        path.write_text(text)
        patience = run.Patience(is_forced=True)
        done = pipeline.run_study(spec.load(path), tmp_path / "results", Quiet(), patience=patience)
        return done.path

    return measure


def the_point(record: Path) -> Path:
    """Folder of the only point."""
    (at,) = record.rglob("points/*/outcome.parquet")
    return at.parent


def left(state: Path) -> list[str]:
    """What journals note and still is, and journals."""
    return [path.read_text() for path in state.glob("*.jsonl") if path.stat().st_size]


def test_a_service_on_another_host_is_measured_like_one_here(
    measured: Measured, tmp_path: Path
) -> None:
    point = the_point(measured('server = "host2"'))
    service = disk.read_json(point / "service.json")
    assert service["host"] == "127.0.0.3", "it listens at the address of its host"
    assert ["server", "host2 (127.0.0.3)"] in service["setup"]
    load = disk.read_json(point / "load.json")
    assert load["job"]["target"].startswith("echo://127.0.0.3:")
    assert (
        sum(c["requests"] for c in disk.read_json(point / "hosts.json")["clients"])
        == (load["requests"])
    )
    assert load["requests"] > 100
    resources = disk.read_json(point / "resources.json")
    assert resources["measured_unix_ns"] is not None, "its host knows when the load was"
    assert disk.read_json(point / "host.json")["server_cpu_s"] > 0
    assert proc.stat(service["pid"]) is None, "its life is over"
    assert not left(tmp_path / "state")


def test_neighbours_run_on_hosts_of_their_own(measured: Measured, tmp_path: Path) -> None:
    beside = 'neighbour = "noise:cpu@30%,where=client,tolerance=100%"'
    roles = 'neighbours = ["host2", "host3"]\nobservers = ["host3"]'
    point = the_point(measured(roles, neighbour=beside))
    seen = disk.read_json(point / "host.json")
    assert {"neighbour", "neighbour_2"} <= set(seen), "one on each host"
    assert all(seen[name]["called"] == "cpu at 30%" for name in ("neighbour", "neighbour_2"))
    assert (point / "neighbour-0.log").read_text(), "what it reply is here"
    assert (point / "neighbour_2-0.log").read_text()
    (observed,) = disk.read_json(point / "hosts.json")["observers"]
    assert observed["host"] == "host3"
    assert 0 <= observed["used_share"] <= 1
    assert not left(tmp_path / "state")


def test_a_server_and_neighbours_elsewhere_at_once(measured: Measured, tmp_path: Path) -> None:
    beside = 'neighbour = "noise:cpu@30%,where=client,tolerance=100%"'
    point = the_point(measured('server = "host2"\nneighbours = ["host3"]', neighbour=beside))
    seen = disk.read_json(point / "host.json")
    assert seen["neighbour"]["called"] == "cpu at 30%"
    assert seen["server_cpu_s"] > 0, "what the server's host saw is there as well"
    assert not left(tmp_path / "state")


@pytest.mark.parametrize(
    ("roles", "kind", "at"),
    [
        ('server = "nowhere"', SpecFault, "hosts.server"),
        ('neighbours = ["nowhere"]', SpecFault, "hosts.neighbours"),
        ('observers = ["zone=b"]', SpecFault, "hosts.observers"),
        ('server = "host2"\nneeds.server.cpus = 4096', HostFault, "hosts.needs.server.cpus"),
        (
            'observers = ["host2"]\nneeds.observers.features = ["sched_ext"]',
            HostFault,
            "hosts.needs.observers.features",
        ),
    ],
)
def test_a_role_without_a_host_is_refused_before_the_first_run(
    roles: str,
    kind: type[Fault],
    at: str,
    measured: Measured,
    tmp_path: Path,
) -> None:
    with pytest.raises(kind) as refused:
        measured(roles)
    assert refused.value.at == at
    assert refused.value.exit == 2
    assert not list(tmp_path.rglob("point.json"))


@pytest.mark.parametrize(
    ("roles", "why"),
    [
        ("needs.server.cpus = 2", "has needs and no host"),
        ('neighbours = ["a", "a"]', "named twice"),
        ('server = "a b"', "no name of a node"),
    ],
)
def test_a_study_whose_roles_make_no_sense_is_refused(roles: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(roles=roles, neighbour="", seconds=1, more=""))
    with pytest.raises(SpecFault, match=why):
        spec.load(path)


def test_a_service_that_dies_elsewhere_costs_its_point(
    measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow = Fleet.offer

    def offer(fleet: Fleet, loads: Sequence[Load], *more: Any) -> Any:
        port = int(str(loads[0].job["target"]).rpartition(":")[2])
        timer = threading.Timer(0.5, kill_server, [port])
        timer.start()
        try:
            return follow(fleet, loads, *more)
        finally:
            timer.join()

    monkeypatch.setattr(Fleet, "offer", offer)
    with pytest.raises(RunFault) as lost:
        measured('server = "host2"', seconds=20)
    assert "synthetic was killed by SIGKILL" in lost.value.what
    assert "server on host2" in lost.value.at


def kill_server(port: int) -> None:
    """Kill who listens on a port."""
    for pid in proc.pids():
        if ports.owner(port, [pid]) is not None:
            os.kill(pid, signal.SIGKILL)


def test_servers_take_turns_as_levels_of_a_factor(measured: Measured) -> None:
    record = measured('server = "host2"', more='[factors]\n"hosts.server" = ["host2", "host3"]\n')
    rows = [pq.read_table(at).to_pylist()[0] for at in record.rglob("points/*/outcome.parquet")]
    hosts = sorted(str(disk.read_json(at)["host"]) for at in record.rglob("points/*/service.json"))
    assert len(rows) == 2
    assert hosts == ["127.0.0.3", "127.0.0.4"]
    assert [one.key for one in pipeline.findings_of(record).factors] == ["hosts.server"]
    one, two = tco_platforms.platforms(record, {"host2": 1000.0, "host3": 2000.0})
    assert (one.load_rps, two.load_rps) == (500.0, 500.0), "the highest that was asked"
    cheap, dear = one.row(Costs()), two.row(Costs())
    assert 0 < cheap["usd_per_krps"] < dear["usd_per_krps"]
    assert cheap["cpus"] >= 1
    with pytest.raises(SpecFault, match="host3 has no price"):
        tco_platforms.platforms(record, {"host2": 1.0})
    with pytest.raises(SpecFault, match="host9 is no server"):
        tco_platforms.platforms(record, {"host9": 1.0, "host2": 1.0, "host3": 1.0})
    with pytest.raises(SpecFault, match="is no NAME=PRICE"):
        tco_platforms.prices(["host2"])


def test_a_silent_driver_ends_the_stage_and_its_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOJOURN_STATE", str(tmp_path / "state"))
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(roles='server = "host2"', neighbour="", seconds=1, more=""))
    study = spec.load(path)
    point = plan.next_point(study, [], questions.PLANS)
    assert point is not None
    agent, reply = Agent(lease_s=1.0), []
    opening = {"do": "open", "study": to_toml(study), "address": "127.0.0.1", "rows": []}
    agent.stage_open({**opening, "is_forced": True, "neighbours": True})
    agent.stage_tell({"do": "measure", "point": codec.to_json(point)})

    def is_ready() -> bool:
        reply.extend(agent.stage_heard())
        return any(one["say"] == "ready" for one in reply)

    eventually(is_ready, "a service that waits for load")
    pids = [entry for entry in noted(tmp_path / "state") if proc.stat(entry)]
    assert len(pids) >= 2, "the stage and its service"
    eventually(lambda: not any(map(lives, pids)), "nothing is left when no one asks")
    agent.undo()  # a stage that a busy machine keeps from its end in order is killed
    eventually(lambda: not left(tmp_path / "state"), "nothing is left to be undone")


def eventually(is_so: Callable[[], bool], what: str) -> None:
    """Wait until something is so, with a guard against a hang."""
    until = time.monotonic() + GONE_S_MAX
    while not is_so():
        assert time.monotonic() < until, what
        time.sleep(0.05)


def noted(state: Path) -> list[int]:
    """Processes that journals note."""
    lines = [json.loads(line) for text in left(state) for line in text.splitlines()]
    return [line["pid"] for line in lines if line["event"] == "process"]


def lives(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    stat = proc.stat(pid)
    return stat is not None and stat.state != "Z"
