import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from sojourn import programs
from sojourn.errors import SpecFault
from sojourn.models.calibrate import _costs, _misfit, _notes, _simplex, _start, calibrate
from sojourn.models.calibration import Costs, Setup
from sojourn.models.epoll_model import EpollModel as Model
from sojourn.models.points import QUANTITIES, Measured
from sojourn.models.simulator import Command, Result, Simulator

needs_sim = pytest.mark.skipif(programs.maybe("sojourn-sim") is None, reason="needs sojourn-sim")
QUICK = Setup(requests=30_000, steps=40, bound=0.25)
SERVICE_US, WAKE_US = 10.0, 3.0


def _busy(rate: float) -> float:
    """CPU share of a worker whose idle requests pay for a wake-up: u = λ(s + w(1 − u))."""
    return rate * (SERVICE_US + WAKE_US) / (1e6 + rate * WAKE_US)


RATES = [k * 10_000.0 for k in range(1, 10)]


@cache
def _spans() -> list[Mapping[str, Any]]:
    # fmt: off
    job = {"service": f"gamma:{SERVICE_US},0.5", "unit": "us", "requests": "200000", "seed": 9,
           "discipline": f"epoll:64,0us,{WAKE_US}us"}
    # fmt: on
    outcome = Simulator.find().runs("queue", [{**job, "rate": str(rate)} for rate in RATES])
    return [result["sojourn_ns"] for result in outcome]


def _truth(*, knows_cpu: bool) -> list[Measured]:
    """Points of a known service: gamma 10 µs, cv 0.5, behind 30 µs; another seed than the fit's."""
    return [
        Measured(
            rate_rps=rate,
            cpu_share=_busy(rate) if knows_cpu else None,
            **{name: span[name] + 30e3 for name in QUANTITIES},
        )
        for rate, span in zip(RATES, _spans(), strict=True)
    ]


@needs_sim
@pytest.mark.parametrize("knows_cpu", [True, False])
def test_a_service_of_the_models_own_kind_is_predicted_within_the_bound(*, knows_cpu: bool) -> None:
    calibration = calibrate(Simulator.find(), _truth(knows_cpu=knows_cpu), QUICK)
    assert calibration.verdict == "holds", calibration
    # Latencies at low loads say little about capacity; CPU time says it at once.
    assert calibration.parameters["service_us"] == pytest.approx(10, rel=0.01 if knows_cpu else 0.1)
    ranges = {r.name: r for r in calibration.ranges}
    assert ranges["service_us"].low * 0.95 <= 10 <= ranges["service_us"].high * 1.05
    assert set(ranges) >= {"service_us", "halt_us", "cv"}
    # The truth halts nothing; the fit prints a number, and says that it means nothing.
    assert (ranges["halt_us"].low, ranges["halt_us"].is_identified) == (0, False)
    assert ranges["cv"].is_identified
    assert any("wake_us apart" in note for note in calibration.notes) is (not knows_cpu)
    held = [p for p in calibration.predictions if not p.is_fitted]
    assert {round(p.share, 1) for p in held} == {0.8, 0.9, 1.0}


@needs_sim
def test_a_parameter_that_the_data_do_not_show_is_named_with_what_fits_equally() -> None:
    """Medians at low loads hardly know the service times' variation; CPU time knows their mean."""
    points = _truth(knows_cpu=True)[:4]
    medians = replace(QUICK, quantities=("p50",), fit_up_to=1.0)
    calibration = calibrate(Simulator.find(), points, medians)
    ranges = {r.name: r for r in calibration.ranges}
    assert ranges["service_us"].low <= 10.0 * (1 + 1e-6)
    assert ranges["service_us"].high >= 10.0 * (1 - 1e-6)
    assert ranges["service_us"].is_identified
    assert not ranges["cv"].is_identified
    assert ranges["cv"].low < 0.5 < ranges["cv"].high
    assert any("do not identify cv" in note for note in calibration.notes)


@needs_sim
def test_a_model_that_misses_says_so() -> None:
    points = _truth(knows_cpu=True)
    slow = [p if p.rate_rps < 65_000 else replace(p, p95=5 * (p.p95 or 0)) for p in points]
    calibration = calibrate(Simulator.find(), slow, QUICK)
    assert calibration.verdict == "violated"
    assert calibration.worst_held_out is not None
    assert calibration.worst_held_out > QUICK.bound


def test_too_few_points_and_wrong_settings_are_refused() -> None:
    point = Measured(rate_rps=1e4, mean=1e5, p50=1e5, p95=2e5, p99=3e5)
    with pytest.raises(SpecFault, match="needs 3"):
        calibrate(Simulator("unused", 1), [point], QUICK)
    for wrong in (
        {"workers": 0},
        {"fit_up_to": 0},
        {"bound": 0},
        {"quantities": ("p42",)},
        {"quantities": ()},
        {"peak_rps": -1.0},
    ):
        with pytest.raises(SpecFault):
            Setup(**wrong)
    assert Setup(quantities=QUANTITIES, fit_up_to=1.0, workers=1, connections=1).peak_rps is None


class Closed(Simulator):
    """A queue of two equally likely times: service and set-up, and twice that over 1 − ρ."""

    asked: ClassVar[list[dict[str, Any]]] = []

    def run(self, command: Command, job: Mapping[str, Any], *options: str) -> Result:
        self.asked.append(dict(job))
        service_us = float(job["service"].removeprefix("gamma:").partition(",")[0])
        setup_us = float(job["discipline"].rpartition(",")[2].removesuffix("us"))
        rho = float(job["rate"]) * service_us / 1e6 / int(job["servers"])
        short = 1e3 * (service_us + setup_us)
        histogram = HdrHistogram(1, 1_000_000_000, 3)
        for ns in (short, 2 * short / (1 - rho)):
            histogram.record_value(round(ns), 50)
        return {"sojourn_ns": {"hdr": histogram.encode().decode()}}


def point(rate: float, p50: float = 50e3, **change: Any) -> Measured:
    known = {"mean": None, "p95": None, "p99": None, "p50": p50, **change}
    return Measured(rate_rps=rate, **known)


def model(lowest: Measured, **change: Any) -> Model:
    Closed.asked.clear()
    return Model(Closed("unused", 1), replace(QUICK, **change), lowest)


def test_what_the_simulator_is_asked_is_the_service_and_the_loads() -> None:
    of = model(point(1e4), workers=2, connections=32, requests=1_000)
    of.times([point(5e4)], Costs(10.0, 3.0, 4.0, 0.5))
    assert Closed.asked == [
        {
            "rate": repr(rate),
            "unit": "us",
            "servers": 2,
            "service": "gamma:10.000000,0.5000",
            "requests": "1000",
            "discipline": "epoll:32,0us,7.0000us",
        }
        for rate in (1e4, 5e4)
    ]
    Closed.asked.clear()
    every = [point(1e4), point(5e4), point(5e4)]
    first, *same = of.times(every, Costs(10.0, 3.0, 4.0, 0.5))
    assert len(Closed.asked) == 2, "each load once, the lowest among them"
    assert first != same[0] == same[1]
    assert of._job(1.0, Costs(10.0, 3.0, 4.0, 0.01))["service"] == "gamma:10.000000,0.0200"


def test_a_load_is_what_lies_outside_plus_the_queue() -> None:
    """Outside: 50 µs less the lowest load's median of 10; at ρ = 0.5 the queue has 10 and 40."""
    of = model(point(1.0))
    (times,) = of.times([point(5e4)], Costs(10.0, 0.0, 0.0, 0.5))
    assert times is not None
    assert times["mean"] == pytest.approx(25e3 + 35e3, rel=2e-3)
    assert times["p95"] == times["p99"] == pytest.approx(40e3 + 35e3, rel=2e-3)
    known = model(replace(point(1.0), shape=tuple(1e3 * k for k in (10, 14, 30, 90))))
    (times,) = known.times([point(5e4)], Costs(10.0, 0.0, 0.0, 0.5))
    assert times is not None
    # Less 15, the middle of 10 and 20: 0, 0, 15, 75 µs, each with 10 or 40.
    assert times["mean"] == pytest.approx(25e3 + 22.5e3, rel=2e-3)
    assert times["p99"] == pytest.approx(40e3 + 75e3, rel=2e-3)
    short = model(point(1.0, p50=1.0)).times([point(5e4)], Costs(10.0, 0.0, 0.0, 0.5))[0]
    assert short is not None
    assert short["mean"] == pytest.approx(25e3, rel=2e-3)


def test_a_load_beyond_995_thousandths_has_no_steady_state() -> None:
    of = model(point(1e4), workers=2)
    costs = Costs(10.0, 0.0, 0.0, 0.5)
    result = of.times([point(1.98e5), point(1.995e5), point(1e5)], costs)
    assert [times is None for times in result] == [False, True, False]
    assert model(point(2e5), workers=2).times([point(1e4)], costs) == [None]


def test_the_misfit_is_the_sum_of_the_logarithms_errors() -> None:
    """p50 and p95 of one point twice and half as long as measured; an unstable one costs three."""
    of = model(point(1.0), quantities=("p50", "p95"))
    line = (10.0, 0.0)
    logs = np.log([1e-9, 0.5])
    (times,) = of.times([point(5e4)], Costs(10.0, 0.0, 0.0, 0.5))
    assert times is not None
    exact = point(5e4, p50=times["p50"], p95=times["p95"])
    assert _misfit(of, [exact], line)(logs) == pytest.approx(0.0, abs=1e-6)
    off = replace(exact, p50=2 * times["p50"], p95=times["p95"] / 2)
    assert _misfit(of, [off, exact], line)(logs) == pytest.approx(2 * math.log(2), rel=1e-3)
    unstable = replace(exact, rate_rps=1e6)
    assert _misfit(of, [unstable], line)(logs) == 6.0
    assert _misfit(of, [replace(unstable, p95=None)], line)(logs) == 3.0


def test_where_the_fit_starts_and_what_it_may_be() -> None:
    points = [point(1e4, p50=20e3), point(9e4)]
    assert _start(QUICK, points, (10.0, 3.0)) == [4.0, 0.5]
    # Half of 20 µs would be full at 100k/s; 0.9 of what 90k/s leave is 10 µs.
    assert _start(QUICK, points, None) == pytest.approx([10.0, 2.0, 0.5])
    slow = [point(1e4, p50=40e3), point(9e4)]
    assert _start(QUICK, slow, None) == pytest.approx([10.0, 4.0, 0.5])
    assert _start(replace(QUICK, workers=4), slow, None) == pytest.approx([20.0, 4.0, 0.5])
    blind = [replace(point(1e4), p50=None, mean=30e3), point(2e4)]
    assert _start(QUICK, blind, (10.0, 3.0)) == [6.0, 0.5]
    assert _simplex(np.array([1.0, 2.0])).tolist() == [[1.0, 2.0], [1.5, 2.0], [1.0, 2.5]]
    assert _costs(np.array([4.0, 9.0]), (10.0, 3.0)) == Costs(10.0, 3.0, 4.0, 5.0)
    assert _costs(np.array([8.0, 4.0, 0.7]), None) == Costs(8.0, 0.0, 4.0, 0.7)
    assert Costs(1.0, 2.0, 3.0, 0.5).setup_us == 5.0


FEW = replace(QUICK, steps=6)


def closed_points() -> list[Measured]:
    """A service of 10 µs with a wake-up of 3 in the model's own closed form; outside 40 µs."""
    Closed.asked.clear()
    costs, rates = Costs(10.0, 3.0, 0.0, 0.5), [k * 1e4 for k in range(1, 10)]
    of = model(point(1.0, p50=53e3))
    return [
        replace(point(rate, cpu_share=_busy(rate)), **times)  # type: ignore[arg-type]
        for rate, times in zip(rates, of.times([point(r) for r in rates], costs), strict=True)
        if times is not None
    ]


def test_a_fit_on_the_lower_loads_is_held_against_the_higher_ones() -> None:
    points = closed_points()
    calibration = calibrate(
        Closed("unused", 1), points[::-1], replace(FEW, peak_rps=1e5, steps=24, fit_up_to=0.6)
    )
    assert calibration.verdict == "holds"
    assert calibration.parameters["service_us"] == pytest.approx(10.0)
    assert calibration.parameters["wake_us"] == pytest.approx(3.0)
    assert calibration.capacity_rps == pytest.approx(1e5)
    assert calibration.axis == "the closed-loop peak"
    assert [p.rate_rps for p in calibration.predictions[::4]] == [p.rate_rps for p in points]
    assert [p.is_fitted for p in calibration.predictions[::4]] == [True] * 6 + [False] * 3
    assert [p.share for p in calibration.predictions[::4]] == pytest.approx(
        [k / 10 for k in range(1, 10)]
    )
    # fmt: off
    judged = [abs(p.error or 0) for p in calibration.predictions
              if not p.is_fitted and p.quantity in QUICK.quantities]
    # fmt: on
    assert calibration.worst_held_out == max(judged)
    for p in calibration.predictions:
        assert p.predicted_ns is not None
        assert p.error == pytest.approx(p.predicted_ns / p.measured_ns - 1)
        assert (p.lo_ns, p.hi_ns) == (None, None)
    assert (
        calibration.notes[0] == "service time from the closed-loop peak: full at 100,000 requests/s"
    )


def test_nothing_held_out_is_unknown_and_what_is_unstable_is_violated() -> None:
    points = closed_points()[:5]
    whole = calibrate(Closed("unused", 1), points, replace(FEW, fit_up_to=1.0))
    assert (whole.verdict, whole.worst_held_out, whole.axis) == (
        "unknown",
        None,
        "the highest load",
    )
    assert whole.notes[0].startswith("service time from CPU time: full at ")
    beyond = [*points, replace(points[-1], rate_rps=1.2e5, cpu_share=None)]
    full = calibrate(Closed("unused", 1), beyond, FEW)
    assert (full.verdict, full.worst_held_out) == ("violated", math.inf)
    last = full.predictions[-1]
    assert (last.predicted_ns, last.error, last.share) == (None, None, 1.0)
    assert any("less than the highest measured load, 120,000" in note for note in full.notes)
    assert not any("less than the highest" in note for note in whole.notes)
    with pytest.raises(SpecFault, match="2 loads lie at or below 20% of the highest load"):
        calibrate(Closed("unused", 1), beyond, replace(QUICK, fit_up_to=0.2))


def test_runs_that_differ_are_told_by_how_much() -> None:
    spread = {"p50": (10e3, 25e3), "p95": (10e3, 11e3), "mean": (1e3, 9e3)}
    points = [replace(point(1e4), spread=spread), point(9e4)]
    notes = _notes(points, (10.0, 3.0), 1e5, QUICK, knows_wake=True)
    assert notes[-1].startswith("runs at the same load differ by up to 2.5 times")
    assert len(notes) == 2
    (first, second) = _notes([point(1e4)], None, 1e5, QUICK, knows_wake=False)
    assert first == "service time from latencies alone: full at 100,000 requests/s"
    assert second.startswith("the data do not identify wake_us apart from halt_us")
    # 99.5 % of the capacity is the most that the model can carry.
    assert len(_notes([point(99_400.0)], (10.0, 3.0), 1e5, QUICK, knows_wake=True)) == 1
    assert len(_notes([point(99_600.0)], (10.0, 3.0), 1e5, QUICK, knows_wake=True)) == 2


def test_a_known_peak_is_the_capacity_also_without_cpu_time() -> None:
    """Latencies at low loads fit any capacity: one of 76 times the peak was once the answer."""
    points = [replace(p, cpu_share=None) for p in closed_points()]
    known = calibrate(Closed("unused", 1), points, replace(FEW, peak_rps=1e5, fit_up_to=0.6))
    assert known.capacity_rps == pytest.approx(1e5)
    assert known.parameters["wake_us"] == 0
    assert known.notes[0].startswith("service time from the closed-loop peak: full at 100,000 ")
    assert "wake_us apart from halt_us" in known.notes[1]
    assert "service_us" not in {r.name for r in known.ranges}


def test_a_load_near_the_capacity_is_not_called_higher() -> None:
    near = _notes([point(99_600.0)], (10.0, 3.0), 1e5, QUICK, knows_wake=True)
    assert "the highest measured load, 99,600, is nearly that" in near[1]
    above = _notes([point(100_600.0)], (10.0, 3.0), 1e5, QUICK, knows_wake=True)
    assert "less than the highest measured load, 100,600" in above[1]


def test_settings_are_refused_beyond_their_limits_and_not_at_them() -> None:
    for right in ({"connections": 1}, {"fit_up_to": 1.0}, {"peak_rps": 0.5}, {"bound": 0.01}):
        Setup(**right)
    for wrong in ({"connections": 0}, {"fit_up_to": 1.01}, {"peak_rps": 0.0}, {"bound": -1.0}):
        with pytest.raises(SpecFault) as caught:
            Setup(**wrong)
        assert caught.value.fix
    plain = Setup()
    assert (plain.workers, plain.connections, plain.fit_up_to, plain.bound) == (1, 64, 0.67, 0.3)
    assert (plain.requests, plain.steps, plain.quantities) == (100_000, 60, ("p50", "p95"))


def test_held_out_numbers_that_no_run_has_are_counted_and_named() -> None:
    """Lost requests decide p95 of the two highest loads: no prediction shows that they lack."""
    points = closed_points()
    lost = [p if p.rate_rps < 75_000 else replace(p, p95=None) for p in points]
    asked = replace(FEW, peak_rps=1e5, fit_up_to=0.6)
    whole = calibrate(Closed("unused", 1), points, asked)
    assert (whole.held_out, whole.skipped) == (6, 0)
    assert not any("held-out numbers" in note for note in whole.notes)
    part = calibrate(Closed("unused", 1), lost, asked)
    assert (part.held_out, part.skipped) == (6, 2)
    (note,) = (note for note in part.notes if "held-out numbers" in note)
    assert note.startswith("2 of 6 held-out numbers are not judged, because lost requests ")
    assert note.endswith(": p95 at 80%, p95 at 90%")
    # Of what is fitted, and of a quantity that is not judged, nothing lacks.
    others = [replace(p, p99=None) for p in points]
    others[1] = replace(others[1], p95=None)
    assert calibrate(Closed("unused", 1), others, asked).skipped == 0
