"""Roles on a real cluster of Ray: the service on one host, clients on others.

The lab is on the head's host. The server's host and the client's each have a network, a state
folder and a Ray node of their own. Kills are real; what they leave is looked for on every host.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sojourn import disk, pipeline
from sojourn.errors import Exit
from sojourn.hosts import cluster_testing
from sojourn.hosts.cluster_testing import TWO_CLIENTS, Cluster, generators
from sojourn.plan import Verdict

pytest.importorskip("ray", reason="needs the extra ray")
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("turn")]

LENGTH_S_MAX = 900.0  # a guard against a hang
TRIES = 4  # a busy machine may lose a host
Eventually = Callable[[Callable[[], bool], str], None]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Head, a client and two servers."""
    if lack := cluster_testing.lack():
        pytest.skip(f"needs {lack}")
    with cluster_testing.cluster(tmp_path_factory.mktemp("roles"), 3) as cluster:
        yield cluster


def study(made: Cluster, folder: Path, *, seconds: float, more: str = "") -> list[str]:
    """Command of a study whose service is on the second worker."""
    _, client, server, _ = made.hosts
    hosts = f'at = "{made.at}"\nclients = ["{client.address}"]\nserver = "{server.address}"'
    text = TWO_CLIENTS.format(name="roles", hosts=hosts, seconds=seconds)
    (folder / "study.toml").write_text(text + more)
    where = [str(folder / "study.toml"), "--results", str(folder / "results"), "--force"]
    return [sys.executable, "-m", "sojourn", "run", *where]


def completed(made: Cluster, words: list[str], results: Path) -> str:
    """Run a study until it is complete; its output."""
    reply = ""
    for _ in range(TRIES):
        done = made.run(words, LENGTH_S_MAX)
        reply += done.stdout + done.stderr
        if list(results.rglob("complete.json")):
            assert done.returncode in {Exit.OK, Exit.UNKNOWN}, reply
            return reply
    raise AssertionError(reply)


def programs(made: Cluster) -> list[int]:
    """Stages, services, generators and their wardens, on any host."""
    found = [pid for host in made.hosts for pid in host.pids("sojourn-")]
    found += [pid for host in made.hosts for pid in host.pids("sojourn.stage")]
    return found + [pid for host in made.hosts for pid in generators(host.state)]


def journals(made: Cluster) -> list[str]:
    return [str(at) for host in made.hosts for at in host.state.glob("*.jsonl")]


def test_one_report_of_two_servers_on_other_hosts(
    made: Cluster, tmp_path: Path, eventually: Eventually
) -> None:
    _, client, one, two = made.hosts
    more = f'[factors]\n"hosts.server" = ["{one.address}", "{two.address}"]\n'
    completed(made, study(made, tmp_path, seconds=1, more=more), tmp_path / "results")
    points = [at.parent for at in (tmp_path / "results").rglob("points/*/outcome.parquet")]
    served = sorted(disk.read_json(at / "service.json")["host"] for at in points)
    assert served == sorted([one.address, two.address] * 2), "each block has both"
    for at in points:
        load = disk.read_json(at / "load.json")
        assert load["requests"] > 100
        target = disk.read_json(at / "service.json")["host"]
        assert f"//{target}:" in load["job"]["target"]
        assert disk.read_json(at / "hosts.json")["clients"][0]["address"] == client.address
    (record,) = (tmp_path / "results").rglob("complete.json")
    findings = pipeline.findings_of(record.parent)
    assert [factor.key for factor in findings.factors] == ["hosts.server"]
    assert len(findings.services) == 2, "one page has both"
    eventually(lambda: not programs(made), "nothing of it runs on any host")
    assert not journals(made)


@pytest.mark.parametrize("victim", ["lab", "agent of the server", "stage", "host of the server"])
def test_kills_leave_nothing_on_the_host_of_the_server(
    victim: str, made: Cluster, tmp_path: Path, eventually: Eventually
) -> None:
    _, client, server, _ = made.hosts
    words, results = study(made, tmp_path, seconds=6), tmp_path / "results"
    env = {**os.environ, **made.head.variables()}
    log = tmp_path / "lab.log"
    with (
        log.open("wb") as out,
        subprocess.Popen(
            [*made.head.inside, *words], env=env, stdout=out, stderr=out, start_new_session=True
        ) as lab,
    ):
        eventually(lambda: bool(generators(client.state)) or lab.poll() is not None, "load begins")
        assert lab.poll() is None, log.read_text()
        if victim == "lab":
            lab.kill()
        elif victim == "stage":
            kill(server.pids("sojourn.stage"))
        elif victim == "agent of the server":
            kill(server.pids("ray::Agent"))
        else:
            kill([*server.pids("ray"), *server.pids("sojourn")])
        eventually(lambda: lab.poll() is not None, "the lab ends by itself")
    eventually(lambda: not programs(made), "nothing runs on any host")
    made.start()
    completed(made, words, results)
    rows = [pq.read_table(at).to_pylist()[0] for at in results.rglob("outcome.parquet")]
    if victim != "lab":
        assert any(row["verdict"] == Verdict.UNKNOWN for row in rows), "the point that was hit"
    made.run([sys.executable, "-m", "sojourn", "restore", "--hosts", made.at], LENGTH_S_MAX)
    assert not journals(made)


def kill(pids: list[int]) -> None:
    assert pids, "there is somebody to kill"
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
