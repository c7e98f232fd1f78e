"""Real servers in a network namespace, and nothing of it left: at the end, nor after `kill -9`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import host, places, samples
from sojourn.host.abilities import abilities
from sojourn.places import Launch, netns, network, ports, proc
from sojourn.plan import Point
from sojourn.run.journal import Journal
from sojourn.run.restore import restore
from sojourn.spec import Study

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

Measure = Callable[[Study, Point], Path]


@pytest.fixture(autouse=True)
def namespaces() -> None:
    """Skip where this machine makes no network namespace, or lets no one but root."""
    (ability,) = (a for a in abilities(host.read(sample_s=0)) if a.name == "network namespaces")
    if not ability.can:
        pytest.skip(f"needs {ability.missing}: {ability.fix}")


def network_of_the_machine() -> tuple[object, ...]:
    """Every link by number, name and address, every route, every named namespace."""
    with network.netlink() as route:
        links = {
            (one["index"], one.get_attr("IFLA_IFNAME"), one.get_attr("IFLA_ADDRESS"))
            for one in route.get_links()
        }
    named = {path.name for path in network.RUN.glob("*")}
    return links, set(network.routed()), named


@pytest.fixture(autouse=True)
def network_is_left_as_it_was(namespaces: None) -> Iterator[None]:
    before = network_of_the_machine()
    yield
    assert network_of_the_machine() == before


@pytest.mark.parametrize("kind", ["memcached", "nginx", "synthetic"])
def test_a_server_in_a_namespace_is_filled_pinned_watched_and_measured(
    lab: SimpleNamespace, needs: Callable[[str], None], measure: Measure, kind: str
) -> None:
    needs(kind)
    folder = measure(lab.study(kind, place="netns"), lab.point(kind))
    served: dict[str, Any] = json.loads((folder / "service.json").read_text())
    assert served["place"] == "netns"
    assert served["host"] not in {ports.HOST, netns.UNKNOWN}
    assert f"{served['host']}:{served['port']}" in (folder / "load.job.json").read_text()
    own, server = (Path(f"/proc/{pid}/ns/net").readlink() for pid in (os.getpid(), served["pid"]))
    assert own != server
    for pid, cpu in served["pins"].items():
        assert os.sched_getaffinity(int(pid)) == {cpu}
    assert any(what == "place" and "sojourn-" in how for what, how in served["setup"])
    result = json.loads((folder / "load.json").read_text())
    assert result["sojourn_all_ns"]["count"] - result["sojourn_all_ns"]["lost"] > 0
    assert samples.read(folder).achieved_rps > 0


def test_a_port_is_its_own_inside(state: Path) -> None:
    place = places.kind("netns").build()
    book = Journal.create(state)
    place.enter(book)
    try:
        address = place.address(0)
        script = (
            f"import socket, time; s = socket.create_server({tuple(address)!r}); time.sleep(600)"
        )
        words, log = [sys.executable, "-I", "-S", "-c", script], state / "log"
        made = place.start(Launch("listener", words, cwd=state, ledger=book, log=log))
        try:
            while place.is_free(address.port):
                assert made.poll(0.02) is None
            assert ports.is_free(address.port)  # outside it is no one's
            assert place.owner(address.port, [os.getpid(), made.pid]) == made.pid
            assert str(made.pid) in place.holder(address.port)
        finally:
            made.stop()
    finally:
        place.leave()
        book.close()
        (state / "log").unlink(missing_ok=True)


def test_whatever_the_step_a_lab_dies_at_nothing_is_left(
    tmp_path: Path, lab: SimpleNamespace
) -> None:
    before = network_of_the_machine()
    dirty = lab.killed_at_every_step("netns", tmp_path, network_of_the_machine)
    assert {4, 6, 8} <= set(dirty)  # after namespace, bridge and pair were made
    assert len(dirty) > 10
    assert network_of_the_machine() == before


def test_a_lab_that_is_killed_in_mid_measurement_leaves_its_namespace_to_restore(
    lab: SimpleNamespace,
    needs: Callable[[str], None],
    eventually: Callable[[Callable[[], bool], str], None],
    tmp_path: Path,
    state: Path,
) -> None:
    needs("memcached")
    before, folder = network_of_the_machine(), tmp_path / "point"
    words = [sys.executable, str(lab.path), "memcached", str(folder), str(state), "netns"]
    with subprocess.Popen(words) as child:
        eventually((folder / "measuring").exists, "nothing was measured")
        assert network_of_the_machine() != before
        child.kill()
    undone = restore(state)
    assert [one.what.split()[1] for one in undone if one.what.startswith("network")] == [
        *("link", "link", "namespace")
    ]
    assert network_of_the_machine() == before
    pids = [s.pid for p in proc.pids() if (s := proc.stat(p)) and s.name == "memcached"]
    assert not [pid for pid in pids if "sojourn" in str(Path(f"/proc/{pid}/cwd").readlink())]
