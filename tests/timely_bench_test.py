"""Lateness by the server's log: planted arrivals have the lateness that was planted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

SECONDS, PERIOD_NS = 3, 50_000


@pytest.fixture
def timely(bench_modules: Any) -> Any:
    return bench_modules("")("timely")


def arrivals(late_ns: int, connections: int = 4) -> pa.Table:
    """Evenly spaced, but for every fourth round of the connections, which is late."""
    due = np.arange(SECONDS * 1_000_000_000 // PERIOD_NS) * PERIOD_NS
    of = np.arange(len(due)) % connections
    is_late = (np.arange(len(due)) // connections) % 4 == 0
    return pa.table({"start_ns": due + late_ns * is_late, "connection": of})


# Less than the distance of two requests of a grid: then the n-th to arrive is the n-th due.
@pytest.mark.parametrize(("is_one_grid", "late_us"), [(True, 40), (False, 40), (False, 150)])
def test_planted_lateness_is_what_is_read(timely: Any, *, is_one_grid: bool, late_us: int) -> None:
    row = timely.judged(arrivals(late_us * 1_000), is_one_grid=is_one_grid)
    assert row["rps"] == pytest.approx(1e9 / PERIOD_NS, rel=0.01)
    assert row["late_p50_us"] == pytest.approx(0, abs=1)
    assert row["late_p99_us"] == pytest.approx(late_us, abs=1)
    assert row["within_50us"] == pytest.approx(1.0 if late_us < 50 else 0.75, abs=0.01)


def test_requests_of_a_tick_at_once_are_clumps(timely: Any) -> None:
    even = arrivals(0)
    at = even["start_ns"].to_numpy() // 30_000_000 * 30_000_000
    clumps = pa.table({"start_ns": at, "connection": even["connection"]})
    smooth, rough = (timely.judged(one, is_one_grid=False) for one in (even, clumps))
    assert smooth["clumps"] < 1
    assert rough["clumps"] > 100
    assert rough["late_p99_us"] > 20_000
