"""A run is infinitely slow if lost requests decide its p99, and stays in the median."""

from __future__ import annotations

import math
from dataclasses import replace

import pyarrow as pa
import pytest

from sojourn.browse import curves, entries
from sojourn.browse.curves import Load
from sojourn.plan import Outcome, next_point
from sojourn.plan.points import Course, Phase, Verdict
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import study
from sojourn.store import columns
from sojourn.testing_questions import PLANS


def run(lost: int = 0, rps: float = 1e4, requests: int = 1000) -> Outcome:
    """A run that counts; a quantile of which lost requests decide is None, as the lab writes it."""
    point = next_point(study(profile="quick"), [], PLANS)
    assert point is not None
    made = imagine(replace(point, phase=Phase.SEARCH, offered_rps=rps))
    p50, p95, p99 = (
        1e6 if math.ceil(q * requests - 1e-9) <= requests - lost else None
        for q in curves.QUANTILES.values()
    )
    made = replace(made, requests=requests, lost=lost, p50_ns=p50, p95_ns=p95, p99_ns=p99)
    mean = None if lost else 5e5
    return replace(made, verdict=Verdict.HOLDS, course=Course.STEADY, mean_ns=mean)


@pytest.mark.parametrize(
    ("lost", "p95", "p99", "mean"),
    [(0, 1e6, 1e6, 5e5), (10, 1e6, 1e6, math.inf), (11, 1e6, math.inf, math.inf),
     (51, math.inf, math.inf, math.inf)],
)  # fmt: skip
def test_what_lost_requests_decide_is_infinite(
    lost: int, p95: float, p99: float, mean: float
) -> None:
    outcome = run(lost)
    named = [curves.ranked(outcome, name) for name in ("p95_ns", "p99_ns", "mean_ns")]
    assert named == [p95, p99, mean]
    assert curves.ranked(replace(run(), p99_ns=None), "p99_ns") is None, "it was not measured"


def test_a_median_has_the_runs_that_lost_requests() -> None:
    """Of three runs two have an infinite p99, and so has their median."""
    load = Load(1e4, (run(), run(200), run(200)))
    assert load.middle("p99_ns") == math.inf
    assert load.ends("p99_ns") == (1e6, math.inf)
    assert load.middle("p50_ns") == 1e6
    assert Load(1e4, (run(), run(), run(200))).middle("p99_ns") == 1e6


@pytest.mark.parametrize(
    ("requests", "correlation", "is_known"),
    [(563, 1.0, True), (562, 1.0, False), (99, 1.0, False), (20_000, 101.0, False)],
)
def test_a_p99_of_too_few_requests_is_in_brackets_as_in_the_report(
    requests: int, correlation: float, *, is_known: bool
) -> None:
    one = replace(run(requests=requests), p99_ns=1e6, correlation=correlation)
    text = "1 ms" if is_known else "(1 ms)"
    assert curves.cell(one, "p99_ns") == Load(1e4, (one,)).shown("p99_ns") == text
    assert curves.cell(replace(one, verdict=Verdict.UNKNOWN), "p99_ns") == "(1 ms)"
    upper = "≤ 1 ms" if is_known else "(1 ms)"
    assert curves.cell(replace(one, over_surely=0), "p99_ns") == upper
    two = Load(1e4, (one, one))
    assert two.carries("p99_ns") == (requests != 99), "both together may be enough"
    assert curves.cell(run(200), "p99_ns") == Load(1e4, (run(200),)).shown("p99_ns") == "never"


def test_a_curve_in_short_has_no_load_at_which_most_runs_lost_requests() -> None:
    runs = [run(rps=1e4), run(rps=2e4), run(rps=3e4), run(200, rps=3e4), run(200, rps=3e4)]
    drawn = entries.spark(pa.concat_tables(map(columns.to_table, runs)))
    assert [x for x, _ in drawn] == [50, 100]


def late(ns: float) -> Outcome:
    """A run of a late client, which made its times too long if anything."""
    return replace(run(requests=20_000), p99_ns=ns, over_surely=0)


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ((3e6,), "≤ 3 ms"),
        ((1e6, 2e6, 3e6), "≤ 2 ms"),  # the late one, 3 ms, may be the fastest of all
        ((3e6, 4e6, 4e6), "4 ms"),  # the late one is below already
    ],
)
def test_a_median_that_a_late_run_may_have_raised_is_an_upper_bound(
    runs: tuple[float, ...], text: str
) -> None:
    exact = [replace(run(requests=20_000), p99_ns=ns) for ns in runs if ns != 3e6]
    load = Load(1e4, (*exact, late(3e6)))
    assert load.shown("p99_ns") == text
    assert ("p99_ns" in load.at_most) == text.startswith("≤")
    assert Load(1e4, tuple(exact)).at_most == ()
