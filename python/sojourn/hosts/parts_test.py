"""Jobs of clients on several hosts: what is true of one machine stays there."""

from __future__ import annotations

from typing import Any

import pytest

from sojourn.errors import SpecFault
from sojourn.hosts import parts
from sojourn.hosts.engine import Facts, Node

JOB: dict[str, Any] = {
    "target": "echo://10.0.0.1:7",
    "rate": "9000",
    "connections": 9,
    "cpus": "2-3",
    "threads": 2,
    "wait": "sleep:20us",
    "server_cpus": "0-1",
    "server_pid": 77,
    "seed": 5,
}


def facts(boot: str = "own", net: str = "n1", time: str = "t1", cpus: int = 4) -> Facts:
    return {"boot": boot, "net": net, "time": time, "mnt": "m", "cpus": list(range(cpus))}


OWN = facts()


def node(nth: int) -> Node:
    return Node(id=f"id{nth}", name=f"h{nth}", address=f"10.0.0.{nth}")


def test_rates_and_connections_add_up_and_seeds_differ() -> None:
    jobs = parts.jobs(JOB, [facts("a"), facts("b"), facts("c")], OWN, "token")
    assert [job["rate"] for job in jobs] == ["3000"] * 3
    assert sum(job["connections"] for job in jobs) == 9
    assert len({job["seed"] for job in jobs} | {5}) == 4
    assert jobs == parts.jobs(JOB, [facts("a"), facts("b"), facts("c")], OWN, "token"), "derived"


def test_what_is_known_of_the_server_stays_on_its_machine() -> None:
    away, here, too = parts.jobs(JOB, [facts("a"), OWN, OWN], OWN, "token")
    assert not {"server_pid", "server_cpus"} & set(away)
    assert (here["server_pid"], here["server_cpus"]) == (77, "0-1")
    assert too["server_cpus"] == "0-1"
    assert "server_pid" not in too, "one log of the server is enough"


def test_clients_have_the_cpus_of_their_own_host() -> None:
    away, here, too = parts.jobs(JOB, [facts("a"), OWN, OWN], OWN, "token")
    assert away["cpus"] == "1-3", "the first is the agent's"
    assert (here["cpus"], too["cpus"]) == ("2", "3"), "as the lab placed its clients"
    assert (here["threads"], too["threads"]) == (1, 1)


def test_clients_that_share_a_cpu_take_turns_and_others_do_not() -> None:
    job = {**JOB, "wait": "auto", "threads": 1}
    one, two, alone = parts.jobs(
        job, [facts("a", cpus=1), facts("a", cpus=1), facts("b")], OWN, "x"
    )
    assert (one["cpus"], two["cpus"]) == ("0", "0")
    assert [job.get("turns") for job in (one, two, alone)] == ["x", "x", None]
    assert (one["wait"], alone["wait"]) == ("yield", "auto")


def test_a_clock_is_shared_by_one_boot_and_time_namespace() -> None:
    assert parts.is_same_clock(facts(), OWN)
    assert not parts.is_same_clock(facts(time="t2"), OWN)
    assert not parts.is_same_clock(facts("a"), OWN)
    assert not parts.is_same_clock(facts(""), facts("")), "what is not known is not the same"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"ca_file": "/ca.pem"}, "load.ca_file is read on the lab's host"),
        ({"auth": "basic:env:TOKEN"}, "variable TOKEN"),
        ({"target": "echo://127.0.0.1:7"}, "is reached on the lab's host alone"),
        ({"target": "postgres://u@localhost:5/x"}, "is reached on the lab's host alone"),
        ({"target": "memcache://unix:/run/x"}, "is reached on the lab's host alone"),
    ],
)
def test_what_another_host_cannot_do_is_refused(keys: dict[str, str], words: str) -> None:
    job = {**JOB, **keys}
    parts.check(job, [(node(1), OWN)], OWN)
    with pytest.raises(SpecFault, match=words):
        parts.check(job, [(node(1), OWN), (node(2), facts("a", net="n2"))], OWN)


def test_a_namespace_of_this_machine_reaches_no_loopback_of_it() -> None:
    job = {**JOB, "target": "echo://127.0.0.1:7"}
    with pytest.raises(SpecFault, match=r"h1 \(10\.0\.0\.1\) is a client"):
        parts.check(job, [(node(1), facts(net="n2"))], OWN)


def test_a_load_that_does_not_split_is_refused() -> None:
    with pytest.raises(SpecFault, match="cannot share fixed arrivals"):
        parts.jobs({**JOB, "arrivals": "fixed"}, [OWN, OWN], OWN, "x")
