"""Experiments fed with results that are known: their curves, matrices and statements by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sojourn.models.coverage import NUMBERS
from sojourn.models.replicate import l5, l7, l12, l14, l15, l17, l21
from sojourn.models.replicate.kind import Curve, Replica, Word
from sojourn.models.replicate.theory_test import fed
from sojourn.models.simulator import Result

MEAN_US = 12 / 1.1


def tails(free: float) -> dict[str, float | None]:
    """Quantiles of an exponential time that `free` requests/s drain, ns; None if none do."""
    levels = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    return {q: -math.log(1 - p) / free * 1e9 if free > 0 else None for q, p in levels.items()}


def verdicts(replica: Replica) -> list[Word]:
    return [check.verdict for check in replica.checks]


def curve(replica: Replica, name: str) -> Curve:
    return next(curve for curve in replica.curves if curve.name == name)


# L5, L12, L14, L15


def test_l5_a_quantile_that_is_an_atom_is_as_wide_as_a_bin() -> None:
    agreed = {"closed": 2_000.0, "interval": {"lo": 1_990.0, "hi": 2_010.0}}
    assert l5._half(agreed) == 10.0
    assert l5._half({**agreed, "interval": {"lo": 1_999.9, "hi": 2_000.1}}) == 2.0


def agreement(*misses: float) -> tuple[bool | None, str]:
    """Quantities that lie so many half-widths of 0.1 from the closed form's 10."""
    # fmt: off
    part = [{"agreement": [
        {"quantity": "p999" if at == 0 else "p99", "closed": 10.0, "error": -0.01 * at,
         "interval": {"lo": 9.9 + miss / 10, "mid": 10 + miss / 10, "hi": 10.1 + miss / 10}}
        for at, miss in enumerate(misses)]}]
    # fmt: on
    check = l5._agreement(l5.QUEUES[0], part)
    return check.holds, check.ours


def test_l5_most_lie_within_their_interval_and_all_within_two() -> None:
    seventeen = [0.5] * 17
    assert agreement(*seventeen, -1.5, 1.5, 1.9)[0] is True
    assert agreement(*seventeen[:16], 1.5, 1.5, 1.5, 1.5)[0] is False
    assert agreement(*seventeen, 0.5, 0.5, -2.1)[0] is False
    assert agreement(0.5, 1.5, -0.5)[1] == (
        "2 of 3 within; the farthest 1.50 half-widths; largest error up to p99 2.00%"
    )


def test_l5_hits_and_widths_are_reported_beside_what_they_may_be() -> None:
    """Estimates 99 and 101 by turns scatter by √(50/49); half-widths are 2.04 of it, one more."""
    sd = math.sqrt(50 / 49)
    half = {"mean": 2.04 * sd, "p999": 1.1 * 2.04 * sd}
    rows = []
    for seed in range(50):
        mid = 99.0 + 2 * (seed % 2)
        reach = {q: half.get(q, 2.04 * sd) for q in NUMBERS}
        results = {q: {"lo": mid - r, "mid": mid, "hi": mid + r} for q, r in reach.items()}
        closed = [{"exact": True, **dict.fromkeys(NUMBERS, 100.0)}]
        rows.append({"intervals": results, "closed": closed})
    check = l5._coverage(0.5, rows)
    hits = ", ".join(f"{q} 50 of 50" for q in NUMBERS)
    assert check.ours == f"{hits}; widths 1.00 to 1.10"
    assert check.tolerance == (
        "43 to 50 of 50, and half-widths 0.74 to 1.26 of what the scatter asks for"
    )
    assert check.holds is True


def loop(ratio: float, waiting: float) -> Any:
    """An event loop whose waits are shares of its mean of 100 µs at the highest load."""

    def answer(job: Mapping[str, Any]) -> Result:
        load = float(job["rate"]) * 16 / 1e6
        assert job["service"] == "exponential:16"
        assert (job["unit"], job["discipline"], job["requests"]) == (
            "us",
            "epoll:100,0,0",
            "2000000",
        )
        wait = 100e3 * waiting * load / l12.LOADS[-1]
        epoll = wait / (1 + ratio)
        # fmt: off
        return {"epoll_ns_mean": epoll, "dispatch_ns_mean": wait - epoll,
                "sojourn_ns": {"mean": 100e3}}
        # fmt: on

    return answer


def test_l12_waiting_is_epoll_and_dispatch_over_the_whole() -> None:
    result = l12.run(fed(loop(1.1, 0.99)), 0.5)
    assert verdicts(result) == [Word.ARITHMETIC, Word.HOLDS]
    assert [check.ours for check in result.checks] == ["99.0% at load 0.997", "1.10"]
    assert result.checks[0].paper == "99.7%"
    assert result.checks[1].paper == "1.11 (loaded), 1.20 (L3)"
    assert result.checks[1].tolerance == "1.05 to 1.26"
    epoll, dispatch = result.curves
    assert epoll.y[0] == pytest.approx(99 * 0.5 / 0.997 / 2.1)
    assert dispatch.y[-1] == pytest.approx(99 * 1.1 / 2.1)
    assert verdicts(l12.run(fed(loop(1.1, 0.975)), 0.5))[0] is Word.VIOLATED
    assert (l12.LOADED_US, l12.INTERFERED_US) == (16, 21)


def test_l14_interference_is_seen_through_the_time_outside() -> None:
    def answer(job: Mapping[str, Any]) -> Result:
        assert (job["servers"], job["discipline"], job["requests"]) == (
            12,
            "placed:1200",
            "2000000",
        )
        mean = float(job["service"].removeprefix("exponential:"))
        free = 1e6 / mean - float(job["rate"]) / 12
        return {"sojourn_ns": {"p95": math.log(20) / free * 1e9}}

    result = l14.run(fed(answer), 1.0)
    alone, beside = result.curves
    slow = 21 / 16
    assert alone.y == pytest.approx([math.log(20) * MEAN_US / (1 - f) for f in alone.x])
    assert alone.x[-1] == 0.95
    assert beside.x == alone.x[:9]  # 0.74 · 21/16 = 0.97
    assert beside.y == pytest.approx(
        [math.log(20) * slow * MEAN_US / (1 - slow * f) for f in beside.x]
    )
    outside = 100 - MEAN_US / 0.9
    before, after = (y + outside for y in (alone.y[2] or 0, beside.y[2] or 0))
    arith, seen = result.checks
    assert arith.ours == "from 100 % to 76% of peak"
    assert arith.verdict is Word.ARITHMETIC
    growth = after - outside, before - outside
    assert seen.ours == (
        f"p95 {after / before - 1:+.0%}, {before:.0f} to {after:.0f} µs; on the server "
        f"{growth[0] / growth[1] - 1:+.0%}, service +31%"
    )
    assert seen.holds is (after / before - 1 <= 0.1)
    assert seen.tolerance == "-10% to +10%"


def dealt(job: Mapping[str, Any]) -> Result:
    """Median of a core with one worker; tail of the fullest, if it has more than p95 leaves out."""
    (service,) = job["services"]
    assert (job["cpus"], job["policy"], job["duration"]) == (12, "cfs", "2s")
    assert (job["warmup"], job["in_flight_max"], job["allow_overload"]) == ("1s", 20_000, True)
    workers = service["workers"]
    assert service["connections"] == 100 * workers
    rate, mu = float(service["rate"]), 1e6 / MEAN_US
    full, other = (tails(mu - rate * share / workers) for share in (workers - 11, 1))
    return {"services": [{"sojourn_ns": {"p95": full["p95"], "p50": other["p50"]}}]}


def test_l15_two_threads_on_a_core_are_full_at_54_percent_and_twelve_hold_to_90() -> None:
    result = l15.run(fed(dealt), 0.5)
    assert [check.ours for check in result.checks] == [
        "above 1 ms from 55%",
        "p50 0.91 times that of 12 threads there",
        "up to 95%",
    ]
    assert verdicts(result) == [Word.ARITHMETIC, Word.ARITHMETIC, Word.HOLDS]
    assert result.checks[2].tolerance == "85% to 95%"
    many, even = curve(result, "13 on 12, p95"), curve(result, "12 on 12, p95")
    at = l15.LOADS.index(0.5)
    mu = 1e6 / MEAN_US
    assert many.y[at] == pytest.approx(math.log(20) * 1e6 / (mu - 0.5 * 1.1e6 * 2 / 13))
    assert many.y[at + 1] is None
    assert even.y[at] == pytest.approx(math.log(20) * MEAN_US / 0.5)
    assert curve(result, "12 on 12, p50").y[at] == pytest.approx(math.log(2) * MEAN_US / 0.5)
    assert (l15._over(1_000.0), l15._over(1_000.1), l15._over(None)) == (False, True, True)


def test_l15_a_tail_that_never_breaks_or_is_seen_in_the_median_is_reported() -> None:
    def flat(job: Mapping[str, Any]) -> Result:
        return {"services": [{"sojourn_ns": {"p95": 9e3, "p50": 1e3}}]}

    result = l15.run(fed(flat), 1.0)
    assert verdicts(result) == [Word.VIOLATED] * 3
    assert result.checks[0].ours == "nowhere"
    assert result.checks[2].ours == "up to 97%"

    def seen(job: Mapping[str, Any]) -> Result:
        many = job["services"][0]["workers"] == 13
        return {"services": [{"sojourn_ns": {"p95": 9e9, "p50": 1_600.0 if many else 1e3}}]}

    late = l15.run(fed(seen), 1.0)
    assert [check.ours for check in late.checks] == [
        "above 1 ms from 10%",
        "p50 1.60 times that of 12 threads there",
        "nowhere",
    ]
    assert verdicts(late) == [Word.VIOLATED] * 3


# L7, L17, L21


def test_l7_each_probe_breaks_the_tail_early_and_leaves_the_median() -> None:
    """The probe's core is full at so much of the load; the eleven others do not see it."""
    full = {"many": 0.5, "sibling": 0.62, "shared": 0.9}

    def answer(job: Mapping[str, Any]) -> Result:
        (service,) = job["services"]
        load = float(service["rate"]) / 1.1e6
        # fmt: off
        which = "many" if service["workers"] == 13 else "sibling" if job["smt_slowdown"] > 1 else (
            "shared" if job["neighbours"] else "")
        # fmt: on
        late = load > full.get(which, 0.93)
        median = 1.2e3 if which == "shared" and load == 0.9 else 1e3
        return {"services": [{"sojourn_ns": {"p95": 2e6 if late else 1e6, "p50": median}}]}

    result = l7.run(fed(answer), 1.0)
    assert [check.ours for check in result.checks] == [
        "p95 above 1 ms from 55%, without the probe from 95%",
        "p50 at most 1.00 times that without, up to there",
        "p95 above 1 ms from 65%, without the probe from 95%",
        "p50 at most 1.00 times that without, up to there",
        "p95 above 1 ms from 95%, without the probe from 95%",
        "p50 at most 1.20 times that without, up to there",
    ]
    assert verdicts(result) == [
        Word.ARITHMETIC,
        Word.ARITHMETIC,
        Word.HOLDS,
        Word.ARITHMETIC,
        Word.VIOLATED,
        Word.ARITHMETIC,
    ]
    assert result.checks[2].tolerance == "0% to 80%"
    assert [c.name for c in result.curves[:4]] == [
        "no probe, p95",
        "no probe, p50",
        "13 threads on 12 cores, p95",
        "13 threads on 12 cores, p50",
    ]
    assert result.curves[0].y[0] == 1_000.0


def shares(job: Mapping[str, Any]) -> Result:
    """Alone p95 is 100 µs on the core; nice 4 µs more, with a dear switch 9; fair 300 more."""
    weight = job["services"][0]["grant"]["weight"]
    more = (
        0
        if not job["neighbours"]
        else 300
        if weight == 1024
        else 9
        if job["switch"] == "2us"
        else 4
    )
    return {"services": [{"sojourn_ns": {"p95": 1e3 * (100 + more)}}]}


def test_l17_ratios_are_of_what_a_client_sees() -> None:
    """Outside: 87.9 µs."""
    result = l17.run(fed(shares), 1.0)
    whole = 100 - MEAN_US / 0.9 + 100
    assert [c.name for c in result.curves] == [case.name for case in l17.CASES]
    for line, more in zip(result.curves, (0, 4, 9, 300), strict=True):
        assert line.y == pytest.approx([whole + more] * 9)
    nice, fair = result.checks
    ratio = (whole + 4) / whole
    assert nice.ours == f"{ratio:.2f} to {ratio:.2f} times"
    assert (nice.holds, nice.tolerance) == (True, "0.95 to 1.05")
    assert fair.ours == f"up to {(whole + 300) / whole:.0f} times that alone"
    assert (fair.verdict, fair.tolerance) == (Word.ARITHMETIC, "")


def test_l17_the_farthest_ratio_decides_on_either_side_and_a_missing_tail_is_infinite() -> None:
    def lines(*y: float | None) -> list[Curve]:
        alone = Curve(name=l17.ALONE.name, x_label="", y_label="", x=(0.1, 0.2), y=(100.0, 100.0))
        return [alone, replace(alone, name=l17.NICED.name, y=y)]

    assert l17._alike(lines(104.0, 100.0)).holds
    assert not l17._alike(lines(100.0, 94.0)).holds
    assert not l17._alike(lines(103.0, 94.0)).holds
    assert l17._ratios(lines(None, 50.0), l17.NICED.name) == [math.inf, 0.5]


def test_l21_the_tail_breaks_where_interrupts_leave_no_room() -> None:
    def answer(job: Mapping[str, Any]) -> Result:
        own, *heavy = job["services"]
        mean = sum(float(own[k].removeprefix("exponential:")) for k in ("service", "softirq"))
        rate = float(own["rate"])
        # fmt: off
        stolen = sum(float(h["rate"]) * float(h["softirq"].removeprefix("exponential:")) / 2e6
                     for h in heavy if 0 in h["softirq_cpus"])
        # fmt: on
        return {"services": [{"sojourn_ns": tails((1 - stolen) * 1e6 / mean - rate)}]}

    result = l21.run(fed(answer), 1.0)
    # 67,728 packets/s of 3.35 µs are 22.7 %: then 0.75 is left of the load; alone it ends at 0.95.
    cpu, flow, rss = result.checks
    assert flow.ours == "p95 above 1 ms from 100%, alone from 100%"
    assert rss.ours == "p95 above 1 ms from 75%, alone from 100%"
    assert verdicts(result) == [Word.ARITHMETIC, Word.ARITHMETIC, Word.HOLDS]
    assert rss.tolerance == "0% to 90%"
    assert cpu.ours == "31% of the line at peak"  # 1.1 M · 350 bytes
    assert curve(result, l21.ALONE).y[2] == pytest.approx(math.log(20) * MEAN_US / 0.5)
