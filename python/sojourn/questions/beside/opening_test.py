"""The first screen beside a neighbour claims no more than the intervals do."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sojourn.questions.beside import opening, section
from sojourn.questions.beside.costs import Beside
from sojourn.questions.beside.interference import Break, Number, Row
from sojourn.questions.testing_state import made
from sojourn.stats.interval import Interval

POLICY = "services.m.knobs.policy"
WAVE = "noise:wave,busy=6ms,period=48ms,where=server"


def beside(policy: str, lo: float, hi: float, most: float = 0.6, service: str = "m") -> Beside:
    """A setting whose tail breaks between two loads."""
    return made(
        Beside,
        service=service,
        setting=policy,
        levels=((POLICY, policy),),
        neighbour=WAVE,
        q=0.99,
        rows=(),
        breaks=Break(lo, hi, most),
    )


def test_a_setting_that_could_be_compared_less_far_is_not_called_calm_farther() -> None:
    low, high = beside("other", 0.3, math.inf, 0.3), beside("fifo:1", 0.6, math.inf)
    for cases in ([low, high], [high, low]):
        assert opening._headline(cases) == "FIFO keeps p99 up to 60 % load"
        (never,) = opening._settings(cases)
        assert never.startswith("It never doubles up to 30 % load with ")


def test_the_first_is_named_only_where_its_break_is_surely_before_the_others() -> None:
    early, late = beside("other", 0.0, 0.1), beside("nice:-20", 0.1, 0.3)
    first, *_ = opening._settings([early, late])
    assert "p99 of m doubles first with kernel default, at 10 % or below load." in first
    wide = beside("other", 0.1, 0.6)
    first, *_ = opening._settings([late, wide])
    assert "first" not in first
    assert "p99 of m doubles with " in first
    assert first.endswith("at 10 to 60 % load; their order is open.")


def test_a_setting_that_is_open_may_break_before_the_one_that_is_known() -> None:
    known, open_ = beside("other", 0.1, 0.3), beside("nice:-20", 0.0, math.inf)
    first, second, *_ = opening._settings([known, open_])
    assert "first" not in first
    assert "p99 of m doubles with kernel default, at 10 to 30 % load." in first
    assert second == "Of 2 settings 1 is undecided."


def test_several_services_are_named_with_their_settings() -> None:
    cases = [beside("fifo:1", 0.6, math.inf), beside("other", 0.6, math.inf, service="n")]
    assert opening._headline(cases) == "M, FIFO and n, kernel default keep p99 up to 60 % load"
    cases = [beside("fifo:1", 0.0, 0.1), beside("fifo:1", 0.3, 0.6, service="n")]
    first, *_ = opening._settings(cases)
    assert "p99 doubles first with m, FIFO, at 10 % or below load." in first
    rows = opening._table(cases).rows
    assert [row[0] for row in rows] == ["m, FIFO", "n, FIFO"]


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (Number(4e5, Interval(-1.5e6, 6e5)), "from 1.50 ms less to 600 µs more"),
        (Number(10.0, Interval(-200.0, 301.0)), "from 200 ns less to 310 ns more"),
        (Number(5.0, Interval(0.0, 10.0)), "from 0 ns less to 10.0 ns more"),
        (Number(4e5, Interval(-1.0, math.inf)), "an unknown time less or more"),
        (Number(-4e5, Interval(-math.inf, 1.0)), "an unknown time less or more"),
        (Number(4e5, Interval(3e5, math.inf)), "400 µs longer (≥ 300 µs)"),
        (Number(-4e5, Interval(-5e5, -3e5)), "400 µs less (300–500)"),
    ],
)
def test_a_cost_that_may_be_none_is_reported_by_its_ends(one: Number, text: str) -> None:
    """Of a mean of 100 µs alone the first says nothing, and least of all that it is as alone."""
    assert opening._more(one) == text


def test_a_pace_is_of_a_setting_only_where_intervals_are_apart() -> None:
    def kept(value: float, half: float | None, policy: str) -> Beside:
        ends = None if half is None else Interval(value - half, value + half)
        return replace(beside(policy, 0.6, math.inf), kept=Number(value, ends))

    apart = [kept(0.9, 0.02, "other"), kept(0.5, 0.02, "fifo:1")]
    (sentence,) = opening._pace_sentences(apart)
    assert (
        sentence == "The neighbour keeps 90 % of its work with kernel default, and 50 % with FIFO."
    )
    for half in (0.3, None):
        over = [kept(0.9, half, "other"), kept(0.5, half, "fifo:1")]
        (sentence,) = opening._pace_sentences(over)
        assert sentence.startswith("The neighbour keeps 50 % to 90 % of its work; under which")


def test_an_open_end_is_written_as_infinity() -> None:
    row = made(Row, load=0.5, ratio=Number(5.0, Interval(3.9, math.inf)))
    assert opening._times(row) == "5× (3.9 to ∞)"
    assert section._times(math.inf, Interval(3.9, math.inf)) == "∞ (3.9 to ∞)"
