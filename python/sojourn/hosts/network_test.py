"""Round trips by the kernel's account, without the service."""

from __future__ import annotations

import socket
import time

import pytest

from sojourn.hosts import network
from sojourn.hosts.network import RoundTrips, checked, place, round_trip_ns


@pytest.fixture
def deaf() -> socket.socket:
    """A service that accepts nothing: the kernel alone answers."""
    return socket.create_server(("127.0.0.1", 0), backlog=64)


def test_a_service_that_is_stuck_takes_no_part_in_a_round_trip(deaf: socket.socket) -> None:
    with deaf:
        took = [round_trip_ns(deaf.getsockname()) for _ in range(5)]
    known = [one for one in took if one is not None]
    assert len(known) == 5
    assert 0 < min(known) < 100_000_000


def test_where_no_one_listens_there_is_no_round_trip(deaf: socket.socket) -> None:
    where = deaf.getsockname()
    deaf.close()
    assert round_trip_ns(where) is None


def test_they_begin_with_the_load_and_end_with_it(
    deaf: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "EVERY_S", 0.02)
    with deaf:
        port = deaf.getsockname()[1]
        trips = RoundTrips(f"echo://127.0.0.1:{port}", time.monotonic_ns() + 300_000_000)
        assert trips.table is None
        until_s = time.monotonic() + 60
        while len(trips.times_ns) < 3 and time.monotonic() < until_s:
            time.sleep(0.01)
        trips.end()
        count = len(trips.times_ns)
        time.sleep(0.1)
        assert len(trips.times_ns) == count >= 3
        assert checked(trips.table) == trips.table


@pytest.mark.parametrize("target", ["null:", "unix:/run/x", "postgres://h:1/d", "echo://h", "h:x"])
def test_what_is_not_reached_by_tcp_or_forks_is_not_asked(target: str) -> None:
    assert place(target) is None
    trips = RoundTrips(target, 0)
    trips.end()
    assert trips.table is None


@pytest.mark.parametrize(
    "table",
    [3, [], {}, {"count": 1, "min_ns": 5, "p50_ns": 4, "max_ns": 6}, {"count": 0, "min_ns": 1}],
)
def test_what_is_no_account_of_round_trips_is_refused(table: object) -> None:
    with pytest.raises((ValueError, TypeError, LookupError)):
        checked(table)
