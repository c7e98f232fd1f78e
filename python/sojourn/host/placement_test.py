from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn.errors import HostFault
from sojourn.host import company, placement, shared, topology
from sojourn.host.placement import Placement
from sojourn.host.tree import Tree

Host = Callable[[str], Path]


def placed(
    root: Path, *, threads: int = 7, clients: int = 1
) -> tuple[topology.Topology, Placement]:
    seen = topology.read(Tree(root))
    return seen, placement.place(seen, threads=threads, clients=clients)


def test_one_cpu_is_shared_by_all_and_says_so(fake_host: Host) -> None:
    _, got = placed(fake_host("one_cpu"))
    assert got.server == got.client == got.housekeeping == (0,)
    assert got.client_wait == "sleep"
    assert got.shared == (shared.ONE_CPU,)


def test_two_cores_put_the_lab_with_the_client(fake_host: Host) -> None:
    _, got = placed(fake_host("two_cpus"))
    assert (got.server, got.client, got.housekeeping) == ((1,), (0,), (0,))
    assert got.client_wait == "spin"
    assert got.shared == (shared.CLIENT_WITH_LAB,)


def test_a_client_on_the_servers_sibling_does_not_spin(fake_host: Host) -> None:
    _, got = placed(fake_host("two_siblings"))
    assert set(got.server).isdisjoint(got.client)
    assert got.client_wait == "sleep"
    assert shared.ONE_CORE in got.shared


def test_four_hyper_threads_leave_the_servers_sibling_idle(fake_host: Host) -> None:
    # Cores are {0, 2} and {1, 3}.
    _, got = placed(fake_host("four_smt"))
    assert (got.server, got.client, got.housekeeping) == ((1,), (0,), (2,))
    assert got.shared == (shared.LAB_ON_SIBLING,)


def test_a_big_server_holds_the_papers_seven_threads_on_one_node(fake_host: Host) -> None:
    seen, got = placed(fake_host("big_server"), threads=7, clients=4)
    node = {cpu.id: cpu.node for cpu in seen.cpus}
    assert len(got.server) == 7
    assert len(got.client) == 4
    assert {node[cpu] for cpu in got.server + got.client} == {0}
    assert got.housekeeping == (0, 24)
    assert got.shared == ()


def test_a_client_that_does_not_fit_is_put_on_the_other_node_and_says_so(fake_host: Host) -> None:
    seen, got = placed(fake_host("big_server"), threads=12, clients=1)
    node = {cpu.id: cpu.node for cpu in seen.cpus}
    assert len(got.server) == 12
    assert len({node[cpu] for cpu in got.server}) == 1
    assert got.shared == (shared.FAR_CLIENT,)


def test_threads_that_no_node_holds_are_spread_and_say_so(fake_host: Host) -> None:
    _, got = placed(fake_host("small_nodes"), threads=7)
    assert len(got.server) == 7
    assert got.shared == (shared.TWO_NODES,)


def test_only_allowed_cpus_are_used(fake_host: Host) -> None:
    # Allowed are 4, 5 and their siblings 28, 29.
    _, got = placed(fake_host("contained"))
    assert (got.server, got.client, got.housekeeping) == ((5,), (4,), (28,))


@pytest.mark.parametrize("threads", [1, 2, 7, 100])
@pytest.mark.parametrize("clients", [1, 3, 100])
@pytest.mark.parametrize("name", ["four_smt", "big_server", "small_nodes", "contained"])
def test_no_one_sits_on_a_servers_core(
    fake_host: Host, name: str, threads: int, clients: int
) -> None:
    seen, got = placed(fake_host(name), threads=threads, clients=clients)
    siblings = {cpu.id: set(cpu.siblings) for cpu in seen.cpus}
    server_cores = set().union(*(siblings[cpu] for cpu in got.server))
    assert got.server
    assert got.client
    assert len(got.server) <= threads
    assert server_cores.isdisjoint(got.client)
    assert server_cores.isdisjoint(got.housekeeping)
    assert len(server_cores) == sum(len(siblings[cpu]) for cpu in got.server)  # a core each
    assert set(got.server + got.client + got.housekeeping) <= set(seen.allowed)


def test_a_server_on_cpus_that_the_study_names_takes_the_clients_if_there_are_others(
    fake_host: Host,
) -> None:
    _, got = placed(fake_host("two_cpus"))
    report = placement.confine(got, (0,), (0, 1))
    assert (report.server, report.client, report.housekeeping) == ((0,), (1,), (1,))
    assert (report.client_wait, report.shared) == (got.client_wait, got.shared)
    same = placement.confine(got, got.server, (0, 1))
    assert same == got


def test_a_server_that_is_told_to_take_every_cpu_shares_and_says_so(fake_host: Host) -> None:
    _, got = placed(fake_host("two_cpus"))
    report = placement.confine(got, (0, 1), (0, 1))
    assert (report.server, report.client, report.housekeeping) == ((0, 1), (0,), (0,))
    assert report.client_wait == "sleep"
    assert report.shared[0] == shared.BY_STUDY


def test_on_many_cpus_a_client_that_has_to_go_leaves_the_lab_alone(fake_host: Host) -> None:
    seen, got = placed(fake_host("big_server"), threads=7, clients=1)
    usable = [cpu.id for cpu in seen.usable]
    report = placement.confine(got, got.client, usable)
    assert report.server == got.client
    assert set(report.client).isdisjoint({*report.server, *got.housekeeping})
    assert report.housekeeping == got.housekeeping
    assert shared.BY_STUDY not in report.shared


def test_a_client_is_on_no_server_of_those_it_is_measured_beside(fake_host: Host) -> None:
    seen, big = placed(fake_host("big_server"), threads=7, clients=3)
    small, few = (placement.place(seen, threads=n, clients=2) for n in (1, 4))
    assert set(big.server) & set(small.client), "by itself it would run there"
    got = company.apart({"big": big, "small": small, "few": few}, seen)
    servers = {cpu for where in got.values() for cpu in where.server}
    clients = [cpu for where in got.values() for cpu in where.client]
    core = {cpu.id: cpu.core for cpu in seen.cpus}
    assert {core[cpu] for cpu in clients}.isdisjoint(core[cpu] for cpu in servers)
    assert len(clients) == len(set(clients)) == 7, "and each has CPUs of its own"
    assert (got["big"], got["small"].server) == (big, small.server)


@pytest.mark.parametrize("machine", ["one_cpu", "two_cpus", "two_siblings", "four_smt"])
def test_where_there_is_no_other_cpu_clients_stay(machine: str, fake_host: Host) -> None:
    seen, alone = placed(fake_host(machine))
    assert company.apart({"a": alone, "b": alone}, seen) == {"a": alone, "b": alone}


def laid_out(root: Path, cores: int, cpus: int) -> Placement:
    seen, where = placed(root, threads=cores)
    return placement.lay_out(where, seen, cores, cpus, at="services.x.cores")


def test_placements_of_the_papers_are_by_core_and_sibling(fake_host: Host) -> None:
    """Two sockets of 12 cores; CPU n and n + 24 are siblings (C21: 4-4, 4-7, 7-7; P6)."""
    root = fake_host("big_server")
    for cores, cpus in ((1, 1), (1, 2), (2, 2), (4, 4), (4, 7), (4, 8), (7, 7), (8, 8)):
        got = laid_out(root, cores, cpus)
        assert (len(got.server), len({cpu % 24 for cpu in got.server})) == (cpus, cores)
        apart = {cpu % 24 for cpu in got.client}
        assert apart.isdisjoint({cpu % 24 for cpu in got.server})
        assert {*got.server}.isdisjoint(got.housekeeping)


@pytest.mark.parametrize(
    ("name", "cores", "cpus", "text"),
    [
        ("two_cpus", 2, 2, "needs 2 cores; available here: 1"),
        ("two_cpus", 1, 2, "2 CPUs of 1 cores need hyper-threads; available: 1"),
        ("big_server", 24, 24, "needs 24 cores; available here: 22"),
        ("two_siblings", 1, 2, "need hyper-threads"),
    ],
)
def test_a_placement_that_a_machine_has_not_is_refused(
    fake_host: Host, name: str, cores: int, cpus: int, text: str
) -> None:
    with pytest.raises(HostFault, match=text):
        laid_out(fake_host(name), cores, cpus)


def test_a_sibling_of_the_server_is_its_own_where_it_is_asked_for(fake_host: Host) -> None:
    got = laid_out(fake_host("four_smt"), 1, 2)  # cores are {0, 2} and {1, 3}
    assert (got.server, got.client) == ((1, 3), (0,))
