"""Results of clients on several machines, put together."""

from __future__ import annotations

from sojourn.actors import clients
from sojourn.actors.clients import merge
from sojourn.actors.clients.clients_test import result, times


def test_a_cpu_of_the_same_number_is_another_on_another_machine() -> None:
    half = {"threads": [{"cpu_share": 0.45}]}
    parts = [result(times(nth), **half) for nth in (1, 2, 3)]
    merged = clients.merged(parts[:2], {}, None, ["a", "b"])
    assert (merged["verdict"], merged["reasons"]) == ("holds", [])
    merged = clients.merged(parts, {}, None, ["a", "b", "a"])
    assert "on CPU 0 used 90%" in merged["reasons"][0]


def test_the_log_of_the_servers_cpus_is_that_of_the_client_that_has_one() -> None:
    stops = {"count": 3, "total_ns": 9, "threads": 1, "lacks": []}
    here = result(times(2), server_stops=stops)
    assert clients.merged([result(times(1)), here], {})["server_stops"] == stops
    assert clients.merged([result(times(1)), result(times(2))], {})["server_stops"] is None


def test_a_mean_of_which_a_part_is_not_known_is_not_known() -> None:
    cost = dict.fromkeys(merge.COST, 1.0)
    parts = [
        result(times(1), cost=cost),
        result(times(2), cost={**cost, "syscalls_per_request": None}),
    ]
    for each in (parts, parts[::-1]):
        merged = clients.merged(each, {})["cost"]
        assert merged["syscalls_per_request"] is None
        assert merged["cpu_ns_per_request"] == 1.0
