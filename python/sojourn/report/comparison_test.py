"""Records side by side: ratios, judgements, gaps, and forms."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from sojourn.analysis.border_rows import MAX_LOAD
from sojourn.analysis.comparison import CPU, Comparison, compare
from sojourn.analysis.comparison_settings import differences
from sojourn.findings.findings import Findings
from sojourn.findings.load_point import LoadPoint, Run
from sojourn.report import comparison as shown
from sojourn.report import comparison_page, testing
from sojourn.stats.paired_ratio import Judgement, Limits
from sojourn.stats.unpaired_ratio import unpaired

LIMITS = Limits(alpha=0.01, same=0.05)
RESTARTS = 8


def a_run(of: Run, repeat: int, factor: float) -> Run:
    """A restart whose times are a factor of those of another, and 1 % of its own."""
    own = factor * math.exp(0.01 * (-1) ** repeat * (1 + repeat / 10))
    mean = (of.mean_ns or 1.0) * own
    sample = tuple((q, ns and ns * own) for q, ns in of.quantiles)
    return replace(of, repeat=repeat, mean_ns=mean, sample=sample, cpu_ns=1e4 * own)


def scaled(point: LoadPoint, factor: float) -> LoadPoint:
    """A load whose restarts take `factor` as long."""
    runs = tuple(a_run(point.runs[0], repeat, factor) for repeat in range(RESTARTS))
    return replace(point, runs=runs, is_overloaded=False, is_bimodal=False)


def record(factor: float, *, points: int = 2) -> Findings:
    """A record of memcached alone whose times are a factor of the usual."""
    service = testing.memcached()
    load_points = tuple(scaled(point, factor) for point in service.points[2 : 2 + points])
    service = replace(service, points=load_points, noise_floor=None)
    return replace(testing.findings(), services=(service,))


def held(*records: Findings) -> Comparison:
    return compare([f"r{n}" for n in range(len(records))], records, LIMITS)


def judgements(comparison: Comparison, number: str) -> set[Judgement]:
    return {
        side.judgement for row in comparison.rows if row.number == number for side in row.sides[1:]
    }


def test_a_slower_record_is_worse_in_every_time_and_equal_max_load_is_open() -> None:
    comparison = held(record(1.0), record(1.3))
    assert comparison.judgement is Judgement.WORSE
    for number in ("mean", "p50", "p99", CPU):
        assert judgements(comparison, number) == {Judgement.WORSE}
    row = next(row for row in comparison.rows if row.number == "p99")
    side = row.sides[1]
    assert side.ratio == pytest.approx(1.3)
    assert side.interval is not None
    assert side.interval.lo < 1.3 < side.interval.hi
    assert judgements(comparison, MAX_LOAD) == {Judgement.OPEN}
    assert "worse than A" in shown.sentence(comparison)


def test_a_number_that_the_report_has_not_is_in_brackets() -> None:
    """p99 of 415 ms stood there without a mark, where the report has no more than ≥ 38.7 ms."""
    few = record(1.0)
    service = few.services[0]
    first = service.points[0]
    refused = tuple(replace(e, value=None) if e.q == 0.99 else e for e in first.quantiles)
    points = (replace(first, quantiles=refused), *service.points[1:])
    few = replace(few, services=(replace(service, points=points),))
    comparison = held(record(1.0), few)
    row = next(row for row in comparison.rows if row.number == "p99")
    assert [shown.value(row, side)[0] == "(" for side in row.sides] == [False, True]
    other = next(row for row in comparison.rows if row.number == "mean")
    assert not any("(" in shown.value(other, side) for side in other.sides)
    assert shown.FEW in shown.notes(comparison)
    assert shown.FEW not in shown.notes(held(record(1.0), record(1.3)))


def test_the_other_way_round_is_better_and_equal_records_do_not_differ() -> None:
    assert held(record(1.3), record(1.0)).judgement is Judgement.BETTER
    same = held(record(1.0), record(1.001))
    assert judgements(same, "p99") == {Judgement.SAME}


def test_more_max_load_is_better() -> None:
    first, second = record(1.0), record(1.0)
    service = second.services[0]
    most = service.sections["max_load"]
    border = most.border  # type: ignore[attr-defined]
    ends = replace(border.interval_rps, lo=2.9 * border.estimate_rps, hi=3.1 * border.estimate_rps)
    border = replace(border, estimate_rps=3 * border.estimate_rps, interval_rps=ends)
    more = service.having("max_load", replace(most, border=border))  # type: ignore[call-arg]
    comparison = held(first, replace(second, services=(more,)))
    assert judgements(comparison, MAX_LOAD) == {Judgement.BETTER}


def test_two_groups_of_restarts_and_too_few_are_reported_and_not_judged() -> None:
    modes = record(1.5)
    service = modes.services[0]
    points = tuple(replace(point, is_bimodal=True) for point in service.points)
    comparison = held(record(1.0), replace(modes, services=(replace(service, points=points),)))
    assert judgements(comparison, "p99") == {Judgement.OPEN}
    assert "two groups" in shown.markdown(comparison)
    few = tuple(replace(point, runs=point.runs[:2]) for point in service.points)
    comparison = held(record(1.0), replace(modes, services=(replace(service, points=few),)))
    assert judgements(comparison, "p99") == {Judgement.OPEN}
    assert "2 of at least 3 restarts" in shown.markdown(comparison)


def test_what_one_record_lacks_is_a_dash_and_never_a_zero() -> None:
    comparison = held(record(1.0), record(1.0, points=1), record(1.1))
    row = next(row for row in comparison.rows if row.sides[1].value is None)
    assert (row.sides[1].ratio, row.sides[1].judgement) == (None, Judgement.OPEN)
    line = shown.lines(comparison)[comparison.rows.index(row)]
    assert line[4:7] == ("–", "–", "? cannot be decided")
    why = "Of 22 numbers, 5 cannot be decided: not measured in both."
    assert why in shown.notes(comparison)  # once, and not five times
    drawn = comparison_page.bars(comparison)
    assert any(bar.middle is None for bar in drawn)
    assert all(0 <= bar.low <= bar.high <= 1 for bar in drawn)


@pytest.mark.parametrize(
    ("factor", "role"),
    [(1.0005, "band"), (1.03, "unknown"), (1.3, "violated"), (4.0, "violated"), (99.0, "violated")],
)
def test_the_scale_has_ticks_at_1_and_on_both_sides_of_it(factor: float, role: str) -> None:
    comparison = held(record(1.0), record(factor))
    ticks = comparison_page.ticks(comparison)
    places = [at for _, at in ticks]
    assert ("1", 0.5) in ticks
    assert places == sorted(places)
    assert all(0 <= at <= 1 for at in places)
    for text, at in ticks:  # 1/1.5 is as far from 1 as 1.5
        assert any(f"{1 / float(text):.2g}" == f"{float(other):.2g}" and
                   1 - at == pytest.approx(of) for other, of in ticks)  # fmt: skip
    slowest = max(comparison_page.bars(comparison), key=lambda bar: bar.middle or 0)
    assert slowest.role == role


def test_max_load_comes_first_and_what_happened_is_no_difference() -> None:
    assert held(record(1.0), record(1.0)).rows[0].number == MAX_LOAD
    first, second = record(1.0), record(1.0)
    service = second.services[0]
    setup = (*service.setup, ("warmed", "5 requests"), ("threads", "2"))
    other = replace(second, services=(replace(service, setup=setup),))
    rows = differences([first, other], [{}, {}])
    assert [what for what, _ in rows] == ["memcached: threads"]


def test_a_row_that_only_one_record_has_is_named_once() -> None:
    comparison = held(record(1.0), record(1.0, points=1))
    assert len(shown.shared(comparison)) < len(comparison.rows)
    assert shown.lacking(comparison).startswith("Not measured in both: memcached at")


def test_lost_requests_are_infinite_and_no_ratio_is_made_of_them() -> None:
    broken = record(1.0)
    service = broken.services[0]
    lost = tuple(
        replace(run, mean_ns=None, sample=tuple((q, math.inf) for q, _ in run.sample))
        for run in service.points[0].runs
    )
    points = (replace(service.points[0], runs=lost), *service.points[1:])
    comparison = held(record(1.0), replace(broken, services=(replace(service, points=points),)))
    row = next(row for row in comparison.rows if row.number == "p99")
    assert row.sides[1].ratio == math.inf
    assert "∞" in shown.markdown(comparison)


def test_a_page_and_markdown_show_hostile_names_as_text() -> None:
    evil = "<script>alert(1)</script>|\n# x ![y](http://z)"
    result = replace(
        compare(["a", evil], [record(1.0), record(1.2)], LIMITS),
        differences=(("CPU", (evil, "b")),),
    )
    html = comparison_page.html(result)
    assert "<script>alert" not in html
    assert "on one scale" in html
    text = shown.markdown(result)
    assert "<script>" not in text
    assert "\n# x" not in text
    assert "](http" not in text.replace("\\](http", "")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 2  # of two tables


def test_only_what_differs_is_listed() -> None:
    facts = [{"kernel": "6.1", "CPU": "x"}, {"kernel": "6.2", "CPU": "x"}]
    rows = differences([record(1.0), record(1.0)], facts)
    assert rows == (("kernel", ("6.1", "6.2")),)


def test_records_with_nothing_in_common_have_no_rows() -> None:
    none = replace(record(1.0), services=())
    assert shown.shared(held(record(1.0), none)) == []


def test_welch_holds_its_level_and_refuses_few() -> None:
    rng = np.random.default_rng(1)
    alarms = sum(
        unpaired(np.exp(rng.normal(0, 0.1, 6)), np.exp(rng.normal(0, 0.3, 9)), 0.05).p <= 0.05
        for _ in range(800)
    )
    assert alarms <= 0.05 * 800 + 4 * math.sqrt(800 * 0.05 * 0.95)
    assert unpaired([1.0, 1.1], [2.0, 2.1, 2.2], 0.05).interval is None
    assert unpaired([], [1.0], 0.05).ratio is None
    assert unpaired([math.inf], [1.0], 0.05).ratio == 0.0
