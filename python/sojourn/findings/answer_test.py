"""The words: as sure as the numbers, and no surer."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sojourn.findings import answer
from sojourn.findings.findings import Qos, ServiceFinding
from sojourn.findings.highest_load import Border, MaxLoad, Scheduled, is_closed
from sojourn.findings.load_point import LoadPoint
from sojourn.findings.state import Settle
from sojourn.plan.points import Verdict
from sojourn.stats.interval import Estimate, Interval

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
        sections={"max_load": max_load} if max_load else {},
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


def most(result: Border | None, verdict: Verdict = HOLDS, *reasons: str) -> MaxLoad:
    return MaxLoad(
        verdict=verdict,
        reasons=reasons,
        border=result,
        probes=((90_000.0, "pass"),),
        wall_s=60,
        settle=Settle(command="sojourn run x", seconds=360, why="bring the interval to ±10 %"),
    )


def test_the_answer_is_a_number_with_its_interval_and_what_it_rests_on() -> None:
    text = answer.headline(memcached(max_load=most(border(96_000, 101_000))), 1)
    assert text == (
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
def test_an_open_end_is_reported_as_one(lo: float, hi: float, words: str) -> None:
    assert words in answer.headline(memcached(max_load=most(border(lo, hi))), 1)


def test_unknown_is_beside_the_numbers_with_the_command_that_settles_it() -> None:
    max_load = most(border(40_000, 160_000), UNKNOWN, "the interval spans a factor of 4.0")
    text = answer.headline(memcached(max_load=max_load), 1)
    assert "≈ 98.5k (40.0k–160k, 90 %) requests/s" in text
    assert "Too wide to decide by: the interval spans a factor of 4.0." in text
    assert text.endswith("To bring the interval to ±10 %: sojourn run x (6 min).")


def test_without_a_run_that_can_be_believed_the_reason_is_the_answer() -> None:
    max_load = most(None, UNKNOWN, "no run is valid", "client stopped")
    assert answer.headline(memcached(max_load=max_load), 1) == (
        "How much load memcached on 1 thread takes with p99 ≤ 1 ms is unknown: "
        "no run is valid; client stopped."
    )


@pytest.mark.parametrize(("bare_rps", "is_reported"), [(90_000, False), (70_000, True)])
def test_the_machine_s_part_is_reported_when_it_is_worth_it(
    bare_rps: float, *, is_reported: bool
) -> None:
    bare = Scheduled(
        border=border(50_000, 95_000, bare_rps),
        quantile_ns=(1e5, 9e5),
        at_rps=96_000,
        pairs=2,
        culprits=("kdamond.0", "a daemon", "others"),
    )
    result = replace(most(border(96_000, 101_000)), scheduled=bare)
    text = answer.headline(memcached(max_load=result), 1)
    at_least = replace(bare, border=border(10_000, math.inf, 10_000))
    assert not answer.is_apart(replace(result, scheduled=at_least), answer.APART)
    words = "≈ 70.0k (50.0k–95.0k, 90 %) as this machine schedules it: kdamond.0 and a daemon ran"
    assert (words in text) == is_reported


def test_loads_between_that_are_unknown_are_counted() -> None:
    finding = memcached(
        load(0.5, HOLDS), load(0.6, UNKNOWN), load(0.7, UNKNOWN), load(0.8, VIOLATED)
    )
    assert answer.headline(finding, None).endswith("; between them 2 loads stayed unknown.")


def test_a_load_that_holds_above_one_that_does_not_is_not_claimed() -> None:
    finding = memcached(load(0.5, HOLDS), load(0.6, VIOLATED), load(0.7, HOLDS))
    text = answer.headline(finding, 1)
    assert "keeps p99 ≤ 1 ms at 67.5k requests/s (50 %) and misses it at 81.0k" in text


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
        ([load(0.5, UNKNOWN)], "is unknown, because no load was decided."),
        ([], "is unknown, because no load was decided."),
    ],
)
def test_the_sweep_alone(points: list[LoadPoint], words: str) -> None:
    assert words in answer.headline(memcached(*points), 1)


def test_without_a_target_the_growth_is_the_answer() -> None:
    result = replace(memcached(load(0.1, HOLDS), load(0.9, HOLDS)), qos=None)
    assert answer.service(result, 1) == (
        "memcached on 1 thread: from 10 % to 90 % load the mean goes from 63.2 µs to 400 µs, "
        "p99 from 263 µs to 1.67 ms."
    )


def test_one_load_has_no_growth() -> None:
    result = replace(memcached(load(0.1, HOLDS)), qos=None)
    assert "unknown" in answer.headline(result, 1)


def test_beside_a_target_the_growth_is_a_sentence_of_its_own() -> None:
    text = answer.service(memcached(load(0.1, HOLDS), load(0.9, HOLDS)), 1)
    assert " From 10 % to 90 % load the mean goes from 63.2 µs to 400 µs, " in text


def bracketed(*points: LoadPoint) -> tuple[float | None, float | None]:
    bracket = answer.bracket(points)
    ends = (bracket.holds, bracket.violated)
    return tuple(end and round(end.fraction, 9) for end in ends)  # type: ignore[return-value]


def test_the_border_lies_between_the_last_that_holds_and_the_first_that_does_not() -> None:
    loads = [load(0.7, VIOLATED), load(0.3, HOLDS), load(0.9, VIOLATED), load(0.5, HOLDS)]
    assert bracketed(*loads) == (0.5, 0.7)
    assert bracketed(*loads, load(0.2, VIOLATED)) == (None, 0.2)
    assert bracketed(load(0.5, UNKNOWN)) == (None, None)
    assert bracketed(load(0.5, HOLDS), load(0.8, HOLDS), load(0.6, UNKNOWN)) == (0.8, None)


def test_one_load_between_is_one_and_the_next_above_says_why() -> None:
    finding = memcached(load(0.5, HOLDS), load(0.6, UNKNOWN), load(0.8, VIOLATED))
    assert answer.headline(finding, None).endswith("; between them 1 load stayed unknown.")
    above = [load(0.6, UNKNOWN, "first"), load(0.7, UNKNOWN, "second")]
    text = answer.headline(memcached(load(0.5, HOLDS), *above), 2)
    assert text.startswith("memcached on 2 threads keeps p99 ≤ 1 ms up to 67.5k requests/s (50 %)")
    assert text.endswith("decided; above that it is unknown: first.")
    silent = memcached(load(0.5, HOLDS), load(0.6, UNKNOWN))
    assert answer.headline(silent, 1).endswith("is unknown: its self-check failed.")


def test_an_axis_without_a_peak_is_not_named_and_another_rule_is_by_its_name() -> None:
    loads = (load(0.5, HOLDS), load(0.6, VIOLATED))
    nameless = replace(memcached(*loads), max_rps=None)
    assert answer.headline(nameless, 1).endswith("misses it at 81.0k requests/s (60 %).")
    own = replace(memcached(*loads), max_rps_rule="by hand")
    assert answer.headline(own, 1).endswith("(60 %) of its by hand of 135k.")


def test_the_instrument_s_cost_is_reported_by_load_or_unknown() -> None:
    null = replace(memcached(load(0.1, HOLDS), load(0.2, HOLDS)), max_rps_rule=answer.NULL_RULE)
    assert answer.headline(null, None) == (
        "The instrument itself costs: mean 63.2 µs, p99 263 µs at 13.5k requests/s; "
        "mean 70.6 µs, p99 294 µs at 27.0k requests/s."
    )
    mute = replace(load(0.1, HOLDS), quantiles=(estimate(0.95, 1.0),))
    assert answer.instrument(replace(null, points=(mute,))) == (
        "What the instrument itself costs is unknown: no run of it is valid."
    )


def test_a_search_that_was_not_begun_has_no_reason_of_its_own() -> None:
    assert answer.headline(memcached(max_load=most(None, UNKNOWN)), 1).endswith(
        "is unknown: the search was not begun."
    )


def test_an_interval_open_at_both_ends_has_no_number_and_no_share() -> None:
    nothing = border(0, math.inf)
    assert answer.fits(nothing) == "an unknown number of"
    none = replace(nothing, interval_rps=replace(nothing.interval_rps, lo=0.0, hi=0.0))
    assert answer.fits(none) == "no load", '"at most 0" was said of a reading without others'
    assert not is_closed(nothing)
    text = answer.headline(memcached(max_load=most(nothing)), 1)
    assert text.endswith("up to an unknown number of requests/s (36 runs, 82 s).")
    shareless = replace(border(96_000, 101_000), fraction=None)
    assert "(36 runs, 82 s)." in answer.headline(memcached(max_load=most(shareless)), 1)


def test_the_undisturbed_answer_and_a_nameless_culprit_stand_beside_the_number() -> None:
    bare = Scheduled(border=border(50_000, 95_000, 70_000), quantile_ns=None, at_rps=1, pairs=0)
    result = replace(
        most(border(96_000, 101_000)), scheduled=bare, undisturbed=border(99_000, 120_000, 110_000)
    )
    text = answer.headline(memcached(max_load=result), 1)
    assert "(50.0k–95.0k, 90 %) as this machine schedules it. " in text
    assert text.endswith("by the machine it would be ≈ 110k (99.0k–120k, 90 %).")
    sure = replace(most(border(96_000, 101_000), HOLDS, "a reason"), settle=None)
    assert "Too wide" not in answer.headline(memcached(max_load=sure), 1)
    silent = replace(most(border(96_000, 101_000), UNKNOWN), settle=None)
    assert answer.headline(memcached(max_load=silent), 1).endswith("of its achieved peak of 135k).")


def test_the_shield_matters_from_a_ratio_on() -> None:
    def apart(with_rps: float, without_rps: float, hi: float = 2_000) -> bool:
        bare = Scheduled(border=border(1, hi, without_rps), quantile_ns=None, at_rps=1, pairs=0)
        return answer.is_apart(replace(most(border(1, 2, with_rps)), scheduled=bare), 1.5)

    assert apart(1_500, 1_000)
    assert not apart(1_499, 1_000)
    assert not apart(3_000, 1_000, math.inf)
    assert not answer.is_apart(most(border(1, 2)), 1.5)
    lost = Scheduled(border=None, quantile_ns=None, at_rps=1, pairs=0)
    assert not answer.is_apart(replace(most(border(1, 2)), scheduled=lost), 1.5)
    assert not answer.is_apart(replace(most(None), scheduled=lost), 1.5)


def test_growth_is_from_the_lowest_to_the_highest_load_with_a_finite_tail() -> None:
    loads = [load(0.9, HOLDS), load(0.5, HOLDS), load(0.1, HOLDS), load(0.7, HOLDS)]
    loads[0] = replace(loads[0], quantiles=(estimate(0.99, math.inf),))
    loads[2] = replace(loads[2], quantiles=(estimate(0.95, 1.0),))
    assert answer.growth(memcached(*loads), 0.99) == (
        "from 50 % to 70 % load the mean goes from 109 µs to 171 µs, p99 from 455 µs to 714 µs."
    )
    assert answer.growth(memcached(*loads), 0.95) == ""


@pytest.mark.parametrize(
    ("points", "result", "words"),
    [
        ([], border(54_000, 81_000, 67_500), "40–60 %"),
        ([load(0.5, HOLDS)], border(54_000, math.inf), "at least 50 %"),
        ([load(0.5, HOLDS), load(0.6, VIOLATED)], None, "between 50 % and 60 %"),
        ([load(0.6, VIOLATED)], None, "below 60 %"),
        ([load(0.6, UNKNOWN)], None, "unknown"),
    ],
)
def test_the_range_of_loads_for_a_table(
    points: list[LoadPoint], result: Border | None, words: str
) -> None:
    assert answer.load_range(points, most(result) if result else None) == words
    assert answer.load_range(points, most(None)) == (
        words if result is None else answer.load_range(points, None)
    )
