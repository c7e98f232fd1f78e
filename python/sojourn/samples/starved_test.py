"""A server that fell behind because others took its CPUs has not failed by itself (M29)."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import samples
from sojourn.plan import Phase, Point
from sojourn.samples import made
from sojourn.samples.testing_point import first_point, stated

STOPPED = "server stopped: other tasks used the service's CPUs: 89 % of the requests were due then"


@pytest.fixture
def point() -> Point:
    return stated(first_point(), phase=Phase.SEARCH)


@pytest.mark.parametrize(
    ("achieved", "taken", "stolen", "asked", "verdict", "surely"),
    [
        (93, 0.37, None, 0.5, "unknown", 0),
        (93, 0.05, None, 0.5, "unknown", 0),  # 7 % are 5 % and what caches cost
        (85, 0.05, None, 0.5, "violated", 100),  # too much for 5 % of the time
        (93, 0.0, None, 0.5, "violated", 100),
        (93, 0.0, 0.05, 0.5, "unknown", 0),  # no log, but the hypervisor's own count
        (93, 0.37, None, 1.0, "violated", 100),  # they share these CPUs on purpose
        (
            99,
            0.37,
            None,
            0.5,
            "unknown",
            100,
        ),  # it did not fall behind, so what the log leaves is its own
    ],
)
def test_a_share_of_its_cpus_explains_as_much_of_its_pace(
    point: Point,
    tmp_path: Path,
    *,
    achieved: int,
    taken: float,
    stolen: float | None,
    asked: float,
    verdict: str,
    surely: int,
) -> None:
    load = made.result(
        [7e5] * 100,
        achieved_rps=float(achieved),
        verdict="unknown",
        reasons=[STOPPED],
        upper_bounds=True,
        lateness_ns=0.0,
        job={"qos_bound": "500us", "qos_quantile": 0.5, "disturbed_share_max": asked},
        server_stops={
            "count": 9,
            "total_ns": 1,
            "share_taken": taken,
            "share_disturbed": 0.9,
            "threads": 1,
        },
        windows={"length_ns": 250_000, "n": [96, 4], "k": [96, 4], "over": 100, "disturbed": [0]},
    )
    load["checks"]["server_steal_share"] = stolen
    outcome = samples.read(made.put(tmp_path, point, load))
    assert outcome.verdict == verdict
    assert outcome.reasons[:1] == (STOPPED,)
    assert outcome.over_surely == surely


@pytest.mark.parametrize(("achieved", "first"), [(85, "overloaded"), (100, "dispersion")])
def test_an_overload_is_named_before_the_lateness_that_it_makes(
    tmp_path: Path, achieved: int, first: str
) -> None:
    """A client that waits for connections sends in clumps, and no CPU of its own helps."""
    late = "dispersion: the counts of requests per window have a variance of 1.129 times their mean"
    load = made.result(
        [7e8] * 100,
        achieved_rps=float(achieved),
        verdict="violated",
        lateness=[late],
        lateness_ns=None,
        job={"qos_bound": "500us", "qos_quantile": 0.5},
        windows={"length_ns": 250_000, "n": [96, 4], "k": [96, 4], "over": 100},
    )
    outcome = samples.read(made.put(tmp_path, stated(first_point(), phase=Phase.SWEEP), load))
    assert outcome.verdict == "unknown"
    assert outcome.reasons[0].startswith(f"{first}: ")
