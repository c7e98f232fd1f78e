"""Who is a client, and what its host must have: errors before the first run.

Hosts are planted (a fake): agents are threads of this process.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import HostFault, RunFault, SpecFault
from sojourn.hosts import copies
from sojourn.hosts.about import about
from sojourn.hosts.chosen import chosen
from sojourn.hosts.clock import Reading, same
from sojourn.hosts.engine import LostError, Node
from sojourn.hosts.fleet import Fleet
from sojourn.hosts.testing import Cluster, Host
from sojourn.spec.hosts import HostsSpec

SPEC = HostsSpec(at="10.9.0.1:6379")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_STATE", str(tmp_path / "state"))


def test_who_is_a_client_is_said_by_name_address_or_label() -> None:
    nodes = Cluster(Host(), Host(), Host()).nodes()
    by = {"host1": ["host1"], "10.9.0.3": ["host2"], "id0": ["host0"]}
    for name, wanted in by.items():
        spec = HostsSpec(at="auto", clients=(name,))
        assert [node.name for node in chosen(spec, nodes)] == wanted
    twice = HostsSpec(at="auto", clients=("host0", "host0"))
    assert len(chosen(twice, nodes)) == 2


@pytest.mark.parametrize("role", ["server", "neighbours", "observers"])
def test_who_has_another_role_is_a_client_only_if_it_is_named_as_one(role: str) -> None:
    nodes = Cluster(Host(), Host(), Host()).nodes()
    name: Any = "host1" if role == "server" else ("host1",)
    others = chosen(HostsSpec(at="auto", **{role: name}), nodes)
    assert [node.name for node in others] == ["host0", "host2"]
    both = HostsSpec(at="auto", clients=("host1", "host2"), **{role: name})
    assert [node.name for node in chosen(both, nodes)] == ["host1", "host2"]


def test_a_host_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(SpecFault, match="no node 'host7'") as fault:
        Fleet(HostsSpec(at="auto", clients=("host7",)), Cluster(Host(), Host()))
    assert "host0 (10.9.0.1), host1 (10.9.0.2)" in fault.value.fix


def test_a_cluster_of_this_host_alone_has_no_client() -> None:
    cluster = Cluster()
    with pytest.raises(SpecFault, match="the role clients has no host"):
        Fleet(HostsSpec(at="auto"), cluster)


def test_a_host_with_another_version_is_refused() -> None:
    cluster = Cluster(Host(), facts={0: {"version": "0.1.0"}})
    with pytest.raises(HostFault, match=r"host0 \(10\.9\.0\.1\) has 0\.1\.0, this host"):
        Fleet(SPEC, cluster)


@pytest.mark.parametrize(
    ("needs", "facts", "why"),
    [
        ({"cpus": 4}, {"cpus": [0, 1]}, "has 2 CPUs, each client needs 4"),
        ({"features": ("btf", "sched_ext")}, {"features": ["btf"]}, "needs: sched_ext"),
    ],
)
def test_a_host_that_lacks_what_clients_need_is_refused_before_the_run(
    needs: dict[str, Any], facts: dict[str, Any], why: str
) -> None:
    spec = HostsSpec(at="auto", **needs)
    enough = {"cpus": [0, 1, 2, 3], "features": ["btf", "sched_ext"]}
    cluster = Cluster(Host(), Host(), facts={0: enough, 1: {**enough, **facts}})
    with pytest.raises(HostFault, match=why) as fault:
        Fleet(spec, cluster)
    assert fault.value.what.startswith("host1 (10.9.0.2)")
    assert fault.value.at == f"hosts.{next(iter(needs))}"
    Fleet(spec, Cluster(Host(), facts={0: enough})).__exit__(None, None, None)


def test_a_cluster_without_an_answer_is_a_fault_with_a_way_out() -> None:
    class Headless(Cluster):
        def nodes(self) -> tuple[Node, ...]:
            raise LostError("the cluster's head: no answer within 30 s")

    with pytest.raises(RunFault, match="no answer within 30 s") as fault:
        Fleet(SPEC, Headless(Host()))
    assert "it resumes" in fault.value.fix


def test_a_copy_of_a_running_machine_is_no_part_of_it() -> None:
    """Virtual machines of one saved state have one boot; each clock shows when its own went on."""
    boot = {"boot": "b", "time": "t"}
    own = {**about(), **boot}
    cluster = Cluster(
        Host(),
        Host(offset_ns=5_000_000_000),
        Host(offset_ns=-70_000_000),
        facts=dict.fromkeys(range(3), boot),
    )
    with Fleet(SPEC, cluster, own=own) as fleet:
        here, *others = fleet.crew.members
        assert (here.is_here, here.facts["boot"]) == (True, "b")
        assert [(one.is_here, one.facts["boot"]) for one in others] == [(False, "")] * 2
        for one, offset_ns in zip(others, (5_000_000_000, -70_000_000), strict=True):
            assert one.there(0) == pytest.approx(offset_ns, abs=50_000_000)
        others[0].lose()
        fleet.crew.ready()
        assert [one.is_here for one in fleet.crew.members] == [True, False, False]


def test_copies_on_other_hosts_are_several_machines_and_clients_of_one_are_not() -> None:
    at, off = same(0), Reading(at_ns=0, offset_ns=3e9, error_ns=2e5)
    facts = {"boot": "b", "time": "t"}
    seen = [(facts, off), (facts, replace(off, offset_ns=3e9 + 3e5)), (facts, at)]
    boots = [one["boot"] for one in copies.apart(seen, {"boot": "own", "time": "t"}, 0)]
    assert boots == ["b", "b", ""]
    later = replace(off, at_ns=60_000_000_000, offset_ns=3e9 + 25e6)
    known = copies.apart([(facts, off), (facts, later)], {"boot": "own", "time": "t"}, later.at_ns)
    assert [one["boot"] for one in known] == ["b", "b"], "a clock drifts after its reading"
