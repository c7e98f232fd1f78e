"""Arithmetic that comes out wrong is violated: each such statement, fed with what breaks it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sojourn.models.replicate import c11, c20, l7, l14, l15, l17, l18, l21, l29, l34
from sojourn.models.replicate.kind import Check, Curve, Replica, Word
from sojourn.models.replicate.paper import SERVICE_US
from sojourn.models.replicate.theory_test import dealt, fed
from sojourn.models.simulator import Result, Simulator


def verdict(replica: Replica, words: str) -> Word:
    return next(check.verdict for check in replica.checks if words in check.what)


@pytest.mark.parametrize(
    ("slowdown", "word"), [(1.01, Word.ARITHMETIC), (1.0, Word.VIOLATED), (0.8, Word.VIOLATED)]
)
def test_l14_no_slow_down_moves_no_asymptote(
    monkeypatch: pytest.MonkeyPatch, slowdown: float, word: Word
) -> None:
    monkeypatch.setattr(l14, "SLOWDOWN", slowdown)

    def answer(_job: Mapping[str, Any]) -> Result:
        return {"sojourn_ns": {"p95": 1e5}}

    assert verdict(l14.run(fed(answer), 1.0), "asymptote") is word


@pytest.mark.parametrize(
    ("at", "word"),
    [(0.35, Word.VIOLATED), (0.4, Word.ARITHMETIC), (0.6, Word.ARITHMETIC), (0.7, Word.VIOLATED)],
)
def test_l15_half_of_peak_is_forty_to_sixty_percent(at: float, word: Word) -> None:
    def answer(job: Mapping[str, Any]) -> Result:
        (service,) = job["services"]
        late = service["workers"] == 13 and float(service["rate"]) / 1.1e6 > at - 1e-6
        return {"services": [{"sojourn_ns": {"p95": 2e6 if late else 1e6, "p50": 1e3}}]}

    assert verdict(l15.run(fed(answer), 1.0), "spikes at about half") is word


@pytest.mark.parametrize(
    ("ratio", "word"), [(1.49, Word.ARITHMETIC), (1.5, Word.VIOLATED), (0.5, Word.ARITHMETIC)]
)
def test_l15_a_median_half_as_long_again_shows(ratio: float, word: Word) -> None:
    def answer(job: Mapping[str, Any]) -> Result:
        (service,) = job["services"]
        many = service["workers"] == 13
        late = many and float(service["rate"]) > 0.5e6
        p50 = ratio * 1e3 if many else 1e3
        return {"services": [{"sojourn_ns": {"p95": 2e6 if late else 1e6, "p50": p50}}]}

    assert verdict(l15.run(fed(answer), 1.0), "the median does not") is word


def l7_curves(tail_at: float, medians: tuple[float | None, ...]) -> list[Curve]:
    """Without a probe the tail breaks at 0.9; with the first one at `tail_at`."""

    def line(*y: float | None) -> Curve:
        return Curve(name="", x_label="", y_label="", x=l7.LOADS, y=y)

    def tail(at: float) -> Curve:
        return line(*(2_000.0 if load >= at else 500.0 for load in l7.LOADS))

    return [tail(0.9), line(*(10.0 for _ in l7.LOADS)), tail(tail_at), line(*medians)]


@pytest.mark.parametrize(
    ("tail_at", "words"),
    [(0.7, Word.ARITHMETIC), (0.8, Word.VIOLATED)],  # 0.78 and 0.89 of the load without it
)
def test_l7_a_far_lower_load_is_four_fifths(tail_at: float, words: Word) -> None:
    tail, _ = l7._checks(l7_curves(tail_at, (10.0,) * len(l7.LOADS)), 0)
    assert tail.verdict is words


@pytest.mark.parametrize(
    ("at_break", "beyond", "word", "ours"),
    [
        (12.4, 99.0, Word.ARITHMETIC, "1.24"),
        (12.5, 10.0, Word.VIOLATED, "1.25"),
        (None, 10.0, Word.VIOLATED, "inf"),
    ],
)
def test_l7_a_median_a_fourth_longer_shows_up_to_the_break(
    at_break: float | None, beyond: float, word: Word, ours: str
) -> None:
    at = l7.LOADS.index(0.5)
    medians = [10.0, *([11.0] * (at - 1)), at_break, *([beyond] * (len(l7.LOADS) - at - 1))]
    _, median = l7._checks(l7_curves(0.5, tuple(medians)), 0)
    assert median.verdict is word
    assert median.ours == f"p50 at most {ours} times that without, up to there"


def test_l7_a_tail_that_never_breaks_is_not_early() -> None:
    tail, _ = l7._checks(l7_curves(math.inf, (10.0,) * len(l7.LOADS)), 0)
    assert tail.verdict is Word.VIOLATED
    assert tail.ours == "p95 above 1 ms from 100%, without the probe from 90%"


@pytest.mark.parametrize(("tail_at", "word"), [(0.5, Word.ARITHMETIC), (0.8, Word.VIOLATED)])
def test_l7_half_a_core_is_full_at_half_of_peak(tail_at: float, word: Word) -> None:
    alone, median, *probe = l7_curves(tail_at, (10.0,) * len(l7.LOADS))
    tail, _ = l7._checks([alone, median, *probe * 3], 2)
    assert "time-shared" in tail.what
    assert tail.verdict is word


@pytest.mark.parametrize(
    ("tail", "word"), [(199.0, Word.VIOLATED), (200.0, Word.ARITHMETIC), (None, Word.ARITHMETIC)]
)
def test_l17_half_a_core_is_too_little_at_high_load(tail: float | None, word: Word) -> None:
    def line(name: str, *y: float | None) -> Curve:
        return Curve(name=name, x_label="", y_label="", x=(0.1, 0.9), y=y)

    curves = [line(l17.ALONE.name, 100.0, 100.0), line(l17.FAIR.name, 100.0, tail)]
    assert l17._waits(curves).verdict is word


def l21_checks(flow: float, rss: float) -> tuple[Check, ...]:
    def line(at: float) -> Curve:
        y = tuple(None if load >= at else 1_000.0 for load in l21.LOADS)
        return Curve(name="", x_label="", y_label="", x=l21.LOADS, y=y)

    return l21._checks({l21.ALONE: line(0.9), l21.FLOW: line(flow), l21.RSS: line(rss)})


def test_l21_flow_director_leaves_the_break_where_it_was_and_rss_does_not() -> None:
    assert [check.holds for check in l21_checks(0.9, 0.8)] == [True, True, True]
    assert [check.holds for check in l21_checks(0.85, 0.85)] == [True, False, False]
    assert l21_checks(0.9, 0.8)[2].ours == "p95 above 1 ms from 80%, alone from 90%"


@pytest.mark.parametrize(("reply", "is_right"), [(1_000, True), (1_100, False)])
def test_l21_replies_of_a_kilobyte_fill_the_line(
    monkeypatch: pytest.MonkeyPatch, reply: int, *, is_right: bool
) -> None:
    """1.1 M/s of (1,000 + 120) bytes are 9.86 of 10 Gbit/s, of 1,220 bytes 10.7."""
    monkeypatch.setattr(l21, "REPLY_BYTES", reply)
    assert l21_checks(0.9, 0.8)[0].holds is is_right


@pytest.mark.parametrize(("few", "word"), [(79.0, Word.ARITHMETIC), (80.0, Word.VIOLATED)])
def test_l29_substantially_fewer_switches_are_four_fifths(few: float, word: Word) -> None:
    results: list[Result] = [
        {"switches_rps": [few if load == 0.9 else 100.0]} for load in l29.LOADS
    ]
    left = {name: (0.5,) * len(l29.LOADS) for name in l29.PROGRAMS}
    checks = l29._checks(left, results)
    assert checks[-2].verdict is word
    assert checks[-2].ours == f"{few:.0f} against 100 per second and CPU"
    assert [check.verdict for check in checks[:3]] == [Word.VIOLATED] * 3


def test_l29_a_prediction_may_be_off_by_six_points() -> None:
    paper = {0.3: 0.47, 0.5: 0.30, 0.7: 0.18}

    def off(points: float) -> bool | None:
        left = tuple(paper.get(load, 9.0) + points for load in l29.LOADS)
        return l29._prediction("mean", left).holds

    assert [off(p) for p in (-0.061, -0.059, 0.059, 0.061)] == [False, True, True, False]
    check = l29._prediction("mean", tuple(paper.get(load, 9.0) - 0.05 for load in l29.LOADS))
    assert (check.paper, check.ours) == ("47/30/18 %", "42.0/25.0/13.0 %")
    assert check.tolerance == "each -6 to +6 points"
    assert l29.wake_us(0.5, 0.2) == pytest.approx(3.0 * l29.SERVICE_US)
    assert l29.better(0.2, 0.2).holds


@pytest.mark.parametrize(("irq_us", "word"), [(6.0, Word.ARITHMETIC), (2.0, Word.VIOLATED)])
def test_c11_the_papers_stop_lies_between_the_costs_of_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, irq_us: float, word: Word
) -> None:
    monkeypatch.setattr(c11, "MOST", replace(c11.MOST, softirq_us=irq_us))
    assert verdict(c11.run(fed(dealt), 1.0), "hard stop") is word


def test_c20_fewer_cores_that_meet_the_target_and_more_than_five_that_are_needed() -> None:
    app = c20.APPS[0]
    late, meets = [2e6] * 4, [2e6, 2e6, 2e6, 1e6]
    wrong, right = c20._checks(app, [*meets, 1e6], [None, 2e6, 1e6, 1e6, 1e6])
    assert (wrong.verdict, wrong.ours) == (Word.VIOLATED, "7 threads meet it on 6 cores")
    assert (right.verdict, right.ours) == (Word.ARITHMETIC, "met on 5, 6, 7 cores")
    alone, six = c20._checks(app, [*late, 1e6], [None, None, None, 1e6, 1e6])
    assert (alone.verdict, alone.ours) == (Word.ARITHMETIC, "7 threads meet it on 7 cores alone")
    assert (six.verdict, six.ours) == (Word.VIOLATED, "met on 6, 7 cores")
    assert c20._checks(app, [*late, 1e6], [None] * 5)[1].ours == "met nowhere"


def test_l34_other_servers_or_costs_give_other_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(l34, "SERVERS", 6_000)
    result = l34.run(Simulator("unused", 1), 1.0)
    assert verdict(result, "servers saved") is Word.VIOLATED
    assert verdict(result, "matches the free memory") is Word.VIOLATED
    assert verdict(result, "highest load") is Word.ARITHMETIC


def endless(job: Mapping[str, Any]) -> Result:
    """From half load on no tail is finite; below it is 90 µs."""
    (service,) = job["services"]
    mean = float(service["service"].removeprefix("exponential:"))
    load = float(service["rate"]) * mean / 1e6 / service.get("workers", 1)
    ns = None if load > 0.499 else 90e3
    span = {"p50": ns, "p95": ns}
    return {"services": [{"sojourn_ns": span, "achieved_rps": 0.875e6 / mean}]}


def test_a_tail_that_is_not_finite_is_no_point_of_a_curve_and_no_time_of_zero() -> None:
    alone, wave = l18.sweep(fed(endless), l18.CASES[:2], (0.4, 0.5, 0.6), 1.0).values()
    assert alone.y == wave.y == (90.0, None, None)
    assert wave.achieved == pytest.approx((0.875, 0.875, 0.875))
    for name, curve in {c.name: c for c in l7.run(fed(endless), 1.0).curves}.items():
        at = 0.5 if "13" not in name else 0.55  # 13 threads: 0.5 · 12/13 of each
        assert curve.y == tuple(90.0 if x < at else None for x in curve.x)
    result = l17.run(fed(endless), 1.0)
    outside = 100 - SERVICE_US / 0.9
    for curve in result.curves:
        assert curve.y == tuple(pytest.approx(90 + outside) if x < 0.5 else None for x in curve.x)
    assert [check.holds for check in result.checks] == [False, True]
    assert [check.ours for check in result.checks] == [
        "1.00 to inf times",
        "up to inf times that alone",
    ]


def test_l18_throughput_s_cap_is_the_most_at_any_load_and_its_notes_have_the_warps() -> None:
    result = l18.run(fed(endless), 1.0)
    caps = [check for check in result.checks if "capped" in check.what]
    assert [(check.ours, check.holds) for check in caps] == [("87.5%", True)] * 2
    assert [check.tolerance for check in caps] == ["86.0% to 89.5%"] * 2
    breaks = [check for check in result.checks if "departs" in check.what]
    assert [check.ours for check in breaks] == ["never"] * 4  # alone is not finite there either
    assert [check.tolerance for check in breaks] == ["10% to 15%"] * 2 + ["45% to 55%"] * 2
    assert result.notes[0].startswith("BVT, rules as in the paper's text: its break at 50 % holds")
    assert result.notes[1].startswith("BVT, rules as in the kernel: its break at 50 % holds")
    assert [c.name for c in result.curves] == [case.name for case in l18.CASES]
