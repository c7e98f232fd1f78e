"""What is "at least" is rounded down as it is shown, and "at most" up."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.browse.narrowing import Step
from sojourn.findings import answer
from sojourn.findings.effects import Effect
from sojourn.findings.highest_load import Border
from sojourn.foresight import words as forecast
from sojourn.questions.blame import words
from sojourn.questions.blame.randomisation import Contrast
from sojourn.questions.isolation_cost import costs
from sojourn.referee import words as referee
from sojourn.referee.judgement import Number
from sojourn.report import show
from sojourn.report.draw.known import Known, Sort
from sojourn.report.figures import antagonists
from sojourn.stats.interval import Estimate, Interval
from sojourn.view import plot

LOW, HIGH = 97_960.0, 98_040.0  # 98.0k to nearest


def border(lo: float, hi: float) -> Border:
    return Border(
        estimate_rps=1e5,
        interval_rps=Interval(lo, hi),
        level=0.9,
        fraction=None,
        runs=36,
        starts=9,
        measured_s=82.0,
    )


def step(lo: float, hi: float) -> Step:
    return Step(runs=3, lo=lo, hi=hi, middle=None)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (show.border(border(LOW, math.inf)), "at least 97.9k"),
        (show.border(border(0.0, HIGH)), "at most 98.1k"),
        (answer.fits(border(LOW, math.inf)), "at least 97.9k"),
        (answer.fits(border(0.0, HIGH)), "at most 98.1k"),
        (plot.interval(step(LOW, math.inf)), "at least 97.9k/s"),
        (plot.interval(step(0.0, HIGH)), "at most 98.1k/s"),
        (show.times(Interval(1_319_000.0, math.inf)), "≥ 1.31 ms"),
        (Known(sort=Sort.AT_LEAST, ns=1_319_000.0).shown, "≥ 1.31 ms"),
        (Known(sort=Sort.AT_MOST, ns=1_311_000.0).shown, "≤ 1.32 ms"),
        (
            Known(sort=Sort.ENDLESS, ns=math.inf, least_ns=1_319_000.0).label,
            "never; at least 1.31 ms",
        ),
    ],
)
def test_a_bound_of_loads_or_times_holds_as_shown(text: str, shown: str) -> None:
    assert text == shown


def contrast(ratio: float, lo: float, hi: float) -> Contrast:
    return Contrast(
        with_ns=None,
        without_ns=None,
        ratio=ratio,
        interval=Interval(lo, hi),
        p=0.01,
        blocks=9,
        requests=900,
    )


def test_a_bound_beside_intervals_holds_as_shown() -> None:
    ends = Interval(1_319_000.0, math.inf)
    assert words._span(ends) == " (1.31 ms or more)"
    one = Estimate(
        q=0.99,
        value=1_311_000.0,
        interval=None,
        across_restarts=None,
        requests=9,
        effective=9.0,
        refused="",
    )
    number = Number(q=0.99, server=one, users=one, server_here=1.0, here=1.0, lo=1.0, hi=1.0)
    assert referee._users(number, is_bound=True)[0] == "≤ 1.32 ms"
    assert referee._users(number, is_bound=False)[0] == "1.31 ms"


@pytest.mark.parametrize(
    ("censored", "shown"), [("above", "≥ 97.9k/s, measured"), ("below", "≤ 98.0k/s, measured")]
)
def test_a_border_outside_the_measured_loads_is_a_bound(censored: str, shown: str) -> None:
    of: Any = SimpleNamespace(censored=censored, alone_rps=LOW)
    assert forecast._alone(of) == shown


def test_a_bound_of_ratios_holds_as_shown() -> None:
    lost = costs.Felt(
        changes=9,
        requests=900,
        before_ns=1e6,
        after_ns=math.inf,
        ratio=math.inf,
        interval=Interval(1.239, math.inf),
    )
    assert costs.ratio_words(lost) == "at least 1.23"
    assert words.limit(contrast(math.inf, 1.239, math.inf)) == "at least 1.23"
    assert words.limit(contrast(math.inf, 9.96, math.inf)) == "at least 9.96"
    assert words.limit(contrast(0.0, 0.0, 0.231)) == "at most 0.24"
    same = Effect(
        what="p99",
        is_time=True,
        base="none",
        level="xz",
        ratio=1.1,
        interval=Interval(0.9, 1.31),
        coverage=0.95,
        blocks=9,
        reason="",
        doubt="",
        sentence="",
    )
    assert antagonists.times(same) == "≤ 1.4×"
