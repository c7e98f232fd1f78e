"""The words: as sure as the numbers, and no surer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.analysis import answer
from sojourn.analysis.findings import (
    Estimate,
    Interval,
    LoadPoint,
    MaxLoad,
    Qos,
    ServiceFinding,
)
from sojourn.plan.points import Verdict

HOLDS, VIOLATED, UNKNOWN = Verdict.HOLDS, Verdict.VIOLATED, Verdict.UNKNOWN
PEAK = 135_000.0


def estimate(q: float | None, ns: float) -> Estimate:
    return Estimate(
        q=q, value=ns, interval=None, across_restarts=None, requests=10_000, effective=10_000
    )


def load(fraction: float, verdict: Verdict, *reasons: str) -> LoadPoint:
    return LoadPoint(
        fraction=fraction,
        offered_rps=fraction * PEAK,
        achieved_rps=fraction * PEAK,
        verdict=verdict,
        reasons=reasons,
        mean=estimate(None, 60e3 / (1.05 - fraction)),
        quantiles=(estimate(0.99, 250e3 / (1.05 - fraction)),),
        is_bimodal=False,
        is_steady=True,
        distribution=(),
        runs=(),
    )


def memcached(*points: LoadPoint, max_load: MaxLoad | None = None) -> ServiceFinding:
    return ServiceFinding(
        service="memcached",
        kind="memcached",
        qos=Qos(q=0.99, bound_ns=1e6, rule="given"),
        max_rps=PEAK,
        max_rps_interval=None,
        max_rps_rule="achieved_peak",
        points=points,
        lines=(),
        crossing=None,
        max_load=max_load,
        paper=(),
        setup=(),
        answer="",
        verdict=HOLDS,
        reasons=(),
    )


def most(verdict: Verdict, *reasons: str) -> MaxLoad:
    interval = Interval(lo=96_000, hi=101_000)
    return MaxLoad(
        verdict=verdict,
        reasons=reasons,
        interval_rps=interval if verdict is HOLDS else None,
        fraction=Interval(lo=interval.lo / PEAK, hi=interval.hi / PEAK),
        confirmed=verdict is HOLDS,
        probes=((1_350.0, "fail"), (90_000.0, "fail")),
        wall_s=60,
    )


def test_a_found_and_confirmed_load_is_an_interval_in_both_units() -> None:
    said = answer.headline(memcached(max_load=most(HOLDS)), 1)
    assert said == (
        "memcached on 1 thread keeps p99 ≤ 1 ms up to 96.0k to 101k requests/s "
        "(71–75 % of its achieved peak of 135k)."
    )


def test_a_target_that_no_load_meets_is_said_to_be_missed() -> None:
    said = answer.headline(memcached(max_load=most(VIOLATED)), 4)
    assert said == (
        "memcached on 4 threads misses p99 ≤ 1 ms at every load tried, down to 1.35k requests/s."
    )


def test_an_unknown_search_gives_its_reason_and_what_the_sweep_saw() -> None:
    found = memcached(load(0.5, HOLDS), load(0.8, VIOLATED), max_load=most(UNKNOWN, "client late"))
    assert answer.headline(found, 1) == (
        "How much load memcached on 1 thread takes with p99 ≤ 1 ms is unknown: client late. "
        "In the sweep, memcached on 1 thread keeps p99 ≤ 1 ms at 67.5k requests/s (50 %) and "
        "misses it at 108k requests/s (80 %) of its achieved peak of 135k."
    )


def test_loads_between_that_are_unknown_are_counted() -> None:
    found = memcached(load(0.5, HOLDS), load(0.6, UNKNOWN), load(0.7, UNKNOWN), load(0.8, VIOLATED))
    assert answer.headline(found, None).endswith("; between them 2 loads stayed unknown.")


def test_a_load_that_holds_above_one_that_does_not_is_not_claimed() -> None:
    found = memcached(load(0.5, HOLDS), load(0.6, VIOLATED), load(0.7, HOLDS))
    said = answer.headline(found, 1)
    assert "keeps p99 ≤ 1 ms at 67.5k requests/s (50 %) and misses it at 81.0k" in said


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (
            [load(0.5, HOLDS), load(1.0, HOLDS)],
            "up to 135k requests/s (100 %) of its achieved peak of 135k, the highest load",
        ),
        (
            [load(0.5, HOLDS), load(0.9, UNKNOWN, "unstable: p50 moves by +300 %")],
            "load that was decided; above that it is unknown: unstable: p50 moves by +300 %.",
        ),
        ([load(0.5, VIOLATED)], "misses p99 ≤ 1 ms at 67.5k requests/s (50 %)"),
        ([load(0.5, VIOLATED)], "no lower load was shown to hold."),
        ([load(0.5, UNKNOWN)], "is unknown: no load was decided."),
        ([], "is unknown: no load was decided."),
    ],
)
def test_the_sweep_alone(points: list[LoadPoint], words: str) -> None:
    assert words in answer.headline(memcached(*points), 1)


def test_without_a_target_the_growth_is_the_answer() -> None:
    found = replace(memcached(load(0.1, HOLDS), load(0.9, HOLDS)), qos=None)
    assert answer.service(found, 1) == (
        "memcached on 1 thread: from 10 % to 90 % load the mean goes from 63.2 µs to 400 µs, "
        "p99 from 263 µs to 1.67 ms."
    )


def test_one_load_has_no_growth() -> None:
    found = replace(memcached(load(0.1, HOLDS)), qos=None)
    assert "unknown" in answer.headline(found, 1)
