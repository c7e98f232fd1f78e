"""Max loads side by side: open ends, and intervals that do not overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from sojourn.analysis.border_rows import MAX_LOAD, ratio_of_curves
from sojourn.analysis.comparison import Comparison, compare
from sojourn.analysis.comparison_rows import Row
from sojourn.findings.findings import Findings
from sojourn.findings.highest_load import Border, MaxLoad
from sojourn.findings.load_point import Run
from sojourn.report import comparison as shown
from sojourn.report import comparison_page, testing
from sojourn.stats.interval import Interval
from sojourn.stats.paired_ratio import Judgement, Limits
from sojourn.stats.unpaired_ratio import unpaired

LIMITS = Limits(alpha=0.01, same=0.05)
GRID = tuple(float(rps) for rps in np.geomspace(100, 1000, 93))
INF = math.inf


def curve(middle: float, sd: float = 0.05) -> tuple[tuple[float, float], ...]:
    """Of a border with a logarithm that is normal about that of `middle`."""
    z = (np.log(GRID) - math.log(middle)) / sd
    holds = [0.5 * math.erfc(float(one) / math.sqrt(2)) for one in z]
    return tuple(zip(GRID, holds, strict=True))


def record(lo: float, hi: float, estimate: float, of: Sequence[tuple[float, float]]) -> Findings:
    """A record of one service, of which only the highest load is known."""
    border = Border(
        estimate_rps=estimate,
        interval_rps=Interval(lo=lo, hi=hi),
        level=0.9,
        fraction=None,
        runs=20,
        starts=10,
        measured_s=50.0,
        curve=tuple(of),
    )
    service = testing.memcached()
    search = service.section(MaxLoad)
    assert search is not None
    service = service.having(MAX_LOAD.replace(" ", "_"), replace(search, border=border))
    return replace(testing.findings(), services=(replace(service, points=()),))


def closed(middle: float, sd: float = 0.05) -> Findings:
    """A record with a closed interval of 90 %."""
    wide = math.exp(1.645 * sd)
    return record(middle / wide, middle * wide, middle, curve(middle, sd))


def at_most(rps: float) -> Findings:
    """A record of which no load was shown to hold: the border may lie anywhere below."""
    holds = [0.4 if one < rps / 1.1 else 0.05 if one <= rps else 0.0 for one in GRID]
    return record(0.0, rps, rps, tuple(zip(GRID, holds, strict=True)))


NO_LOAD = record(0.0, 0.0, GRID[0], tuple((rps, 0.0) for rps in GRID))
AT_LEAST = record(GRID[-1], INF, GRID[-1], tuple((rps, 1.0) for rps in GRID))


def held(*records: Findings) -> Comparison:
    return compare([f"r{n}" for n in range(len(records))], records, LIMITS)


def most(comparison: Comparison) -> Row:
    return next(row for row in comparison.rows if row.number == MAX_LOAD)


@pytest.mark.parametrize(
    ("first", "second", "word", "value", "ratio"),
    [
        (closed(345), at_most(151), Judgement.WORSE, "at most 151/s", "at most 0.49"),
        (at_most(151), closed(345), Judgement.BETTER, "345/s", "at least 2.0"),
        (closed(345), AT_LEAST, Judgement.BETTER, "at least 1k/s", "at least 2."),
        (closed(345), NO_LOAD, Judgement.WORSE, "no load", "at most 0.3"),
        (at_most(151), AT_LEAST, Judgement.BETTER, "at least 1k/s", "at least 6."),
    ],
)
def test_what_open_intervals_exclude_is_decided(
    first: Findings, second: Findings, word: Judgement, value: str, ratio: str
) -> None:
    comparison = held(first, second)
    side = most(comparison).sides[1]
    assert side.judgement is word
    assert side.ratio is None, "a bound is no number to divide by"
    line = shown.lines(comparison)[0]
    assert line[4] == value
    assert line[5].startswith(ratio)
    assert all(0 <= bar.low <= bar.high <= 1 for bar in comparison_page.bars(comparison))


@pytest.mark.parametrize("pair", [(closed(120), at_most(151)), (at_most(151), at_most(400))])
def test_what_an_open_interval_may_contain_stays_open_and_is_shown(
    pair: tuple[Findings, Findings],
) -> None:
    comparison = held(*pair)
    side = most(comparison).sides[1]
    assert side.judgement is Judgement.OPEN
    assert "open" in side.note
    assert shown.shared(comparison), "what both have is a row, decided or not"
    assert "cannot be decided" in shown.sentence(comparison)


def test_intervals_that_do_not_overlap_and_decide_nothing_say_what_is_lacking() -> None:
    """Each end of 90 % leaves 5 %: two that just touch leave 2 % together."""
    comparison = held(closed(300), closed(300 * math.exp(2 * 1.645 * 0.05)))
    side = most(comparison).sides[1]
    assert side.judgement is Judgement.OPEN
    assert side.p == pytest.approx(0.020, abs=0.001)
    assert side.note == "chance of an error 2.1 %; 1 % is allowed"
    assert shown.sentence(comparison).endswith(f"runs: max load, {side.note}.")
    sure = held(closed(300), closed(300 * math.exp(3 * 1.645 * 0.05)))
    assert most(sure).sides[1].judgement is Judgement.BETTER


def test_narrow_equal_borders_are_no_difference() -> None:
    comparison = held(closed(300, 0.005), closed(301, 0.005))
    assert most(comparison).sides[1].judgement is Judgement.SAME
    assert most(held(closed(300), closed(301))).sides[1].judgement is Judgement.OPEN


def test_the_ratio_of_two_curves_is_that_of_draws_from_them() -> None:
    """Of two normal logarithms the ratio is known: half its width is 2.576 of √2 · 0.05."""
    ends, p = ratio_of_curves(curve(300), curve(330), 0.01)
    half = 2.5758 * math.sqrt(2) * 0.05
    step = math.log(GRID[1] / GRID[0])  # of the grid, at either end
    assert math.log(1.1) - half - 2 * step <= math.log(ends.lo) <= math.log(1.1) - half + 1e-3
    assert math.log(1.1) + half - 1e-3 <= math.log(ends.hi) <= math.log(1.1) + half + 2 * step
    exact = math.erfc(math.log(1.1) / math.sqrt(2) / 0.05 / math.sqrt(2))
    assert exact <= p <= 3 * exact, "the grid's doubt is against a difference"
    back, again = ratio_of_curves(curve(330), curve(300), 0.01)
    assert again == pytest.approx(p)
    assert (back.lo, back.hi) == pytest.approx((1 / ends.hi, 1 / ends.lo))


def test_a_number_that_is_infinite_in_both_records_is_a_row() -> None:
    """Requests were lost in both: that is measured, and not the same as nothing."""
    first = replace(testing.findings(), services=(testing.memcached(),))
    service = first.services[0]

    def lost(run: Run) -> Run:
        return replace(run, mean_ns=None, sample=tuple((q, INF) for q, _ in run.quantiles))

    points = tuple(replace(p, runs=tuple(map(lost, p.runs))) for p in service.points[:1])
    both = replace(first, services=(replace(service, points=points),))
    comparison = held(both, both)
    row = next(line for line in shown.lines(comparison) if line[2] == "p99")
    assert row[3:6] == ("∞", "∞", "–")
    assert not any(line.startswith("Not measured") for line in shown.notes(comparison))


def test_restarts_that_agree_to_the_last_digit_still_decide() -> None:
    """Times are stored in three digits, so equal ones differ by less than these, and not by 0."""
    result = unpaired([1.0] * 3, [2.0] * 3, 0.01)
    assert result.interval is not None
    assert result.interval.lo < 2.0 < result.interval.hi < 2.01
    assert result.p < 1e-6
    same = unpaired([1.0] * 3, [1.0] * 3, 0.01)
    assert same.p == 1.0


@pytest.mark.parametrize(
    ("q", "bound_ns", "note"),
    [(0.99, 2e6, "the targets differ: p99 ≤ 1 ms and p99 ≤ 2 ms"),
     (0.95, 1e6, "the targets differ: p99 ≤ 1 ms and p95 ≤ 1 ms"),
     (0.99, 1.005e6, "")],
)  # fmt: skip
@pytest.mark.parametrize("other", [closed(600), AT_LEAST])
def test_highest_loads_of_unlike_targets_are_shown_and_not_judged(
    q: float, bound_ns: float, note: str, other: Findings
) -> None:
    """A looser bound would be a better service."""
    service = other.services[0]
    assert service.qos is not None
    target = replace(service.qos, q=q, bound_ns=bound_ns)
    comparison = held(closed(300), replace(other, services=(replace(service, qos=target),)))
    side = most(comparison).sides[1]
    assert side.note == note
    assert side.judgement is (Judgement.OPEN if note else Judgement.BETTER)
    assert side.value
