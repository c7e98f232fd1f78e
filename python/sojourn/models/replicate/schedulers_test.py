"""Curves and matrices of two tasks on one CPU, fed with results that are known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from sojourn.models.replicate import c22, c26, l18, l19, l25, pairs
from sojourn.models.replicate.fed_test import MEAN_US, tails, verdicts
from sojourn.models.replicate.kind import Curve, Word, breaks, within
from sojourn.models.replicate.theory_test import fed
from sojourn.models.simulator import Result


def test_l18_a_curve_has_tail_and_throughput_of_its_case() -> None:
    def answer(job: Mapping[str, Any]) -> Result:
        rate = float(job["services"][0]["rate"])
        return {"services": [{"sojourn_ns": tails(1e6 / MEAN_US - rate), "achieved_rps": rate}]}

    curves = l18.sweep(fed(answer), l18.CASES[:2], (0.2, 0.5), 1.0)
    assert list(curves) == ["alone", "CFS"]
    assert curves["CFS"].y == pytest.approx([math.log(20) * MEAN_US / (1 - f) for f in (0.2, 0.5)])
    assert curves["CFS"].achieved == pytest.approx((0.2, 0.5))
    assert (curves["alone"].group, curves["CFS"].group) == ("", l18.BY_TEXT)


def test_l18_the_range_of_warps_is_reported_with_every_break() -> None:
    text = l18._warp_range("x", {11.0: 0.4, 12.0: 0.45, 13.0: 0.55, 14.0: 0.6, 15.0: None})
    assert text == (
        "BVT, x: its break at 50 % holds for warps of 12 to 13 ms; breaks by warp: "
        "11 ms: 40%, 12 ms: 45%, 13 ms: 55%, 14 ms: 60%, 15 ms: never."
    )
    assert "no tried warp" in l18._warp_range("x", {11.0: None})


def test_l18_warps_are_tried_against_the_tail_alone_at_the_same_loads() -> None:
    """A warp of w ms breaks from w / 40 of the load on."""

    def answer(job: Mapping[str, Any]) -> Result:
        assert job["duration"] == "10s"  # a quarter of a curve's
        (service,) = job["services"]
        load = float(service["rate"]) * MEAN_US / 1e6
        warp = float(service["grant"]["warp"].removesuffix("ms"))
        p95 = 2.1e3 if load > warp / 40 else 2e3
        return {"services": [{"sojourn_ns": {"p95": p95}, "achieved_rps": 1.0}]}

    alone = Curve(name="alone", x_label="", y_label="", x=l18.LOADS, y=(1.0,) * len(l18.LOADS))
    result = l18._range(fed(answer), l18.BY_TEXT, alone, 1.0)
    assert result == {11.5: 0.3, 12.1: 0.4, 12.5: 0.4, 13.0: 0.4, 14.0: 0.4, 16.0: 0.45, 20.0: 0.55}


def test_l18_a_break_lies_between_two_loads_and_the_cap_in_a_few_percent() -> None:
    check = l18._break("x", "50 %", 0.5, 0.45, 0.55)
    assert (check.ours, check.tolerance) == ("between 45% and 50%", "45% to 55%")
    assert l18._break("x", "50 %", None, 0.45, 0.55).ours == "never"
    assert l18._break("x", "50 %", 0.04, 0.0, 0.1).ours == "between 0% and 4%"
    assert [l18._cap("x", most).holds for most in (0.855, 0.86, 0.875, 0.895, 0.9)] == [
        False,
        True,
        True,
        True,
        False,
    ]


def good_to(top: float) -> Any:
    """Both are in time up to this sum of loads; above it A is in time where its load is less."""
    bounds = {shape: pairs.pair(shape) for shape in ("exponential", "fixed")}

    def answer(job: Mapping[str, Any]) -> Result:
        means = [float(s["service"].partition(":")[2]) for s in job["services"]]
        if len(means) == 1:
            return {"services": [{"sojourn_ns": {"p95": 3e3 * means[0]}}]}
        costs = bounds[job["services"][0]["service"].partition(":")[0]]
        loads = [
            float(s["rate"]) * mean / 1e6 for s, mean in zip(job["services"], means, strict=True)
        ]
        in_time = [sum(loads) < top + 1e-6 or loads[0] < loads[1] - 1e-6, sum(loads) < top + 1e-6]
        most = [5e3 * (3 * mean + costs.outside_us) - 1e3 * costs.outside_us for mean in means]
        return {
            "services": [
                {"sojourn_ns": {"p95": 0.99 * m if ok else 1.01 * m}}
                for m, ok in zip(most, in_time, strict=True)
            ]
        }

    return answer


def test_l19_rows_are_b_s_load_and_columns_a_s() -> None:
    result = l19.run(fed(good_to(0.3)), 1.0)
    assert [matrix.name for matrix in result.matrices] == [s.name for s in l19.SETTINGS]
    for matrix in result.matrices:
        for b, row in zip(matrix.rows, matrix.cells, strict=True):
            for a, cell in zip(matrix.columns, row, strict=True):
                both, a_alone = a + b < 0.3001, a < b - 0.01
                assert cell == ("AB" if both else "A" if a_alone else "-")
    # a < b and a + b ≤ 0.8: 12 cells; a > b: 12, of which 0.2 beside 0.1 is still good for both.
    assert [check.ours for check in result.checks[:2]] == ["12 of 12 cells", "11 of 12 cells"]
    assert [check.holds for check in result.checks[:2]] == [True, True]
    worse = l19.run(fed(good_to(0.5)), 1.0)
    assert worse.checks[1].ours == "8 of 12 cells"
    assert worse.checks[1].holds is False


def test_l19_table_2_s_tails_are_those_of_the_split() -> None:
    check = l19._split()
    outside = 100 - MEAN_US / 0.9
    ours = [outside + math.log(20) * MEAN_US / (1 - f) for f in (0.1, 0.3, 0.5, 0.7, 0.9)]
    assert check.ours == "/".join(f"{us:.0f}" for us in ours) + " µs"
    assert check.paper == "122/132/156/209/387 µs"
    assert check.holds


def test_l25_a_matrix_for_every_scheduler_and_shape() -> None:
    result = l25.run(fed(good_to(0.8)), 1.0)
    assert [m.name for m in result.matrices] == [
        f"{name}, {shape}"
        for shape in ("exponential", "fixed")
        for name in ("CFS", "RT + quota", "BVT warp 12.1 ms", "BVT warp 24 ms", "BVT warp 48 ms")
    ]
    # 28 cells are good for both; of the 15 cells at 80 and 90 % the eight of 90 % fail.
    assert [check.ours for check in result.checks[:2]] == [
        "8 of the 15 cells above 70 and below 100 % fail",
        "28 cells good for both, CFS 28",
    ]
    at_each = ", ".join(f"BVT warp {warp} ms: 80%" for warp in ("12.1", "24", "48"))
    assert result.checks[3].ours == f"{at_each}; at 70 %: 100%, 100%, 100%"
    assert [check.holds for check in result.checks] == [False, False, False, True] * 2


@pytest.mark.parametrize(
    ("tops", "holds"), [((0.8, 0.8, 0.9), True), ((0.7, 0.8, 0.8), None), ((0.7, 0.7, 0.7), False)]
)
def test_l25_bvt_is_judged_at_each_warp(tops: tuple[float, ...], *, holds: bool | None) -> None:
    """The paper states no warp: where only some agree, the model cannot tell."""
    answers = {"cfs": good_to(0.5), "rt": good_to(0.7), "fifo": good_to(1.0)}
    answers |= {f"{warp:g}ms": good_to(top) for warp, top in zip(l25.WARPS_MS, tops, strict=True)}

    def answer(job: Mapping[str, Any]) -> Result:
        policy = job["policy"]
        name = job["services"][0]["grant"]["warp"] if policy == "bvt" else policy
        result: Result = answers[name](job)
        return result

    replica = l25.run(fed(answer), 1.0)
    assert [check.holds for check in replica.checks] == [True, True, holds, holds] * 2


# C22, C26, kind


def test_c22_cells_lie_by_row_and_column_in_both_matrices() -> None:
    """Both meet their targets up to a sum of 0.5 on one core, memcached alone up to 0.9 on two."""

    def answer(job: Mapping[str, Any]) -> Result:
        m, n = (
            float(s["rate"]) * float(s["service"].partition(":")[2]) / 1e6 for s in job["services"]
        )
        one = m + n < 0.501, m + n < 0.501
        fits = one if job["cpus"] == 1 else (m + n < 0.901, m < 0.2)
        limits = (1e6, 20e6)
        return {
            "services": [
                {"sojourn_ns": {"p99": limit if ok else limit + 1}}
                for limit, ok in zip(limits, fits, strict=True)
            ]
        }

    result = c22.run(fed(answer), 1.0)
    same, other, *paper = result.matrices
    assert [m.name for m in result.matrices] == [
        f"{name}, {who}" for who in ("simulated", "paper") for name in (c22.SAME, c22.OTHER)
    ]
    for m, row, right in zip(same.rows, same.cells, other.cells, strict=True):
        for n, left, cell in zip(same.columns, row, right, strict=True):
            assert left == ("MN" if m + n < 0.501 else "-")
            letters = ("M" if m + n < 0.901 else "") + ("N" if m < 0.15 else "")
            assert cell == (letters or "-")
    assert paper[0].cells[3] == ("MN", "N", "-", "-", "-", "-", "-")
    differ = [
        sum(
            a != b
            for x, y in zip(left.cells, right.cells, strict=True)
            for a, b in zip(x, y, strict=True)
        )
        for left, right in ((same, paper[0]), (other, paper[1]))
    ]
    assert [check.ours.partition(" ")[0] for check in result.checks[:2]] == list(map(str, differ))
    assert result.checks[0].ours.endswith("of 49 cells differ; 10 good for both")
    assert (result.checks[2].paper, result.checks[2].ours) == ("50%", "50%")
    assert result.checks[3].ours == "0.70 times"
    assert [check.tolerance for check in result.checks] == [
        "0 to 5",
        "0 to 5",
        "45% to 55%",
        "1.2 to inf",
    ]
    assert [check.holds for check in result.checks] == [True, False, True, False]
    assert c22._cell([{"sojourn_ns": {"p99": None}}, {"sojourn_ns": {"p99": 1.0}}]) == "N"


def fanned(five: float) -> Any:
    def answer(job: Mapping[str, Any]) -> Result:
        (level,) = job["tree"]
        n = level["fanout"]
        assert {k: v for k, v in job.items() if k != "tree"} == {
            "servers": 500,
            "load_by_hour": [0.7],
            "roots": 21_000,
        }
        assert (level["name"], level["scale"]) == ("leaf", 1.0)
        root = {"p50": 1e3 * n, "p95": five * 1e5 if n == 5 else 2e3 * n}
        return {"root_ns": root, "server_ns": {"p99": 1e5 if n == 1 else 9e9}}

    return answer


def test_c26_the_p95_of_five_is_the_p99_of_one() -> None:
    result = c26.run(fed(fanned(1.02)), 0.5)
    p50, p95 = result.curves
    assert p50.x == p95.x == (1, 2, 5, 10, 20, 50, 100)
    assert p50.y == (1, 2, 5, 10, 20, 50, 100)
    assert p95.y == pytest.approx((2, 4, 102, 20, 40, 100, 200))
    assert [check.ours for check in result.checks] == ["0.951", "102.0 µs against 100.0 µs"]
    assert verdicts(result) == [Word.ARITHMETIC] * 2
    for five in (0.96, 1.04):
        assert verdicts(c26.run(fed(fanned(five)), 0.5))[1] is Word.VIOLATED


@pytest.mark.parametrize(
    ("y", "at"), [((1.0, 2.0, 2.1), 0.3), ((1.0, None, 1.0), 0.2), ((1.0, 2.0, 2.0), 1.0)]
)
def test_a_curve_breaks_at_the_first_load_beyond_the_bound(
    y: Sequence[float | None], at: float
) -> None:
    line = Curve(name="", x_label="", y_label="", x=(0.1, 0.2, 0.3), y=tuple(y))
    assert breaks(line, 2.0) == at


def test_a_statement_holds_at_both_ends_of_its_tolerance() -> None:
    def holds(value: float) -> bool | None:
        return within(value, 1.0, 2.0, what="", paper="", ours="").holds

    assert [holds(value) for value in (0.9, 1.0, 2.0, 2.1)] == [False, True, True, False]
