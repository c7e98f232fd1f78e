"""Windows of clients with clocks that drift: one excursion stays one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sojourn.actors.clients import merge
from sojourn.hosts.clock import HostClock, Reading
from sojourn.hosts.joined import Part
from sojourn.hosts.windows import aligned
from sojourn.run.generator_job import Files
from sojourn.samples import clusters
from sojourn.samples.contract import Windows

SECOND, LENGTH = 1_000_000_000, 2_000_000
RUN_S = 600
EXCURSIONS_S = np.arange(5.0, RUN_S, 7.3)  # by the lab's clock
DRIFTS = (0.0, 100e-6, -100e-6, 37e-6)


def seen(drift: float, first_s: float = 0.0) -> dict[str, Any]:
    """What a client counts that began at a time of the lab's clock: misses at each excursion."""
    n = np.ones(RUN_S * SECOND // LENGTH, np.int64)
    k = np.zeros_like(n)
    own_s = (EXCURSIONS_S - first_s) * (1 + drift)
    k[(own_s * SECOND / LENGTH).astype(int)] = 1
    return {
        "length_ns": LENGTH,
        "n": n.tolist(),
        "k": k.tolist(),
        "over": int(k.sum()),
        "disturbed": [3, len(n) - 1],
    }


def part(drift: float, *, is_here: bool = False) -> Part:
    """A client that began at 10 s; its clock was read before and after it, to 0.1 ms."""
    times = (9 * SECOND, (11 + RUN_S) * SECOND)
    offset_ns = 5 * SECOND
    readings = [
        Reading(at_ns=at, offset_ns=offset_ns + drift * at, error_ns=100_000.0) for at in times
    ]
    clock = HostClock(tuple(readings))
    start = 10 * SECOND
    member = SimpleNamespace(is_here=is_here, clock=clock, here=clock.here)
    own = {
        "start_ns": start + offset_ns + round(drift * start),
        "measured_s": float(RUN_S),
        "job": {"warmup": "0s"},
        "windows": seen(drift),
    }
    opened: Any = SimpleNamespace(result=own)
    files = Files.named(Path(), "load")
    begun = Reading(at_ns=start, offset_ns=0.0, error_ns=0.0)
    return Part(member=member, job={}, files=files, opened=opened, start=begun)  # type: ignore[arg-type]


@pytest.mark.parametrize("drift", DRIFTS)
def test_the_pace_of_a_clock_is_that_of_its_readings(drift: float) -> None:
    assert part(drift).pace == pytest.approx(1 / (1 + drift), abs=1e-6)


def test_one_excursion_of_the_service_is_one_cluster_of_all_clients() -> None:
    """Before, clients with 100 ppm of drift saw each late excursion at places of their own."""
    every = [part(drift).corrected["windows"] for drift in DRIFTS]
    whole = merge._windows(every)
    assert whole is not None
    result = clusters.of_windows(Windows.model_validate(whole), bound_ns=1e6)
    assert result.clusters == (len(DRIFTS),) * len(EXCURSIONS_S)
    plain = merge._windows([seen(drift) for drift in DRIFTS])
    apart = clusters.of_windows(Windows.model_validate(plain), bound_ns=1e6)
    assert len(apart.clusters) > 2 * len(EXCURSIONS_S), "it is the alignment that does it"


@pytest.mark.parametrize("pace", [1.0, 1 - 1e-4, 1 + 1e-4, 1.004, 0.5, 7.0])
def test_no_request_is_lost_or_counted_twice(pace: float) -> None:
    before = seen(0.0)
    after = aligned(before, pace)
    assert after is not None
    for key in ("n", "k"):
        assert sum(after[key]) == sum(before[key])
    assert Windows.model_validate(after).length_ns == LENGTH
    assert len(after["n"]) == len(after["k"])
    if pace == 1.0:
        assert after == before


def test_nothing_and_a_run_without_a_window_stay_so() -> None:
    assert aligned(None, 1.0001) is None
    empty = {"length_ns": 5, "n": [], "k": [], "over": 0, "disturbed": []}
    assert aligned(empty, 1.0001) == empty


def test_the_labs_own_clock_is_the_measure() -> None:
    own = part(100e-6, is_here=True)
    assert own.corrected["windows"] is own.result["windows"]


def test_windows_of_unlike_length_are_not_added_up() -> None:
    one = seen(0.0)
    assert merge._windows([one, {**one, "length_ns": LENGTH * 2}]) is None
    assert merge._windows([one, None]) is None
    assert merge._windows([]) is None
