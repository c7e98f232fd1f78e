"""Clients on planted hosts: one answer, or a named reason.

Hosts are threads of this process (`testing`), what they start is the real generator. Nothing is
asserted about times of requests; a machine that is busy makes outages, which are allowed for.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hdrh.histogram import HdrHistogram

from sojourn import disk, programs
from sojourn.actors.clients import hdr
from sojourn.errors import RunFault, SpecFault
from sojourn.hosts import follow, pack
from sojourn.hosts.about import about
from sojourn.hosts.agent import Agent
from sojourn.hosts.fleet import Fleet
from sojourn.hosts.testing import Cluster, Host, Notes
from sojourn.places import ports, proc
from sojourn.run.clients import Load
from sojourn.run.generator_job import Files
from sojourn.samples.reading import not_one
from sojourn.spec.hosts import HostsSpec

SPEC = HostsSpec(at="10.9.0.1:6379")
SECOND = 1_000_000_000
ENDS_S_MAX = 60.0  # a guard against a hang on a busy machine


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOJOURN_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@contextlib.contextmanager
def served(service: str, servers: int = 16) -> Iterator[str]:
    """The target of a service that sleeps while it has nothing to do."""
    port = ports.free()
    program = programs.find("sojourn-serve")
    words = (
        "--protocol",
        "echo",
        "--service",
        service,
        "--mode",
        "sleep",
        "--servers",
        str(servers),
        "--seed",
        "3",
    )
    with subprocess.Popen(
        [program, *words, "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as started:
        until = time.monotonic() + ENDS_S_MAX
        while ports.is_free(port) and time.monotonic() < until:
            time.sleep(0.02)
        yield f"echo://127.0.0.1:{port}"
        started.kill()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with served("exponential:100us") as target:
        yield target


def job(folder: Path, target: str, **more: Any) -> dict[str, Any]:
    return {
        "target": target,
        "rate": "1200",
        "duration": "1s",
        "warmup": "0.2s",
        "connections": 8,
        "wait": "sleep",
        "seed": 3,
        "outage_over": "10s",
        "timely_within": "10s",
        "hlog": str(folder / "load.hlog"),
        "raw": str(folder / "raw.parquet"),
        "raw_max": 100_000,
        **more,
    }


Offered = Callable[..., dict[str, Any]]


@pytest.fixture
def offered(tmp_path: Path, server: str) -> Offered:
    """Offer a load from planted hosts; `load.json` and `hosts.json` of it, and how long it took."""

    def offer(cluster: Cluster, **more: Any) -> dict[str, Any]:
        asked = {"target": server, **more}
        load = Load(job(tmp_path, **asked), 1, Files.named(tmp_path, "load"))
        own = {"net": about()["net"], "boot": "the lab's"}
        for nth, _ in enumerate(cluster.hosts):
            cluster.facts.setdefault(nth, {"boot": "the lab's", "time": f"of {nth}"})
        with Fleet(SPEC, cluster, own={**about(), **own}) as fleet:
            (whole,) = fleet.offer([load], Notes())
        return {**whole, "hosts": disk.read_json(tmp_path / "hosts.json")}

    return offer


@pytest.mark.parametrize("clients", [1, 4])
def test_merged_histograms_are_those_of_all_raw_requests_bin_for_bin(
    clients: int, offered: Offered, tmp_path: Path
) -> None:
    whole = offered(Cluster(*(Host() for _ in range(clients))))
    every = [pq.read_table(tmp_path / f"raw.{nth + 1}.parquet") for nth in range(clients)]
    expected = HdrHistogram(1, hdr.MAX_NS, hdr.DIGITS)
    rows = 0
    for table in every:
        rows += len(table)
        for row in table.to_pylist():
            if row["done_ns"] is not None and row["outcome"] == "hit":
                expected.record_value(row["done_ns"] - row["intended_ns"])
    merged = hdr.added([whole["sojourn_all_ns"]["hdr"]])
    assert np.array_equal(
        np.ctypeslib.as_array(merged.counts), np.ctypeslib.as_array(expected.counts)
    )
    assert whole["requests"] == rows == whole["sojourn_all_ns"]["count"]
    for name in ("p50", "p99"):  # of all requests, and no mean of the clients' own
        q = {"p50": 0.5, "p99": 0.99}[name]
        assert whole["sojourn_all_ns"][name] == hdr.quantile(
            expected, q, whole["sojourn_all_ns"]["lost"]
        )
    joined = pq.read_table(tmp_path / "raw.parquet")
    assert len(joined) == rows
    assert joined["intended_ns"].to_pylist() == sorted(joined["intended_ns"].to_pylist())
    sigma = 1200**0.5
    assert abs(rows - 1200) < 6 * sigma, "streams of a share of the rate add up"
    assert len({one["seed"] for one in whole["hosts"]["clients"]}) == clients
    if whole["windows"]:
        assert sum(whole["windows"]["n"]) == whole["sojourn_ns"]["count"]


def test_hosts_whose_clocks_are_10_s_off_and_drift_begin_within_a_millisecond(
    offered: Offered, tmp_path: Path
) -> None:
    planted = (
        Host(offset_ns=10 * SECOND, drift=100e-6),
        Host(offset_ns=-10 * SECOND, drift=-100e-6),
        Host(offset_ns=86_400 * SECOND),
    )
    whole = offered(Cluster(*planted))
    hosts = whole["hosts"]
    starts = [
        json.loads((tmp_path / f"load.{nth}.json").read_text())["start_ns"] for nth in (1, 2, 3)
    ]
    true = [host.here(start) for host, start in zip(planted, starts, strict=True)]
    seen = [client["start_ns"] for client in hosts["clients"]]
    errors = [client["start_error_ns"] for client in hosts["clients"]]
    for at, was, error in zip(seen, true, errors, strict=True):
        assert abs(at - was) <= error + 1000
    assert max(true) - min(true) <= hosts["starts"]["within_ns"]
    if hosts["starts"]["within_ns"] <= hosts["starts"]["within_ns_max"]:
        assert not [why for why in hosts["doubts"] if why.startswith("clients apart")]
    offsets = [client["clock"]["offset_ns"] / SECOND for client in hosts["clients"]]
    assert offsets == pytest.approx([10, -10, 86_400], abs=0.01)
    assert abs(whole["started_unix_ns"] - time.time_ns()) < ENDS_S_MAX * SECOND, "the lab's clock"


def test_a_client_that_began_late_makes_the_point_unknown(offered: Offered, tmp_path: Path) -> None:
    whole = offered(Cluster(Host(), Host(late_ns=3_000_000)))
    (why,) = [why for why in whole["hosts"]["doubts"] if why.startswith("clients apart")]
    assert "1 ms may be" in why
    assert why in not_one(tmp_path / "hosts.json")


def test_a_slow_client_is_named_and_the_others_are_not(offered: Offered, tmp_path: Path) -> None:
    # Slow requests are spread over the run, and last for longer than a busy machine stops anybody.
    with served("bimodal:1ms,2s,0.15", 96) as behind:
        cluster = Cluster(Host(), Host(job={"target": behind}), Host())
        whole = offered(cluster, rate="600", duration="6s", connections=288)
    assert whole["hosts"]["tail"]["named"] == [1], [
        one["above_p99"] for one in whole["hosts"]["clients"]
    ]
    (why,) = [why for why in not_one(tmp_path / "hosts.json") if why.startswith("client slow")]
    assert "client 2 of 3, on host1 (10.9.0.2)" in why


def test_a_host_that_does_not_answer_costs_the_point_and_is_hired_again(
    offered: Offered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "SILENT_S", 1.0)
    silent = {"look": True}
    cluster = Cluster(Host(), Host(is_silent=lambda name: silent.get(name, False)))
    began_s = time.monotonic()
    with pytest.raises(RunFault, match=r"client 2 of 2, on host1 .* was lost: no answer for 1 s"):
        offered(cluster, duration="60s")
    assert time.monotonic() - began_s < 55, "no one waits for the end of the load"
    silent["look"] = False
    again = Cluster(*cluster.hosts)
    assert offered(again)["requests"] > 0


def test_a_lost_agent_is_hired_again_for_the_next_point(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(Host(), Host(), facts={n: {"boot": "b", "time": str(n)} for n in (0, 1)})
    load = Load(job(tmp_path, server), 1, Files.named(tmp_path, "load"))
    with Fleet(SPEC, cluster, own={**about(), "boot": "b"}) as fleet:
        cluster.hired[1].end()
        with pytest.raises(RunFault, match="client 2 of 2"):
            fleet.offer([load], Notes())
        assert fleet.offer([load], Notes())[0]["requests"] > 0
        assert len(cluster.hired) == 3
        cluster.hired[0].end()
        with pytest.raises(RunFault, match="client 1 of 2"):
            fleet.offer([load], Notes())
        cluster.gone.add(0)
        with pytest.raises(RunFault, match="the node has left the cluster"):
            fleet.offer([load], Notes())


def test_an_agent_that_is_not_asked_any_more_ends_its_generator(state: Path) -> None:
    agent = Agent(lease_s=1.0)
    start = {"start_at": time.monotonic_ns() + SECOND, "duration": "60s"}
    assert agent.start({"target": "null:", "rate": "100", "wait": "sleep", **start}) is None
    until = time.monotonic() + ENDS_S_MAX
    while not generators(state) and time.monotonic() < until:
        agent.stamp()
        time.sleep(0.05)
    pids = generators(state)
    assert pids
    run = agent._run
    assert run is not None
    run.thread.join(30)
    assert not run.thread.is_alive()
    assert run.fault is not None
    assert "the driver was silent for" in run.fault["what"]
    assert not [pid for pid in pids if proc.stat(pid)]
    agent.drop()
    assert not list(state.iterdir()), "nothing is left to be undone"


def generators(state: Path) -> list[int]:
    """Processes that journals note."""
    lines = [
        json.loads(line) for path in state.glob("*.jsonl") for line in path.read_text().splitlines()
    ]
    return [line["pid"] for line in lines if line["event"] == "process"]


def test_a_job_that_the_generator_refuses_says_which_client(offered: Offered) -> None:
    cluster = Cluster(Host(), Host(job={"duration": "soon"}))
    with pytest.raises((SpecFault, RunFault), match="soon") as fault:
        offered(cluster)
    assert "client 2 of 2, on host1" in fault.value.at


def test_a_damaged_result_says_which_client_file_and_line(
    offered: Offered, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault cannot be raised across hosts: an engine would report a client that was lost."""

    def damaged(_result: Path, hlog: Path | None) -> pack.Packed:
        raise RunFault("what a client wrote cannot be read: no line", at=f"{hlog}:7", fix="repeat")

    monkeypatch.setattr(pack, "packed", damaged)
    with pytest.raises(RunFault, match="cannot be read: no line") as fault:
        offered(Cluster(Host(), Host()))
    assert fault.value.at.endswith("load.hlog:7, client 1 of 2, on host0 (10.9.0.1)")
    assert fault.value.fix == "repeat"


def test_several_services_at_once_are_refused(tmp_path: Path) -> None:
    load = Load(job(tmp_path, "null:"), 1, Files.named(tmp_path, "load"))
    with Fleet(SPEC, Cluster(Host())) as fleet, pytest.raises(SpecFault, match="at once"):
        fleet.offer([load, load], Notes())
