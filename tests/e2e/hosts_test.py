"""Clients on a real cluster of Ray: one answer, and what kills leave.

One node has a clock of its own: a time namespace, in which the kernel adds ten hours to the clock
that starts are given in. So it is known how far apart the clocks are, to the nanosecond.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn import disk, programs
from sojourn.errors import Exit, Fault, RunFault
from sojourn.hosts import ray_engine
from sojourn.hosts.cluster_testing import PACKAGE, TWO_CLIENTS, below, generators, ray_start
from sojourn.hosts.fleet import Fleet
from sojourn.hosts.testing import Notes
from sojourn.places import ports
from sojourn.run.clients import Load
from sojourn.run.generator_job import Files
from sojourn.spec.hosts import HostsSpec

pytest.importorskip("ray", reason="needs the extra ray")
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("turn")]

AHEAD_S = 36_000
SECOND = 1_000_000_000
GONE_S_MAX = 600.0  # a guard against a hang
Eventually = Callable[[Callable[[], bool], str], None]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Its address, and a folder with logs and journals; nodes `near` and `apart`."""
    unshare = shutil.which("unshare")
    probe = [str(unshare), "--time", "--monotonic", "1", "--fork", "true"]
    if not unshare or subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip("needs root and time namespaces")
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "state").mkdir(mode=0o700)
    temp = Path("/tmp") / f"sjr{os.getpid()}"  # noqa: S108  # paths of sockets are short
    at = f"127.0.0.1:{ports.free()}"
    nodes = []
    try:
        head = ("--head", "--port", at.partition(":")[2], "--include-dashboard", "false")
        nodes.append(ray_start(folder, "near", *head, "--temp-dir", str(temp)))
        while ports.is_free(int(at.partition(":")[2])):
            assert nodes[0].poll(0.1) is None, (folder / "near.log").read_text()
        other = (str(unshare), "--time", "--monotonic", str(AHEAD_S), "--fork")
        nodes.append(ray_start(folder, "apart", "--address", at, before=other))
        yield at, folder
    finally:
        for node in nodes:
            node.stop(first=signal.SIGKILL)
        shutil.rmtree(temp, ignore_errors=True)


@pytest.fixture(scope="module")
def fleet(cluster: tuple[str, Path]) -> Iterator[Fleet]:
    """A client on each node."""
    at, _ = cluster
    spec, until = HostsSpec(at=at, clients=("near", "apart")), time.monotonic() + GONE_S_MAX
    while True:
        try:
            made = Fleet(spec, ray_engine.connect(spec))
            break
        except Fault:
            assert time.monotonic() < until
            time.sleep(1)
    with made:
        yield made


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    port = ports.free()
    words = ("--protocol", "echo", "--service", "exponential:100us", "--mode", "sleep")
    with subprocess.Popen(
        [programs.find("sojourn-serve"), *words, "--port", str(port)], stdout=subprocess.DEVNULL
    ) as started:
        while ports.is_free(port):
            time.sleep(0.02)
        yield f"echo://127.0.0.1:{port}"
        started.kill()


def load(folder: Path, target: str, duration: str) -> Load:
    job = {
        "target": target,
        "rate": "1000",
        "duration": duration,
        "warmup": "0.2s",
        "connections": 8,
        "wait": "sleep",
        "seed": 3,
        "outage_over": "10s",
        "timely_within": "10s",
        "hlog": str(folder / "load.hlog"),
    }
    return Load(job, 1, Files.named(folder, "load"))


def test_nodes_with_clocks_ten_hours_apart_begin_together(
    fleet: Fleet, target: str, tmp_path: Path
) -> None:
    fleet.offer([load(tmp_path, target, "1s")], Notes())
    hosts = disk.read_json(tmp_path / "hosts.json")
    near, apart = (json.loads((tmp_path / f"load.{n}.json").read_text()) for n in (1, 2))
    assert [client["clock"]["is_the_labs"] for client in hosts["clients"]] == [True, False]
    clock = hosts["clients"][1]["clock"]
    assert abs(clock["offset_ns"] - AHEAD_S * SECOND) <= clock["error_ns"]
    true_spread_ns = abs(apart["start_ns"] - near["start_ns"] - AHEAD_S * SECOND)
    assert true_spread_ns <= hosts["starts"]["within_ns"]
    assert near["requests"] + apart["requests"] == sum(c["requests"] for c in hosts["clients"])
    assert abs(near["requests"] - 500) < 6 * 500**0.5


def in_background(fleet: Fleet, asked: Load) -> tuple[threading.Thread, list[BaseException]]:
    """Offer a load from another thread; what it raises."""
    raised: list[BaseException] = []

    def offer() -> None:
        try:
            fleet.offer([asked], Notes())
        except Fault as fault:
            raised.append(fault)

    thread = threading.Thread(target=offer)
    thread.start()
    return thread, raised


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lost_agent_costs_the_point_and_nothing_of_it_is_left(
    number: signal.Signals,
    fleet: Fleet,
    target: str,
    cluster: tuple[str, Path],
    tmp_path: Path,
    eventually: Eventually,
) -> None:
    _, folder = cluster
    thread, raised = in_background(fleet, load(tmp_path, target, "120s"))
    eventually(lambda: len(generators(folder / "state")) == 2, "two generators run")
    os.kill(int(fleet.crew.members[1].facts["pid"]), number)
    thread.join(GONE_S_MAX)
    assert not thread.is_alive()
    assert isinstance(raised[0], RunFault)
    assert "client 2 of 2, on apart" in raised[0].what
    eventually(lambda: not generators(folder / "state"), "no generator is left")
    fleet.offer([load(tmp_path, target, "1s")], Notes())
    assert disk.read_json(tmp_path / "hosts.json")["clients"][1]["host"] == "apart", "hired again"


def test_a_killed_generator_costs_the_point_and_says_so(
    fleet: Fleet, target: str, cluster: tuple[str, Path], tmp_path: Path, eventually: Eventually
) -> None:
    _, folder = cluster
    thread, raised = in_background(fleet, load(tmp_path, target, "120s"))
    eventually(lambda: len(generators(folder / "state")) == 2, "two generators run")
    os.kill(generators(folder / "state")[0], signal.SIGKILL)
    thread.join(GONE_S_MAX)
    assert "SIGKILL" in str(raised[0])
    assert "of 2, on" in str(raised[0])
    eventually(lambda: not generators(folder / "state"), "the other one has ended too")


def study(folder: Path, seconds: float) -> list[str]:
    text = TWO_CLIENTS.format(name="many_clients", hosts='at = "local:2"', seconds=seconds)
    (folder / "study.toml").write_text(text)
    where = [str(folder / "study.toml"), "--results", str(folder / "results"), "--force"]
    return [sys.executable, "-m", "sojourn", "run", *where]


def test_a_killed_driver_leaves_nothing_and_the_study_resumes(
    tmp_path: Path, eventually: Eventually
) -> None:
    env = {**os.environ, "PYTHONPATH": PACKAGE, "SOJOURN_STATE": str(tmp_path / "state")}
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": env}
    results = tmp_path / "results"

    def is_in_the_second_point() -> bool:
        return (
            bool(list(results.rglob("outcome.parquet")))
            and len(generators(tmp_path / "state")) >= 3
        )

    with subprocess.Popen(study(tmp_path, 4), **quiet) as lab:
        eventually(is_in_the_second_point, "a server and two generators run")
        lab.kill()
    eventually(lambda: not generators(tmp_path / "state"), "no generator and no server is left")
    eventually(lambda: not below(tmp_path), "nothing of Ray is left")
    assert len(list(results.rglob("outcome.parquet"))) == 1
    command, until = study(tmp_path, 4), time.monotonic() + GONE_S_MAX
    code = Exit.FAILED
    while code == Exit.FAILED and time.monotonic() < until:  # a host of a busy machine may be lost
        resumed = subprocess.run(command, check=False, capture_output=True, text=True, env=env)
        code = Exit(resumed.returncode)
    assert code in {Exit.OK, Exit.UNKNOWN}, resumed.stderr
    assert len(list(results.rglob("complete.json"))) == 1
    points = sorted(results.rglob("hosts.json"))
    assert [len(disk.read_json(at)["clients"]) for at in points] == [2, 2]
    assert not below(tmp_path)
    assert not list((tmp_path / "state").glob("*.jsonl")), "nothing is left to be undone"


def refused(at: str, **variables: str) -> str:
    """Why a cluster refuses, asked from a process of its own: one has one connection."""
    text = (
        "from sojourn.errors import Fault\n"
        "from sojourn.hosts import ray_engine\n"
        "from sojourn.spec.hosts import HostsSpec\n"
        f"try: ray_engine.connect(HostsSpec(at={at!r}))\n"
        "except Fault as fault: print(fault)\n"
    )
    env = {**os.environ, "PYTHONPATH": PACKAGE, **variables}
    words = [sys.executable, "-c", text]
    return subprocess.run(words, check=True, capture_output=True, text=True, env=env).stdout


def test_a_wrong_token_is_refused(tmp_path: Path) -> None:
    at, temp = f"127.0.0.1:{ports.free()}", Path("/tmp") / f"sjt{os.getpid()}"  # noqa: S108
    closed = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a" * 40}
    head = ("--head", "--port", at.partition(":")[2], "--include-dashboard", "false")
    node = ray_start(tmp_path, "closed", *head, "--temp-dir", str(temp), variables=closed)
    try:
        while ports.is_free(int(at.partition(":")[2])):
            assert node.poll(0.1) is None, (tmp_path / "closed.log").read_text()
        text = refused(at, **(closed | {"RAY_AUTH_TOKEN": "b" * 40}))
        assert "no cluster answers, or it refuses the token" in text
    finally:
        node.stop(first=signal.SIGKILL)
        shutil.rmtree(temp, ignore_errors=True)
