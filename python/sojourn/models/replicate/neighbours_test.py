"""Every statement that is judged fails with a neighbouring parameter, or holds with it if it fails.

Rule M31: a statement that no parameter could break is arithmetic. So each test feeds what lies
beside the paper's parameter, and sees the verdict change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sojourn import programs
from sojourn.models import tco
from sojourn.models.colocation import L28
from sojourn.models.coverage import NUMBERS
from sojourn.models.replicate import (
    c11,
    c22,
    find,
    l5,
    l7,
    l12,
    l14,
    l17,
    l18,
    l19,
    l21,
    l25,
    l29,
    l32,
    p8,
    p10,
)
from sojourn.models.replicate.kind import Check, Curve, Matrix, Replica, breaks
from sojourn.models.replicate.pairs import BOTH, STEPS, Pair, pair
from sojourn.models.simulator import Command, Result, Simulator

needs_sim = pytest.mark.skipif(programs.maybe("sojourn-sim") is None, reason="needs sojourn-sim")
Bend = Callable[[dict[str, Any]], dict[str, Any]]


def _bent(bend: Bend, after: Bend = lambda result: result) -> Simulator:
    """A simulator that changes every job before it runs, and every result after."""

    class Bent(Simulator):
        def run(self, command: Command, job: Mapping[str, Any], *options: str) -> Result:
            return after(dict(Simulator.run(self, command, bend(dict(job)), *options)))

    outcome = Simulator.find()
    return Bent(outcome.program, outcome.parallel)


def _services(job: dict[str, Any], **change: Any) -> dict[str, Any]:
    return {**job, "services": [{**service, **change} for service in job["services"]]}


def _one(replica: Replica, words: str) -> Check:
    (check,) = (
        check for check in replica.checks if words in check.what and not check.is_arithmetic
    )
    assert check.tolerance
    return check


def _short(job: dict[str, Any]) -> dict[str, Any]:
    return {**job, "duration": "300ms", "warmup": "100ms"}


# L5, L12, L14, L15


@needs_sim
def test_l5_three_times_the_mean_is_exponential_service_and_no_other() -> None:
    def fixed(job: dict[str, Any]) -> dict[str, Any]:
        service = "fixed:1" if job["servers"] == 1 else job["service"]
        return {**job, "service": service, "requests": "100k"}

    result = find("L5").run(_bent(fixed), 0.5)
    assert _one(result, "about 3 times").holds is False


@needs_sim
def test_l5_a_formula_that_is_5_percent_off_does_not_agree() -> None:
    def off(result: dict[str, Any]) -> dict[str, Any]:
        moved = [{**a, "closed": 1.05 * a["closed"]} for a in result["agreement"]]
        return {**result, "agreement": moved}

    outcome = find("L5").run(_bent(lambda job: {**job, "requests": "200k"}, off), 0.5)
    for name in ("M/M/1: mean", "M/D/1: mean", "M/M/4: mean"):
        assert _one(outcome, name).holds is False


@pytest.mark.parametrize(
    ("half", "known", "holds"),
    [(2.04, 50, True), (1.0, 50, False), (4.5, 50, False), (2.04, 49, None)],
)
def test_l5_intervals_too_narrow_too_wide_or_missing_do_not_cover(
    half: float, known: int, *, holds: bool | None
) -> None:
    scatter = np.random.default_rng(7).standard_normal(50)
    rows = [
        {
            "intervals": {
                q: {"lo": 100 + z - half, "mid": 100 + z, "hi": 100 + z + half}
                if at < known
                else None
                for q in NUMBERS
            },
            "closed": [{"exact": True, **dict.fromkeys(NUMBERS, 100.0)}],
        }
        for at, z in enumerate(scatter.tolist())
    ]
    assert l5._coverage(0.5, rows).holds is holds


def test_l12_the_papers_ratio_holds_and_an_even_one_does_not() -> None:
    assert l12.balance(3074 / 2778).holds
    assert l12.balance(4545 / 3780).holds
    for other in (0.99, 1.0, 1.35):
        assert not l12.balance(other).holds


@needs_sim
@pytest.mark.parametrize(("slowdown", "holds"), [(1.1, True), (21 / 16, False)])
def test_l14_a_tenth_is_hardly_measurable_and_the_papers_slowdown_is_not(
    monkeypatch: pytest.MonkeyPatch, *, slowdown: float, holds: bool
) -> None:
    monkeypatch.setattr(l14, "SLOWDOWN", slowdown)
    monkeypatch.setattr(l14, "LOADS", (0.3,))
    assert _one(find("L14").run(Simulator.find(), 0.1), "hardly").holds is holds


@needs_sim
def test_l15_threads_with_varied_requests_do_not_hold_to_90_percent() -> None:
    varied = _bent(lambda job: _services(_short(job), service="gamma:10.9,3"))
    assert _one(find("L15").run(varied, 0.01), "12 pinned").holds is False


# L7, L17, L21


@needs_sim
def test_l7_a_probe_that_hardly_disturbs_does_not_break_the_tail() -> None:
    hardly = _bent(lambda job: {**_short(job), "smt_slowdown": 1.05})
    assert _one(find("L7").run(hardly, 0.01), "hyper-thread").holds is False


@needs_sim
def test_l17_a_fair_share_is_not_a_nice_one() -> None:
    fair = find("L17").run(_bent(lambda j: _services(j, grant={"weight": 1024})), 0.1)
    assert _one(fair, "at nice −20").holds is False


@needs_sim
def test_l17_a_switch_as_long_as_a_request_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    dear = replace(l17.NICED, switch_us=10.0)
    monkeypatch.setattr(l17, "CASES", (l17.ALONE, dear, l17.DEAR, l17.FAIR))
    assert _one(find("L17").run(Simulator.find(), 0.1), "at nice −20").holds is False


@needs_sim
def test_l21_a_neighbour_with_a_tenth_of_the_packets_is_no_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(l21, "PACKETS_RPS", l21.PACKETS_RPS / 10)
    assert _one(find("L21").run(Simulator.find(), 0.1), "plain RSS").holds is False


# L18


@needs_sim
@pytest.mark.parametrize(
    ("case", "limits"),
    [
        (replace(l18.CASES[1], policy="bvt", warp_ms=12.1), (0.10, 0.15)),
        (replace(l18.CASES[3], policy="bvt", warp_ms=16.1), (0.10, 0.15)),
        (replace(l18.CASES[2], warp_ms=11.0), l18.BVT_AT),
        (replace(l18.CASES[2], warp_ms=16.0), l18.BVT_AT),
        (replace(l18.CASES[4], warp_ms=12.1), l18.BVT_AT),
        (replace(l18.CASES[4], warp_ms=20.0), l18.BVT_AT),
    ],
)
def test_l18_another_scheduler_or_warp_breaks_elsewhere(
    case: l18.Case, limits: tuple[float, float]
) -> None:
    loads = (0.08, 0.12, 0.16, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7)
    curves = l18.sweep(Simulator.find(), (l18.CASES[0], case), loads, 0.1)
    breaks = l18.departs(curves[case.name], curves["alone"])
    assert l18._break(case.name, "", breaks, *limits).holds is False


@needs_sim
@pytest.mark.parametrize("case", [l18.CASES[1], l18.CASES[2]])
def test_l18_another_wave_leaves_another_cap(case: l18.Case) -> None:
    def half_as_much(job: dict[str, Any]) -> dict[str, Any]:
        return {**job, "neighbours": [{**n, "off": "90ms"} for n in job["neighbours"]]}

    def cap(simulator: Simulator) -> Check:
        curve = l18.sweep(simulator, (case,), (0.95,), 0.1)[case.name]
        return l18._cap(case.name, max(curve.achieved))

    assert cap(Simulator.find()).holds is True
    assert cap(_bent(half_as_much)).holds is False


# L19, L25


@needs_sim
@pytest.mark.parametrize(("first", "words"), [(1, "A holds its QoS"), (0, "A fails")])
def test_l19_strict_priority_for_one_of_them_is_not_cfs(
    monkeypatch: pytest.MonkeyPatch, first: int, words: str
) -> None:
    def strict(job: dict[str, Any]) -> dict[str, Any]:
        ranked = [
            {**s, "grant": {"priority": 2 if at == first else 1}}
            for at, s in enumerate(job["services"])
        ]
        return {**_short(job), "policy": "rt", "services": ranked}

    # B has requests of 1 ms: beside them, served first, A is late even at a low load.
    monkeypatch.setattr(l19, "SETTINGS", l19.SETTINGS[:1])
    assert _one(find("L19").run(_bent(strict), 0.01), words).holds is False


def test_l19_another_split_does_not_give_the_tails_of_table_2(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert l19._split().holds
    for factor in (0.75, 1.3):
        costs = pair("exponential")
        other = Pair(factor * costs.a_us, costs.b_us, costs.outside_us)
        monkeypatch.setattr(l19, "pair", lambda _shape, other=other: other)
        assert not l19._split().holds


def _good_to(name: str, top: float) -> Matrix:
    cells = tuple(tuple(BOTH if a + b < top + 1e-6 else "A" for a in STEPS) for b in STEPS)
    return Matrix(
        name=f"{name}, exponential",
        row_label="",
        column_label="",
        rows=STEPS,
        columns=STEPS,
        cells=cells,
    )


@pytest.mark.parametrize(
    ("tops", "holds"),
    [
        ((0.5, 0.7, 0.8), (True, True, True, True)),
        ((0.5, 0.8, 0.9), (False, True, True, True)),  # RT good beyond 70 %
        ((0.7, 0.7, 0.8), (True, False, True, True)),  # RT no better than CFS
        ((0.5, 0.7, 0.7), (True, True, False, False)),  # BVT as good as RT
        ((0.5, 0.7, 1.0), (True, True, True, True)),
    ],
)
def test_l25_each_scheduler_in_the_place_of_another_is_seen(
    tops: tuple[float, float, float], holds: tuple[bool, ...]
) -> None:
    part = [_good_to(name, top) for name, top in zip(("CFS", "RT", "BVT"), tops, strict=True)]
    assert tuple(check.holds for check in l25._checks(part)) == holds


def test_l25_counts_the_cells_that_inform() -> None:
    """Of 79 cells above 70 %, 64 are at 100 % or more: they fail under any scheduler."""
    part = [_good_to("CFS", 0.5), _good_to("RT", 0.99), _good_to("BVT", 0.9)]
    rt = l25._checks(part)[0]
    assert rt.ours.startswith("0 of the 15 cells")
    assert not rt.holds


# L29, L32


@pytest.mark.parametrize(
    ("name", "less", "more"),
    [("mean", 0.5, 1.1), ("perlbench", 0.7, 1.5), ("bwaves", 0.85, 1.8)],
)
def test_l29_another_cost_of_a_wake_up_predicts_other_shares(
    name: str, less: float, more: float
) -> None:
    """Closed form: (1 − ρ)/(1 + λ·wake)."""

    def left(factor: float) -> tuple[float, ...]:
        wake = factor * l29.wake_us(dict(L28.throughputs(name))[0.1]) / l29.SERVICE_US
        return tuple((1 - load) / (1 + load * wake) for load in l29.LOADS)

    assert l29._prediction(name, left(1.0)).holds
    assert not l29._prediction(name, left(less)).holds
    assert not l29._prediction(name, left(more)).holds


def test_l29_more_at_90_percent_would_hold() -> None:
    assert l29.better(0.18, 0.20).holds
    assert not l29.better(0.18, 0.17).holds


@pytest.mark.parametrize("change", [{"cooling_load": 0.25}, {"price_usd": 2600}])
def test_l32_other_costs_give_another_row(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, float]
) -> None:
    monkeypatch.setattr(l32, "Costs", lambda: tco.Costs(**change))
    assert _one(find("L32").run(Simulator("unused", 1), 1), "gain by load").holds is False


# C11, C22, P10


@needs_sim
@pytest.mark.parametrize(("factor", "is_linear"), [(1.0, True), (4.0, False)])
def test_c11_dear_interrupts_bend_the_line(
    monkeypatch: pytest.MonkeyPatch, *, factor: float, is_linear: bool
) -> None:
    monkeypatch.setattr(c11, "THREADS", (1, 4, 8))
    monkeypatch.setattr(c11, "STEPS", (0.8, 0.9, 0.95))
    for name in ("LEAST", "MOST"):
        case = getattr(c11, name)
        monkeypatch.setattr(c11, name, replace(case, softirq_us=factor * case.softirq_us))
    result = find("C11").run(Simulator.find(), 0.01)
    assert _one(result, "linear up to 4").holds is is_linear
    assert _one(result, "below linear").holds is (not is_linear)


def _c22(same: str, other: str) -> tuple[Check, ...]:
    """Checks as if the simulation had found these two of the paper's matrices."""
    names = {c22.SAME: same, c22.OTHER: other}
    results = {
        (name, who): c22._matrix(name, tuple(tuple(row.split()) for row in c22.PAPER[table]))
        for name in c22.PAPER
        for who, table in (("simulated", names[name]), ("paper", name))
    }
    return c22._checks(results)


def test_c22_the_papers_matrices_hold_and_each_in_the_place_of_the_other_does_not() -> None:
    assert all(check.holds for check in _c22(c22.SAME, c22.OTHER))
    cells_a, cells_b, top, better = _c22(c22.OTHER, c22.SAME)
    assert not any(check.holds for check in (cells_a, cells_b, top, better))


def test_p10_a_ratio_beside_the_papers_fails_and_so_does_another_limit() -> None:
    limits = [n * p8._limit(n, p10.LQOS) for n in p10.SERVERS]
    assert p10.closed_form(limits).holds
    assert not p10.closed_form([1.03 * limit for limit in limits]).holds
    assert p10.scaling("img-dnn", 2, 2.67, 2.67, 0).holds
    for other in (2.0, 3.31):
        assert not p10.scaling("img-dnn", 2, 2.67, other, 0).holds


def test_p10_the_crossing_lies_between_two_steps() -> None:
    p95 = [4.0 if rho < 0.5 else 6.0 for rho in p10.STEPS]
    assert p10.crossing(p95) == pytest.approx(0.49)


def test_l7_a_curve_breaks_where_it_passes_the_bound() -> None:
    y = tuple(500.0 if x < 0.6 else None for x in l7.LOADS)
    assert breaks(Curve(name="", x_label="", y_label="", x=l7.LOADS, y=y), l7.QOS_US) == 0.6
