"""Counters of the machine: what is whose on the server's CPUs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn import host
from sojourn.actors.probes import host as counters

WHERE = host.Placement(server=(1,), client=(0,), housekeeping=(0,), client_wait="spin", shared=())
BEGIN = counters.Moment(
    at_s=0.0,
    ticks={0: (0,) * 8, 1: (0,) * 8},
    totals={},
    load_1min=0.0,
    free_bytes=0,
    server_cpu_ns=0,
    server_switches=(0, 0),
)


def test_shares_of_what_happened_between_two_moments() -> None:
    def moment(at_s: float, server: tuple[int, ...], cpu_ns: int) -> counters.Moment:
        return counters.Moment(
            at_s=at_s,
            ticks={0: (0,) * 8, 1: server},
            totals={"context_switches": 0},
            load_1min=0.0,
            free_bytes=0,
            server_cpu_ns=cpu_ns,
            server_switches=(0, 0),
        )

    # Of 100 ticks in 1 s: 30 user, 10 system, 43 idle, 7 softirq, 10 stolen; server used 0.25 s.
    before = moment(0.0, (0,) * 8, 0)
    after = moment(1.0, (30, 0, 10, 43, 0, 0, 7, 10), 250_000_000)
    got = counters.between(before, after, WHERE)
    assert got["steal_share"] == {"server": 0.1, "client": None}
    assert got["busy_share"]["server"] == pytest.approx(0.47)
    assert got["server_cpu_share"] == 0.25
    assert got["others_on_server_share"] == pytest.approx(0.15)
    assert got["neighbours_on_server_share"] == 0.0


def test_a_worker_is_told_by_what_it_used_between_and_one_that_came_is_left_out() -> None:
    before = replace(BEGIN, workers_cpu_ns={7: 5_000_000_000, 8: 0})
    used = {7: 5_500_000_000, 8: 250_000_000, 9: 1}
    after = replace(before, at_s=1.0, workers_cpu_ns=used)
    assert counters.between(before, after, WHERE)["worker_cpu_s"] == [0.5, 0.25]


def test_what_the_points_own_neighbours_use_is_not_that_of_others() -> None:
    # From one moment to the next, 60 ticks of the 100 in 1 s go to tasks that are nice: 50 to ours.
    before = BEGIN
    ticks: dict[int, tuple[int, ...]] = {0: (0,) * 8, 1: (30, 60, 0, 10, 0, 0, 0, 0)}
    after = replace(before, at_s=1.0, ticks=ticks, neighbours_cpu_ns=500_000_000)
    got = counters.between(before, after, WHERE)
    assert got["neighbours_on_server_share"] == 0.5
    assert got["others_on_server_share"] == pytest.approx(0.4)  # 30 user, 10 that are nice


def test_a_server_that_cannot_be_seen_has_used_no_known_time_rather_than_none() -> None:
    before = replace(BEGIN, server_cpu_ns=None, server_switches=None, server_wait_ns=None)
    after = replace(before, at_s=1.0, ticks={0: (0,) * 8, 1: (60, 0, 0, 40, 0, 0, 0, 0)})
    got = counters.between(before, after, WHERE)
    unseen = ("server_cpu_s", "server_cpu_share", "server_wait_s", "others_on_server_share")
    assert [got[name] for name in unseen] == [None] * 4
    assert got["server_switches"] == {"voluntary": None, "involuntary": None}
    assert got["busy_share"]["server"] == pytest.approx(0.6)
