"""Reading, placement and doctor on some thirty machines that are not this one."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from sojourn import host
from sojourn.host import placement, testing, testing_hosts, testing_unlike, topology
from sojourn.host.placement import Placement
from sojourn.host.shared import PARTLY_ISOLATED, UNBALANCED, UNLIKE, UNLIKE_CLIENT
from sojourn.host.testing import Machine
from sojourn.host.topology import Topology
from sojourn.host.tree import Tree

MACHINES = {**testing_unlike.MACHINES, **testing_hosts.MACHINES}
# fmt: off
GARBAGE = ("", "\0", "-1", "0-", "5-3", "a,b", "999999999999", "0x", "(null)", "1 2", "²",
           ":::", "kB", "\xff\xfe", "0-9999999", "-")
# fmt: on


def written(name: str, root: Path) -> Path:
    return testing.write(MACHINES[name], root)


def placed(root: Path, threads: int, clients: int = 1) -> tuple[Topology, Placement]:
    seen = topology.read(Tree(root))
    return seen, placement.place(seen, threads=threads, clients=clients)


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_is_read_as_it_is(name: str, tmp_path: Path) -> None:
    wanted, facts = MACHINES[name], host.read(written(name, tmp_path))
    seen = facts.topology
    assert [cpu.id for cpu in seen.cpus] == sorted(c for core in wanted.cores for c in core.cpus)
    assert seen.model == wanted.model
    assert tuple(map(len, seen.kinds)) == wanted.kinds
    assert facts.kernel.hypervisor == wanted.hypervisor
    assert facts.rights.has_pmu is wanted.has_pmu
    assert len(seen.node_bytes) == wanted.nodes
    core_of = {cpu: min(core.cpus) for core in wanted.cores for cpu in core.cpus}
    assert {cpu.id: cpu.core for cpu in seen.cpus} == core_of
    assert all(cpu.id in cpu.siblings for cpu in seen.cpus)
    json.dumps(host.manifest(facts))


@pytest.mark.parametrize("threads", [1, 2, 4, 5, 7, 12, 100])
@pytest.mark.parametrize("name", MACHINES)
def test_a_server_has_cpus_of_one_kind_the_best_that_has_as_many(
    name: str, threads: int, tmp_path: Path
) -> None:
    seen, got = placed(written(name, tmp_path), threads)
    of = {cpu.id: cpu for cpu in seen.usable}
    assert {*got.server, *got.client, *got.housekeeping} <= {*of}
    assert got.server
    assert got.client
    kinds = {of[cpu].capacity.kind for cpu in got.server}
    assert (UNLIKE in got.shared) == (len(kinds) > 1)
    if len({cpu.core for cpu in seen.usable}) < 3:
        return
    assert {of[cpu].core for cpu in got.server}.isdisjoint(of[cpu].core for cpu in got.client)
    assert {of[cpu].core for cpu in got.server}.isdisjoint(of[cpu].core for cpu in got.housekeeping)
    house = of[got.housekeeping[0]].core
    have = [{c.core for c in cpus} - {house} for cpus in seen.kinds]
    fitting = [nth for nth, cores in enumerate(have) if len(cores) >= len(got.server)]
    if fitting:
        best = of[min(have[fitting[0]])].capacity.kind
        assert kinds == {best}
        client = {of[cpu].capacity.kind for cpu in got.client}
        assert (UNLIKE_CLIENT in got.shared) == (client != kinds)
    else:
        assert UNLIKE in got.shared


@pytest.mark.parametrize("name", MACHINES)
def test_doctor_says_what_is_peculiar(name: str, tmp_path: Path) -> None:
    facts = host.read(written(name, tmp_path))
    report = host.doctor(facts)
    results = {finding.name: finding for finding in report.findings}
    assert ("unlike CPUs" in results) == (len(MACHINES[name].kinds) > 1)
    assert ("virtual machine" in results) == bool(MACHINES[name].hypervisor)
    assert ("isolated CPUs" in results) == (name == "isolated")
    assert ("limited shell" in results) == (name == "isolated_limited")
    assert ("cpuset" in results) == (name == "limited_by_cpuset")
    assert ("read-only" in results) == (name == "container")
    assert "tsc" not in results["clock"].fix, "no file tells of the clock"
    assert results["clock"].points == 0


@pytest.mark.parametrize(
    ("name", "threads", "server", "client"),
    [
        ("phone", 1, (7,), (3,)),
        ("phone", 2, (3, 4), (5,)),
        ("phone", 4, (3, 4, 5, 6), (7,)),
        ("desktop_arm", 4, (5, 6, 7, 8), (9,)),
        ("desktop_arm", 7, (5, 6, 7, 8, 9, 15, 16), (17,)),
        ("laptop_p_e", 4, (2, 4, 6, 8), (10,)),
        ("laptop_p_e", 5, (2, 4, 6, 8, 10), (12,)),
        ("laptop_p_e", 7, tuple(range(12, 19)), (19,)),
        ("isolated", 2, (2, 3), (4,)),
        ("isolated", 7, (2, 3, 4, 5, 6, 7), (1,)),
        ("isolated_limited", 2, (0,), (0,)),
    ],
)
def test_known_machines(
    name: str, threads: int, server: tuple[int, ...], client: tuple[int, ...], tmp_path: Path
) -> None:
    _, got = placed(written(name, tmp_path), threads)
    assert (got.server, got.client) == (server, client)


def test_where_no_kind_has_as_many_the_best_are_taken_and_it_is_reported(tmp_path: Path) -> None:
    seen, got = placed(written("phone", tmp_path), 6)
    assert got.server == (1, 3, 4, 5, 6, 7)
    assert UNLIKE in got.shared
    assert got.kinds == (
        "server: 1 of kind 0 (1024 of 1024), 4 of kind 1 (855 of 1024), 1 of kind 2 (280 of 1024); "
        "client: 1 of kind 2 (280 of 1024)"
    )
    assert got.ranks == (("server", (0, 1, 2)), ("client", (2,)))
    finding = next(f for f in host.doctor(host.read(tmp_path)).findings if f.name == "unlike CPUs")
    assert "a server of 6 threads has several kinds" in finding.what
    assert finding.points > 3
    assert placement.place(seen, threads=4).kinds


def test_all_runs_of_a_study_have_the_kinds_of_its_widest(tmp_path: Path) -> None:
    """One to seven threads on a laptop: six P cores less the lab's hold no seven."""
    seen = topology.read(Tree(written("laptop_p_e", tmp_path)))
    kind = {cpu.id: cpu.capacity.kind for cpu in seen.cpus}
    for most in (3, 5, 7):
        got = [placement.place(seen, threads=n, widest=(most, 1)) for n in range(1, most + 1)]
        kinds = {(kind[one.client[0]], *{kind[cpu] for cpu in one.server}) for one in got}
        assert len(kinds) == 1, f"up to {most} threads: {kinds}"
    alone = [placement.place(seen, threads=n) for n in range(1, 8)]
    assert len({(kind[one.client[0]], kind[one.server[0]]) for one in alone}) > 1


def test_cpus_that_the_study_names_are_labelled_too(tmp_path: Path) -> None:
    seen, where = placed(written("phone", tmp_path), 2)
    report = placement.confine(where, (2, 7), [cpu.id for cpu in seen.usable])
    assert UNLIKE in placement.labelled(report, seen).shared
    back = placement.confine(report, (3, 4), [cpu.id for cpu in seen.usable])
    assert UNLIKE not in placement.labelled(back, seen).shared


def test_a_service_that_no_one_pins_is_warned_of_isolated_cpus(tmp_path: Path) -> None:
    seen, got = placed(written("isolated", tmp_path), 2)
    assert UNBALANCED not in got.shared
    assert placement.unpinned(got, seen).shared[0] == UNBALANCED
    _, one = placed(tmp_path, 1)
    assert placement.unpinned(one, seen) == one, "one CPU needs no balancing"
    report = placement.confine(got, (1, 2), [cpu.id for cpu in seen.usable])
    assert PARTLY_ISOLATED in placement.labelled(report, seen).shared


def test_what_a_study_may_name_is_more_than_what_is_taken_by_itself(tmp_path: Path) -> None:
    limited = topology.read(Tree(written("isolated_limited", tmp_path / "a")))
    assert [cpu.id for cpu in limited.usable] == [0]
    assert limited.nameable == tuple(range(8))
    barred = topology.read(Tree(written("limited_by_cpuset", tmp_path / "b")))
    assert barred.nameable == (0, 1, 2)


@pytest.mark.parametrize("name", ["phone", "server_eight_nodes", "container", "s390_lpar"])
def test_files_of_garbage_are_read_as_if_they_were_not_there(name: str, tmp_path: Path) -> None:
    """Each file in turn, with words by lot: what cannot be read is None, and never an error."""
    root, draw = written(name, tmp_path), random.Random(7)  # noqa: S311  # no secret
    files = [path for path in root.rglob("*") if path.is_file()]
    for path in draw.sample(files, min(25, len(files))):
        before = path.read_bytes()
        for text in draw.sample(GARBAGE, 4):
            path.write_text(text, encoding="utf-8")
            host.doctor(host.read(root))
        path.write_bytes(before)


def test_a_fleet_is_as_large_as_it_says() -> None:
    assert len(MACHINES) >= 20
    assert all(isinstance(one, Machine) for one in MACHINES.values())
