"""Who sets the highest rate: refusals, waits or connections, and no full CPUs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sojourn.analysis import limit, service
from sojourn.findings.limit import By
from sojourn.findings.measured import Measured
from sojourn.plan.points import Outcome, Phase, Point, Verdict
from sojourn.samples.resources import Resources
from sojourn.services.kind import RUNS_ON

NAMES = ("service_cpu_share", "thread_cpu_share_max", "runq_delay_share")


def point(rps: float | None) -> Point:
    return Point(
        key="",
        service="s",
        phase=Phase.PEAK if rps is None else Phase.SEARCH,
        offered_rps=rps,
        measure_s=1.0,
        warmup_s=0.1,
        seed=1,
    )


def run(
    rps: float | None,
    *,
    refused: int = 0,
    used: float | None = 0.02,
    mean_ns: float | None = 1e6,
    resources: Resources | None = None,
    got: float = 500.0,
) -> Measured:
    """A run of 1000 requests; without a rate a closed loop that got `got` of them in a second."""
    outcome = Outcome(
        point=point(rps),
        verdict=Verdict.HOLDS,
        reasons=(),
        offered_rps=rps or got,
        achieved_rps=rps or got,
        requests=1000,
        over_bound=0,
        lost=refused,
        mean_ns=mean_ns,
        p50_ns=1.0,
        p95_ns=1.0,
        p99_ns=1.0,
        correlation=1.0,
        wall_s=1.0,
        folder="",
        refused=refused,
        refused_with=("HTTP 503",) if refused else (),
        used_cpus=used,
    )
    return Measured(outcome=outcome, resources=resources)


def uses(*shares: float, quota: float = 1.0) -> Resources:
    """Shares of `NAMES`, two samples alike; the service may use `quota` of its CPUs."""
    values = np.repeat(np.array(shares, np.float32)[:, None], 2, axis=1)
    return Resources(names=NAMES, values=values, capacity={NAMES[0]: quota, NAMES[1]: 1.0})


def test_refusals_name_load_status_share_and_that_cpus_were_idle() -> None:
    runs = [run(300), run(400, refused=5), run(520, refused=120), run(700, refused=400), run(None)]
    known = limit.find(runs)
    assert known is not None
    assert (known.by, known.from_rps, known.below_rps, known.share) == (
        By.REFUSALS,
        520,
        400,
        0.12,
    )
    assert known.text.startswith(
        "limit: from 520 requests/s on, requests are refused with HTTP 503 (12 %), while the "
        "service uses 0.02 CPUs: this is the limit of whoever refuses"
    )


@pytest.mark.parametrize(
    ("used", "own", "is_idle", "words"),
    [
        (0.9, None, False, "its CPUs are full"),
        (None, None, None, "is not seen"),
        (0.1, uses(0.05, 0.1, 1.2), None, "and waits for 1.2 CPUs that others have"),
        (0.1, uses(0.05, 0.1, 0.0, quota=0.06), False, "its CPUs are full"),
        (1.0, uses(0.12, 0.1, 0.0), False, "its CPUs are full"),  # threads that take turns
        (3.0, uses(0.2, 0.2, 0.1), True, "not of its CPUs"),
        (3.0, uses(0.2, 0.9, 0.1), False, "its CPUs are full"),
    ],
    ids=["busy", "unseen", "starved", "quota", "one at a time", "wide", "one thread"],
)
def test_idle_is_said_only_of_cpus_that_had_time_to_spare(
    used: float | None, own: Resources | None, *, is_idle: bool | None, words: str
) -> None:
    known = limit.find([run(500, refused=100, used=used, resources=own)])
    assert known is not None
    assert known.is_idle is is_idle
    assert words in known.text


def test_a_closed_loop_alone_that_is_refused_is_named_as_one() -> None:
    known = limit.find([run(None, refused=900)])
    assert known is not None
    assert "in a closed loop, requests are refused with HTTP 503 (90 %)" in known.text


def test_connections_that_the_server_resets_are_named() -> None:
    broken = [replace(run(rps), errors={"closed": 51, "timed_out": 400}) for rps in (300, 700)]
    known = limit.find([run(100), *broken])
    assert known is not None
    assert (known.by, known.from_rps) == (By.BREAKS, 300)
    assert "5.1 % of the requests fail, because the server ends or resets" in known.text
    assert limit.find([replace(run(100), errors={"closed": 10})]) is None, "1 % is little"


def test_a_limiter_that_delays_is_named_by_waits_while_cpus_are_idle() -> None:
    known = limit.find([run(100), run(None, mean_ns=32e6)])
    assert known is not None
    assert (known.by, known.from_rps) == (By.WAITS, 500)
    assert "requests take 32.0 ms instead of 1 ms" in known.text
    assert "a limiter that delays" in known.text


def test_where_no_request_waits_connections_set_the_rate() -> None:
    known = limit.find([run(100), run(None, mean_ns=1.1e6)])
    assert known is not None
    assert known.by is By.CONNECTIONS
    assert "--connections" in known.text


@pytest.mark.parametrize(
    "peak",
    [
        run(None, mean_ns=32e6, used=0.9),
        run(None, mean_ns=32e6, used=None),
        run(None, mean_ns=32e6, got=50_000),
        replace(run(None), outcome=replace(run(None).outcome, verdict=Verdict.UNKNOWN)),
    ],
    ids=["busy", "unseen", "as fast as a client", "not valid"],
)
def test_nothing_is_said_of_a_peak_that_cpus_or_the_client_may_set(peak: Measured) -> None:
    assert limit.find([run(100), peak]) is None


def test_a_service_that_ended_in_between_says_so_unless_the_lab_started_it() -> None:
    there = run(100).outcome
    lost = replace(there, verdict=Verdict.UNKNOWN, requests=0, achieved_rps=0.0, reasons=("gone",))
    setup = ((RUNS_ON, "not started by the lab"),)
    (text,) = service._ended([there, lost, there], setup)
    assert text.startswith("not there throughout: 1 run is unknown (gone); runs before and after")
    (text,) = service._ended([there, lost, lost], setup)
    assert text == "not there throughout: 2 runs are unknown (gone)"
    assert not [*service._ended([there, lost], ()), *service._ended([there], setup)]
