"""The words: as sure as the numbers, and no surer."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sojourn.analysis import answer
from sojourn.analysis.findings import (
    Border,
    Estimate,
    Interval,
    LoadPoint,
    MaxLoad,
    Qos,
    Scheduled,
    ServiceFinding,
    Settle,
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


def border(lo: float, hi: float, estimate: float = 98_500) -> Border:
    return Border(
        estimate_rps=estimate,
        interval_rps=Interval(lo=lo, hi=hi),
        level=0.9,
        fraction=Interval(lo=lo / PEAK, hi=hi / PEAK),
        runs=36,
        starts=21,
        measured_s=82,
        curve=((16_200.0, 0.99), (175_000.0, 0.01)),
    )


def most(found: Border | None, verdict: Verdict = HOLDS, *reasons: str) -> MaxLoad:
    return MaxLoad(
        verdict=verdict,
        reasons=reasons,
        border=found,
        probes=((90_000.0, "pass"),),
        wall_s=60,
        settle=Settle(command="sojourn run x", seconds=360, why="bring the interval to ±10 %"),
    )


def test_the_answer_is_a_number_with_its_interval_and_what_it_rests_on() -> None:
    said = answer.headline(memcached(max_load=most(border(96_000, 101_000))), 1)
    assert said == (
        "memcached on 1 thread keeps p99 ≤ 1 ms up to ≈ 98.5k (96.0k–101k, 90 %) requests/s "
        "(36 runs, 82 s; 71–75 % of its achieved peak of 135k)."
    )


@pytest.mark.parametrize(
    ("lo", "hi", "words"),
    [
        (80_000, math.inf, "up to at least 80.0k requests/s (36 runs, 82 s)."),
        (0, 20_000, "up to at most 20.0k requests/s (36 runs, 82 s)."),
        (0, 0, "misses p99 ≤ 1 ms at every load tried, down to 16.2k requests/s."),
    ],
)
def test_an_open_end_is_said_as_one(lo: float, hi: float, words: str) -> None:
    assert words in answer.headline(memcached(max_load=most(border(lo, hi))), 1)


def test_unknown_stands_beside_the_numbers_with_the_command_that_settles_it() -> None:
    found = most(border(40_000, 160_000), UNKNOWN, "the interval spans a factor of 4.0")
    said = answer.headline(memcached(max_load=found), 1)
    assert "≈ 98.5k (40.0k–160k, 90 %) requests/s" in said
    assert "Too wide to decide by: the interval spans a factor of 4.0." in said
    assert said.endswith("To bring the interval to ±10 %: sojourn run x (6 min).")


def test_without_a_run_that_can_be_believed_the_reason_is_the_answer() -> None:
    found = most(None, UNKNOWN, "no run can be believed", "client stopped")
    assert answer.headline(memcached(max_load=found), 1) == (
        "How much load memcached on 1 thread takes with p99 ≤ 1 ms is unknown: "
        "no run can be believed; client stopped."
    )


@pytest.mark.parametrize(("bare_rps", "is_said"), [(90_000, False), (70_000, True)])
def test_the_machine_s_part_is_said_when_it_is_worth_it(bare_rps: float, *, is_said: bool) -> None:
    bare = Scheduled(
        border=border(50_000, 95_000, bare_rps),
        quantile_ns=(1e5, 9e5),
        at_rps=96_000,
        pairs=2,
        culprits=("kdamond.0", "a daemon", "others"),
    )
    found = replace(most(border(96_000, 101_000)), scheduled=bare)
    said = answer.headline(memcached(max_load=found), 1)
    at_least = replace(bare, border=border(10_000, math.inf, 10_000))
    assert not answer.is_apart(replace(found, scheduled=at_least), answer.APART)
    words = "≈ 70.0k (50.0k–95.0k, 90 %) as this machine schedules it: kdamond.0 and a daemon ran"
    assert (words in said) == is_said


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


def test_beside_a_target_the_growth_is_a_sentence_of_its_own() -> None:
    said = answer.service(memcached(load(0.1, HOLDS), load(0.9, HOLDS)), 1)
    assert " From 10 % to 90 % load the mean goes from 63.2 µs to 400 µs, " in said
