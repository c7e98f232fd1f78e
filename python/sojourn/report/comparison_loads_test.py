"""Records with unlike max RPS: equal loads are those of equal requests/s."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.analysis import equal_loads, history
from sojourn.analysis.border_rows import MAX_LOAD
from sojourn.analysis.comparison import CPU, Comparison, has_equal_load
from sojourn.findings.findings import Findings
from sojourn.report import comparison as shown
from sojourn.report import history as history_text
from sojourn.report import testing
from sojourn.report.comparison_test import held, record
from sojourn.stats.paired_ratio import Judgement


def at_loads(of: Findings, max_rps: float, *fractions: float) -> Findings:
    """The same record with another max RPS, and these shares of it as its loads."""
    service = of.services[0]
    points = tuple(
        replace(service.points[0], fraction=fraction, offered_rps=1.02 * fraction * max_rps)
        for fraction in fractions
    )
    return replace(of, services=(replace(service, points=points, max_rps=max_rps),))


def times(comparison: Comparison) -> list[Judgement]:
    """Judgements of all that is measured at a load."""
    return [side.judgement for row in comparison.rows if row.load for side in row.sides[1:]]


def test_an_equal_share_of_another_max_rps_is_not_compared() -> None:
    """A slower service had less load at "80 %", and its times looked equal."""
    fast = at_loads(record(1.0), 50_000.0, 0.4, 0.8)
    slow = at_loads(record(1.0), 25_000.0, 0.4, 0.8)
    comparison = held(fast, slow)
    text = shown.markdown(comparison)
    assert {row.load for row in comparison.rows} == {
        "", "20.0k requests/s (40 %)", "40.0k requests/s (80 %)"
    }  # fmt: skip
    there = {row.load for row in shown.shared(comparison)}
    assert there == {"", "20.0k requests/s (40 %)"}, "20k is 80 % of the slower one"
    assert set(times(held(fast, slow))[:5]) == {Judgement.SAME}
    assert "100 % load of memcached is 50.0k/s in A and 25.0k/s in B" in text
    assert "run.rates" in text
    assert "Not measured in both: memcached at 40.0k requests/s (80 %)." in text


def test_the_worse_one_at_equal_loads_is_worse_though_equal_at_equal_shares() -> None:
    fast = at_loads(record(1.0), 50_000.0, 0.4, 0.8)
    slow = at_loads(record(1.0), 25_000.0, 0.4, 0.8)
    slow_points = list(slow.services[0].points)
    worse = record(1.3).services[0].points[0]
    slow_points[1] = replace(slow_points[1], runs=worse.runs)
    slow = replace(slow, services=(replace(slow.services[0], points=tuple(slow_points)),))
    comparison = held(fast, slow)
    rows = {(row.load, row.number): row for row in comparison.rows}
    assert rows["20.0k requests/s (40 %)", "p99"].sides[1].judgement is Judgement.WORSE
    assert comparison.judgement is Judgement.WORSE


@pytest.mark.parametrize(
    ("more", "slower", "judgement"),
    [
        (1.05, 1.3, Judgement.OPEN),
        (1.05, 1.0, Judgement.SAME),
        (1.05, 0.7, Judgement.BETTER),
        (0.96, 1.3, Judgement.WORSE),
        (0.96, 1.0, Judgement.OPEN),
        (0.96, 0.7, Judgement.OPEN),
    ],
)
def test_loads_that_nearly_agree_are_judged_where_the_load_cannot_be_the_reason(
    more: float, slower: float, judgement: Judgement
) -> None:
    """Times rise with load: worse at less load is worse, and no worse at more load is no worse."""
    comparison = held(
        at_loads(record(1.0), 50_000.0, 0.4, 0.8),
        at_loads(record(slower), 50_000.0 * more, 0.4, 0.8),
    )
    side = next(row for row in comparison.rows if row.number == "p99").sides[1]
    assert side.judgement is judgement
    assert side.ratio == pytest.approx(slower), "it is shown"
    word = "5 % more load" if more > 1 else "4 % less load"
    assert side.note == (f"{word} than the first record" if judgement is Judgement.OPEN else "")
    cpu = [row.sides[1] for row in comparison.rows if row.number == CPU and row.load]
    assert all(one.judgement is Judgement.OPEN for one in cpu), "it may fall with load"


def test_equal_max_rps_needs_no_word_and_chance_of_arrivals_none() -> None:
    one = at_loads(record(1.0), 50_000.0, 0.4)
    service = one.services[0]
    by_chance = replace(service.points[0], offered_rps=0.9 * service.points[0].offered_rps)
    other = replace(one, services=(replace(service, points=(by_chance,)),))
    comparison = held(one, other)
    assert comparison.axes == ()
    assert "requests/s, because" not in shown.markdown(comparison)
    assert set(times(comparison)) == {Judgement.SAME}


def test_rates_and_shares_are_compared_where_they_are_equal() -> None:
    shares = at_loads(record(1.0), 50_000.0, 0.4, 0.8)
    rates = at_loads(record(1.0), 40_000.0, 0.5, 1.0)
    service = replace(rates.services[0], max_rps_rule="asked")
    comparison = held(shares, replace(rates, services=(service,)))
    assert {row.load for row in shown.shared(comparison) if row.number != MAX_LOAD} == {
        "20.0k requests/s (40 %)", "40.0k requests/s (80 %)"
    }  # fmt: skip


def test_a_load_is_the_partner_of_one_load_at_the_most() -> None:
    service = testing.memcached()
    first = at_loads(replace(testing.findings(), services=(service,)), 100.0, 0.80, 0.86).services[
        0
    ]
    other = at_loads(replace(testing.findings(), services=(service,)), 100.0, 0.84).services[0]
    assert equal_loads.partners(first, other) == [None, other.points[0]]
    assert equal_loads.partners(first, None) == [None, None]


@pytest.mark.parametrize(
    ("first", "other", "is_equal"),
    [(100.0, 101.0, True), (101.0, 100.0, True), (100.0, 102.0, False), (0.0, 0.0, True),
     (0.0, 5.0, False), (5.0, 0.0, False)],
)  # fmt: skip
def test_loads_are_equal_within_a_hundredth(first: float, other: float, *, is_equal: bool) -> None:
    assert (equal_loads.unlike(first, other) == 0.0) is is_equal


def test_of_several_records_each_one_has_its_own_sentence() -> None:
    """It said that B and C are worse than A where B alone was."""
    text = shown.sentence(held(record(1.0), record(1.3), record(1.001), record(0.5)))
    worse, better = text.split("D is better than A: ")
    assert worse.startswith("B is worse than A: ")
    assert "C" not in worse.replace("CPU", "")
    assert "p99 at" in better


def test_a_history_says_where_one_share_is_several_loads() -> None:
    """A service that lost a third of its max RPS had equal times at "70 %": no change."""
    records = [at_loads(record(1.0), rps, 0.7) for rps in (50_000.0, 33_000.0)]
    past = history.History(
        study="s", machine="m", entries=(), series=(), axes=history.axes_of(records)
    )
    [note] = [text for text in history_text.notes(past) if "100 % load" in text]
    assert "100 % load of memcached is 33.0k to 50.0k requests/s" in note
    assert history.axes_of([records[0], records[0]]) == ()
    rates = [
        replace(one, services=(replace(one.services[0], max_rps_rule="asked"),)) for one in records
    ]
    assert history.axes_of(rates) == ()


def test_how_many_numbers_are_open_is_beside_what_is_worse() -> None:
    text = shown.sentence(held(record(1.0), record(1.3)))
    assert text.endswith("Not decided: 1 of 11 numbers."), "its max load"


def test_a_load_without_a_valid_run_is_in_common_all_the_same() -> None:
    one = record(1.0)
    service = one.services[0]
    void = tuple(
        replace(point, runs=tuple(replace(run, is_believed=False) for run in point.runs))
        for point in service.points
    )
    failed = replace(one, services=(replace(service, points=void, sections={}),))
    assert shown.shared(held(one, failed)) == []
    assert has_equal_load([one, failed])
    assert not has_equal_load([one, at_loads(one, 9.0, 0.5)])
    assert not has_equal_load([one, replace(one, services=())])


def late(of: Findings) -> Findings:
    """The same record by a client that may have added half a millisecond to each p99."""
    service = of.services[0]
    points = tuple(
        replace(p, runs=tuple(replace(run, lateness_ns=((0.99, 5e5),)) for run in p.runs))
        for p in service.points
    )
    return replace(of, services=(replace(service, points=points),))


@pytest.mark.parametrize(
    ("first", "other", "word"),
    [
        (record(1.0), late(record(1.3)), Judgement.OPEN),
        (late(record(1.3)), record(1.0), Judgement.OPEN),
        (late(record(1.0)), record(1.3), Judgement.WORSE),
        (record(1.3), late(record(1.0)), Judgement.BETTER),
        (late(record(1.0)), record(1.0), Judgement.OPEN),
        (record(1.0), late(record(1.0)), Judgement.OPEN),
        (record(1.0), record(1.0), Judgement.SAME),
    ],
)
def test_what_a_late_client_may_have_added_is_no_difference(
    first: Findings, other: Findings, word: Judgement
) -> None:
    """Upper bounds were compared as times: a busy client made a service worse."""
    comparison = held(first, other)
    rows = {(row.number, row.load): row.sides[1] for row in comparison.rows if row.load}
    for (number, _), side in rows.items():
        if number == "p99":
            assert side.judgement is word
            assert ("upper bounds" in side.note) is (word is Judgement.OPEN)
        if number in {"mean", "p50", CPU}:
            assert "upper bounds" not in side.note
