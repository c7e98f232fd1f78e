"""What 100 % is: the median of the peaks that are believed; and a bound measured at low load."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.plan import Outcome, Verdict, axis
from sojourn.plan.axis import Axis, Target
from sojourn.plan.points import Phase, Point
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import study
from sojourn.spec import MaxRps, QosRule

OF = study()
SERVICE = OF.service("memcached")
BASE = study(
    "services.memcached.qos.bound=''",
    "services.memcached.qos.rule=low_load",
    "services.memcached.qos.q=0.95",
)
TOP = Axis(rps=100e3, lo_rps=1, hi_rps=2, rule=MaxRps.ACHIEVED_PEAK, runs=1, is_valid=True)


def peak(rps: float, *, lost: float = 0.0, verdict: Verdict = Verdict.HOLDS, n: int = 0) -> Outcome:
    point = Point(
        key=f"memcached/peak/b{n}",
        service="memcached",
        phase=Phase.PEAK,
        offered_rps=None,
        measure_s=1.0,
        warmup_s=0.0,
        seed=1,
        repeat=n,
    )
    outcome = imagine(point, capacity_rps=rps)
    return replace(
        outcome,
        requests=10_000,
        lost=round(lost * 10_000),
        verdict=verdict,
        reasons=("late",) if verdict is Verdict.UNKNOWN else (),
    )


def test_the_axis_is_the_median_and_keeps_both_ends() -> None:
    result = axis.peak(SERVICE, [peak(100e3), peak(130e3), peak(101_234)])
    assert result is not None
    assert (result.rps, result.lo_rps, result.hi_rps, result.runs) == (101_200, 100e3, 130e3, 3)
    assert (result.is_valid, result.reasons) == (True, ())


def test_a_peak_that_failed_counts_only_where_there_is_no_other() -> None:
    late = peak(200e3, verdict=Verdict.UNKNOWN)
    lossy = peak(300e3, lost=0.011)
    one = axis.peak(SERVICE, [late, peak(100e3, lost=0.01), lossy])
    assert one is not None
    assert (one.rps, one.runs, one.is_valid) == (100e3, 1, True)
    none = axis.peak(SERVICE, [late, lossy])
    assert none is not None
    assert (none.rps, none.runs, none.is_valid) == (250e3, 2, False)
    assert none.reasons == ("1% of the closed loop's requests failed",)
    assert axis.peak(SERVICE, [late]).reasons == ("late",)  # type: ignore[union-attr]


def test_what_is_no_closed_loop_of_this_service_is_no_peak() -> None:
    good = peak(100e3)
    others = (
        replace(good, point=replace(good.point, offered_rps=5.0)),
        replace(good, point=replace(good.point, service="nginx")),
        replace(good, point=replace(good.point, phase=Phase.SWEEP)),
        replace(good, achieved_rps=0.0),
    )
    assert axis.peak(SERVICE, others) is None


def test_the_next_peak_is_the_first_that_is_not_made() -> None:
    first = axis.next_peak(OF, SERVICE, [])
    assert first is not None
    assert (first.key, first.repeat, first.offered_rps) == ("memcached/peak/b0", 0, None)
    assert first.overrides == (("find_max", True),)
    assert first.measure_s == OF.run.peak_s
    done = [peak(1e5, n=n) for n in range(OF.run.peak_repeats)]
    assert axis.next_peak(OF, SERVICE, done) is None
    spoiled = [replace(done[0], verdict=Verdict.UNKNOWN), *done[1:]]
    again = axis.next_peak(OF, SERVICE, spoiled)
    assert again is not None
    assert (again.key, again.repeat) == ("memcached/peak/b0~1", 0)


def test_a_peak_that_ends_before_a_slow_service_answers_is_made_again_and_longer() -> None:
    empty = "requests: no request was due in the measured part; raise rate or duration"
    slow = replace(peak(1.0, verdict=Verdict.UNKNOWN), requests=0, reasons=(empty,))
    lengths = [axis.next_peak(OF, SERVICE, [slow] * n).measure_s for n in range(3)]  # type: ignore[union-attr]
    assert lengths == [OF.run.peak_s * times for times in (1, 4, 16)]
    silent = replace(slow, reasons=("protocol: nothing came back", empty))
    for other in (silent, peak(1e5, verdict=Verdict.UNKNOWN)):
        again = axis.next_peak(OF, SERVICE, [other])
        assert again is not None
        assert again.measure_s == OF.run.peak_s


@pytest.mark.parametrize(("lost", "is_again"), [(0.01, False), (0.011, True)])
def test_a_peak_that_lost_more_than_a_hundredth_is_made_again(
    lost: float,
    is_again: bool,  # noqa: FBT001
) -> None:
    """It is left out of the axis as a run that is `unknown` is, so it is retried as one."""
    done = [peak(1e5, n=n) for n in range(OF.run.peak_repeats)]
    done[0] = peak(1e5, lost=lost)
    again = axis.next_peak(OF, SERVICE, done)
    assert (again is not None) is is_again
    if again:
        assert again.key == "memcached/peak/b0~1"
    spent = [peak(1e5, lost=lost) for _ in range(OF.run.retries + 1)]
    assert axis.next_peak(OF, SERVICE, [*spent, *done[1:]]) is None


def base(verdict: Verdict = Verdict.HOLDS) -> Outcome:
    service = BASE.service("memcached")
    point = axis.next_base(BASE, service, [], TOP)
    assert point is not None
    assert point.offered_rps == 20e3
    assert point.fraction == 0.2
    outcome = imagine(point, capacity_rps=100e3)
    return replace(outcome, verdict=verdict, p95_ns=1e4, p99_ns=9e4, mean_ns=3e3)


@pytest.mark.parametrize(
    ("rule", "wanted"), [("low_load", 5e4), ("lqos", 1.5e4), ("service_time", 1.5e4 / 1.06)]
)
def test_a_bound_is_the_multiple_of_the_last_run_at_low_load_that_can_be_believed(
    rule: str, wanted: float
) -> None:
    of = study(
        "services.memcached.qos.bound=''",
        f"services.memcached.qos.rule={rule}",
        "services.memcached.qos.q=0.95",
        "services.memcached.cores=1",
    )
    service = of.service("memcached")
    result = axis.target(service, [base(Verdict.UNKNOWN), base()])
    assert result is not None
    assert (result.q, result.rule) == (0.95, QosRule(rule))
    assert result.bound_ns == pytest.approx(wanted)
    assert result.overrides == (("qos_quantile", 0.95), ("qos_bound", f"{wanted:.0f}ns"))
    assert axis.target(service, [base(Verdict.UNKNOWN)]) is None
    assert axis.target(service, []) is None


def test_a_given_bound_needs_no_run_and_a_measured_one_no_second() -> None:
    assert axis.next_base(OF, SERVICE, [], TOP) is None
    assert axis.target(SERVICE, []) == Target(q=0.99, bound_ns=1e6, rule=QosRule.GIVEN)
    service = BASE.service("memcached")
    assert axis.next_base(BASE, service, [base()], TOP) is None
    again = axis.next_base(BASE, service, [base(Verdict.UNKNOWN)], TOP)
    assert again is not None
    assert again.key == "memcached/peak/b0/load=0.2~1"
