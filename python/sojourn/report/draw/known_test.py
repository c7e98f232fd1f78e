"""Every load that was measured has a mark that says how much is known of it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sojourn.findings.load_point import LoadPoint
from sojourn.report import show, testing, testing_points
from sojourn.report.draw import curve, known, known_layers, limits
from sojourn.report.draw.known import Sort
from sojourn.report.draw.table import Record
from sojourn.report.figures import overview

STOPPED = "client stopped: the client did not run for 40 ms in 9 outages: {} % of the time; …"
BASE = testing.memcached().points[4]


def stopped(*shares: float) -> LoadPoint:
    """A load of which every run was stopped, by these shares of the time in percent."""
    point = testing_points.unknown(BASE)
    runs = tuple(
        replace(run, reasons=(STOPPED.format(share),))
        for run, share in zip(point.runs, shares, strict=False)
    )
    return replace(point, runs=runs, reasons=tuple(r for run in runs for r in run.reasons))


def bounded(point: LoadPoint, share: float) -> LoadPoint:
    """The same load with upper bounds, of which a share may be the client's."""
    late = tuple(replace(e, lateness_ns=share * (e.value or 0.0)) for e in point.quantiles)
    return replace(point, quantiles=late)


def test_a_believed_number_is_a_number_with_its_interval() -> None:
    result, p99 = known.of_load(BASE, 0.99), BASE.quantiles[3]
    assert (result.sort, result.ns, result.interval) == (Sort.NUMBER, p99.value, p99.interval)
    assert (result.shown, result.short) == ("507 µs", "")


def test_an_upper_bound_says_what_the_client_may_have_added() -> None:
    result = known.of_load(bounded(BASE, 0.4), 0.99)
    assert (result.sort, result.shown) == (Sort.AT_MOST, "≤ 507 µs")
    assert result.least_ns == pytest.approx(0.6 * (result.ns or 0.0))
    assert "203 µs of it the client's" in result.label


def test_what_no_one_believes_is_the_middle_run_in_brackets_with_its_reason() -> None:
    result = known.of_load(stopped(1.26, 7, 2), 0.99)
    middle = sorted(dict(run.quantiles)[0.99] or 0.0 for run in BASE.runs[:3])[1]
    assert (result.sort, result.ns, result.short) == (
        Sort.DOUBTED,
        middle,
        "client stopped 1.3–7 %",
    )
    assert result.shown.startswith("(")
    assert result.label.endswith("not valid: client stopped 1.3–7 %")
    assert "did not run for 40 ms" in result.reason
    assert result.row["value_ns"] is None
    assert result.row["not_believed_ns"] == middle


def test_a_load_that_only_some_runs_spoil_keeps_its_number() -> None:
    half = replace(stopped(1.1, 1.2), quantiles=BASE.quantiles, is_believed=True)
    assert known.of_load(half, 0.99).sort is Sort.NUMBER


def test_without_a_number_of_its_own_a_load_has_the_least_it_can_be() -> None:
    result = known.of_load(testing_points.refused(BASE), 0.99)
    p95 = BASE.quantiles[2].interval
    assert p95
    assert (result.sort, result.ns) == (Sort.AT_LEAST, p95.lo)
    assert result.shown.startswith("≥ ")


def test_requests_that_never_completed_are_endless_from_the_least() -> None:
    result = known.of_load(testing_points.lost(BASE), 0.99)
    assert (result.sort, result.ns, result.shown) == (Sort.ENDLESS, math.inf, "never")
    assert result.least_ns


def test_only_what_was_not_measured_has_no_place() -> None:
    failed = tuple(
        replace(run, quantiles=tuple((q, None) for q, _ in run.quantiles), mean_ns=None)
        for run in stopped(1, 1, 1, 1, 1).runs
    )
    result = known.of_load(replace(stopped(1), runs=failed), 0.99)
    assert (result.sort, result.ns, result.shown) == (Sort.NOTHING, None, "–")
    assert result.short == "client stopped 1 %"
    sampled = tuple(replace(run, sample=((0.99, 3e5),)) for run in failed)
    again = known.of_load(replace(stopped(1), runs=sampled), 0.99)
    assert (again.sort, again.ns) == (Sort.DOUBTED, 3e5), "its own sample is better than nothing"


def test_a_run_is_a_bound_or_doubted_like_its_load() -> None:
    run = BASE.runs[0]
    late = replace(run, lateness_ns=((0.99, 1e5),))
    assert known.of_one(run, 0.99, BASE).sort is Sort.NUMBER
    assert known.of_one(late, 0.99, BASE).sort is Sort.AT_MOST
    assert known.of_one(late, 0.5, BASE).sort is Sort.NUMBER
    assert known.of_one(stopped(3).runs[0], 0.99, stopped(3)).sort is Sort.DOUBTED


def records(*points: LoadPoint) -> list[Record]:
    return [{"fraction": p.fraction, **known.of_load(p, 0.99).row} for p in points]


def test_the_curve_goes_through_what_is_known_and_never_through_what_is_not() -> None:
    points = list(testing.memcached().points[:8])
    points[1] = testing_points.unknown(points[1])
    points[4] = bounded(points[4], 0.3)
    points[6] = testing_points.refused(points[6])
    result = records(*points)
    rows = known_layers.rows(result, known_layers.axis(result))
    pieces = [r for r in rows if r["layer"] == known_layers.PIECE]
    ends = [(r["fraction"], r["to"], r["is_sure"]) for r in pieces]
    assert ends == [
        (0.1, 0.3, 0),
        (0.3, 0.4, 1),
        (0.4, 0.5, 1),
        (0.5, 0.6, 1),
        (0.6, 0.8, 0),
    ]
    marks = [r for r in rows if r["layer"] == known_layers.MARK]
    assert [r["fraction"] for r in marks] == [p.fraction for p in points]
    assert [r["is_sure"] for r in marks] == [1, 0, 1, 1, 1, 1, 0, 1]


def test_no_line_falls_to_what_a_number_is_at_least() -> None:
    points = list(testing.memcached().points[:8])
    low = testing_points.refused(points[2])
    weak = replace(low, fraction=0.9)
    result = records(*points, weak)
    rows = known_layers.rows(result, known_layers.axis(result))
    pieces = [r for r in rows if r["layer"] == known_layers.PIECE]
    assert [r["to"] for r in pieces] == [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    (mark,) = [r for r in rows if r["layer"] == known_layers.MARK and r["fraction"] == 0.9]
    assert mark["known"] == "at least"
    assert mark["tip"]


def test_the_key_names_what_is_there_and_nothing_else() -> None:
    assert known_layers.key(records(BASE)) == []
    every = [BASE, bounded(BASE, 0.3), testing_points.refused(BASE), testing_points.unknown(BASE)]
    text = ", ".join(known_layers.key(records(*every)))
    assert text == "↓ at most, ↑ at least, hollow: not valid"
    assert max(map(len, known_layers.key(records(*every)))) <= known_layers.LINE_MAX


def test_a_valid_load_with_too_few_requests_shows_none_of_its_invalid_runs() -> None:
    """The mean in brackets was that of valid and invalid runs together."""
    few = replace(BASE.mean, value=None, interval=None, refused="9 requests, needs 30")
    slow = replace(BASE.runs[1], mean_ns=9e9, is_believed=False)
    point = replace(BASE, mean=few, runs=(BASE.runs[0], slow))
    result = known.of_load(point, None)
    assert (result.sort, result.ns) == (Sort.DOUBTED, BASE.runs[0].mean_ns)


def test_where_a_load_misses_its_target_the_tail_is_no_less_than_the_target() -> None:
    point = testing_points.refused(BASE)
    least = known.of_load(point, 0.99)
    bound_ns = 2 * (least.ns or 0.0)
    missed = replace(point, missed=(0.99, bound_ns))
    assert known.of_load(missed, 0.99).shown == f"≥ {show.time(bound_ns, -1)}"
    assert known.of_load(missed, 0.9) == known.of_load(point, 0.9)
    lower = replace(point, missed=(0.99, (least.ns or 0.0) / 2))
    assert known.of_load(lower, 0.99) == least


def test_a_run_without_a_number_has_the_bound_of_its_load() -> None:
    """Two figures of one load had bounds of two kinds."""
    point = testing_points.refused(BASE)
    run = replace(point.runs[0], quantiles=((0.95, 9e9), (0.99, None)))
    load = known.of_load(point, 0.99)
    assert known.of_one(run, 0.99, point).row["at_least_ns"] == load.row["at_least_ns"] == load.ns
    assert limits.RULE in overview.draw(testing.findings())[0].caption
    service = replace(testing.memcached(), points=(replace(point, runs=(run,)),))
    figure = curve.draw(service, 0.99)
    assert limits.RULE in figure.caption
    at = figure.table.columns.index("at_least_ns")
    assert [row[at] for row in figure.table.rows[:2]] == [load.ns, load.ns]
