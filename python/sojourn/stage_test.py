"""Roles on planted hosts: real services, neighbours and generators.

Hosts are threads of this process, what they start is real. Nothing is asserted about times.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from sojourn import disk, plan, questions, spec
from sojourn.errors import Fault, HostFault, RunFault, SpecFault
from sojourn.hosts.agent import Agent
from sojourn.hosts.fleet import Fleet
from sojourn.places import ports, proc
from sojourn.plan import codec
from sojourn.run.clients import Load
from sojourn.spec import to_toml
from sojourn.stage_testing import STUDY, Measured, measuring

GONE_S_MAX = 120.0  # a guard against a hang
COUNTED = "3000"  # requests/s that take several ticks of CPU time in a short run


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measured:
    """Run a study with these roles; the folder of its record."""
    return measuring(tmp_path, monkeypatch)


def the_point(record: Path) -> Path:
    """Folder of the only point."""
    (at,) = record.rglob("points/*/outcome.parquet")
    return at.parent


def left(state: Path) -> list[str]:
    """What journals note and still is; a journal may go while it is looked at."""
    texts = []
    for path in state.glob("*.jsonl"):
        with contextlib.suppress(FileNotFoundError):
            texts.append(path.read_text())
    return [text for text in texts if text]


def test_a_service_on_another_host_is_measured_like_one_here(
    measured: Measured, tmp_path: Path
) -> None:
    point = the_point(measured('server = "host2"', rate=COUNTED))
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
    roles = 'server = "host2"\nneighbours = ["host3"]'
    point = the_point(measured(roles, neighbour=beside, rate=COUNTED))
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
    path.write_text(STUDY.format(roles=roles, neighbour="", seconds=1, rate="500", more=""))
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


def test_a_silent_driver_ends_the_stage_and_its_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOJOURN_STATE", str(tmp_path / "state"))
    path = tmp_path / "study.toml"
    roles = 'server = "host2"'
    path.write_text(STUDY.format(roles=roles, neighbour="", seconds=1, rate="500", more=""))
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
