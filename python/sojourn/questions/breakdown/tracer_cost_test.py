"""What tracing cost, by hand-made traces."""

from __future__ import annotations

import math

from sojourn.questions.breakdown import tracer_cost
from sojourn.questions.breakdown.findings import Cost, Gap, Windows
from sojourn.questions.breakdown.testing import trace, windowed
from sojourn.samples.traced import TraceResult

FREE = Cost(pairs=1, throughput=1.0, mean=1.0, p99=1.0, cpu=1.0)


def of(*traces: TraceResult) -> Windows:
    windows = tracer_cost.of_windows(traces)
    assert windows is not None
    return windows


def test_windows_of_several_runs_add_and_their_intervals_are_the_widest() -> None:
    windows = of(windowed(0.01, 0.0, 0.02, 40e3), windowed(0.03, 0.01, 0.05, 30e3))
    assert (windows.count, windows.asked, windows.measured) == (24, 0.02, 0.02)
    assert (windows.lo, windows.hi) == (0.0, 0.05)
    assert (windows.p99_lo_ns, windows.p99_hi_ns) == (25e3, 40e3)


def test_an_end_that_one_run_does_not_know_is_not_known() -> None:
    windows = of(windowed(None, 0.0, None, None), windowed(0.03, 0.01, 0.05, 30e3))
    assert (windows.measured, windows.hi, windows.p99_hi_ns) == (0.03, None, None)


def test_where_every_request_is_traced_there_are_no_windows() -> None:
    assert tracer_cost.of_windows([trace(1.0)]) is None


def test_what_the_tracer_did_to_the_service_is_reported() -> None:
    def result(cost: Cost, windows: Windows | None = None) -> str:
        return " / ".join(tracer_cost.remarks(cost, windows))

    assert result(FREE) == ""
    overloaded = Cost(pairs=1, throughput=0.71, mean=9.0, p99=9.0, cpu=1.4)
    assert "71 %" in result(overloaded)
    assert "does not keep up" in result(overloaded)
    assert not tracer_cost.is_carried(overloaded)
    slower = Cost(pairs=1, throughput=1.0, mean=1.2, p99=2.34, cpu=1.4)
    assert "2.3 times" in result(slower)
    assert tracer_cost.is_carried(slower)
    lossy = Cost(pairs=1, throughput=1.0, mean=math.inf, p99=math.inf, cpu=1.4)
    assert "p99 is infinite, because requests were lost, with the tracer" in result(lossy)
    assert "hooks slow it" in result(FREE, of(windowed(0.01, 0.0, 0.02, 40e3)))


def test_windows_that_saw_slower_requests_than_the_client_say_so() -> None:
    windows = of(windowed(0.01, 0.0, 0.02, 40e3))

    def result(server_ns: float, windows: Windows | None = windows) -> bool:
        gap = Gap(q=0.99, wire_ns=200e3, server_ns=server_ns)
        return any("at the client" in r for r in tracer_cost.remarks(FREE, windows, [gap]))

    assert result(600e3)
    assert not result(210e3)  # as well as quantiles of a few thousand requests agree
    assert not result(600e3, None)  # every request was traced: the client's p99 is beside it
