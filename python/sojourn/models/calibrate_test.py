from dataclasses import replace

import pytest

from sojourn import programs
from sojourn.errors import SpecFault
from sojourn.models.calibrate import Setup, calibrate
from sojourn.models.points import QUANTITIES, Measured
from sojourn.models.simulator import Simulator

needs_sim = pytest.mark.skipif(programs.maybe("sojourn-sim") is None, reason="needs sojourn-sim")
QUICK = Setup(requests=30_000, steps=40, bound=0.25)
SERVICE_US, WAKE_US = 10.0, 3.0


def _busy(rate: float) -> float:
    """CPU share of a worker whose idle requests pay for a wake-up: u = λ(s + w(1 − u))."""
    return rate * (SERVICE_US + WAKE_US) / (1e6 + rate * WAKE_US)


def _truth(*, knows_cpu: bool) -> list[Measured]:
    """Points of a known service: gamma 10 µs, cv 0.5, behind 30 µs; another seed than the fit's."""
    job = {"service": f"gamma:{SERVICE_US},0.5", "unit": "us", "requests": "200000", "seed": 9,
           "discipline": f"epoll:64,0us,{WAKE_US}us"}  # fmt: skip
    rates = [k * 10_000.0 for k in range(1, 10)]
    found = Simulator.find().runs("queue", [{**job, "rate": str(rate)} for rate in rates])
    spans = [result["sojourn_ns"] for result in found]
    return [
        Measured(
            rate_rps=rate,
            cpu_share=_busy(rate) if knows_cpu else None,
            **{name: span[name] + 30e3 for name in QUANTITIES},
        )
        for rate, span in zip(rates, spans, strict=True)
    ]


@needs_sim
@pytest.mark.parametrize("knows_cpu", [True, False])
def test_a_service_of_the_models_own_kind_is_predicted_within_the_bound(*, knows_cpu: bool) -> None:
    found = calibrate(Simulator.find(), _truth(knows_cpu=knows_cpu), QUICK)
    assert found.verdict == "holds", found
    # Latencies at low loads say little about capacity; CPU time says it at once.
    assert found.parameters["service_us"] == pytest.approx(10, rel=0.01 if knows_cpu else 0.1)
    ranges = {r.name: r for r in found.ranges}
    assert ranges["service_us"].low * 0.95 <= 10 <= ranges["service_us"].high * 1.05
    assert set(ranges) >= {"service_us", "halt_us", "cv"}
    # The truth halts nothing; the fit prints a number, and says that it means nothing.
    assert (ranges["halt_us"].low, ranges["halt_us"].is_identified) == (0, False)
    assert ranges["cv"].is_identified
    assert any("wake_us apart" in note for note in found.notes) is (not knows_cpu)
    held = [p for p in found.predictions if not p.is_fitted]
    assert {round(p.share, 1) for p in held} == {0.8, 0.9, 1.0}


@needs_sim
def test_a_parameter_that_the_data_do_not_show_is_named_with_what_fits_equally() -> None:
    """Medians at low loads hardly know the service times' variation; CPU time knows their mean."""
    points = _truth(knows_cpu=True)[:4]
    medians = replace(QUICK, quantities=("p50",), fit_up_to=1.0)
    found = calibrate(Simulator.find(), points, medians)
    ranges = {r.name: r for r in found.ranges}
    assert ranges["service_us"].low <= 10.0 * (1 + 1e-6)
    assert ranges["service_us"].high >= 10.0 * (1 - 1e-6)
    assert ranges["service_us"].is_identified
    assert not ranges["cv"].is_identified
    assert ranges["cv"].low < 0.5 < ranges["cv"].high
    assert any("do not identify cv" in note for note in found.notes)


@needs_sim
def test_a_model_that_misses_says_so() -> None:
    points = _truth(knows_cpu=True)
    slow = [p if p.rate_rps < 65_000 else replace(p, p95=5 * (p.p95 or 0)) for p in points]
    found = calibrate(Simulator.find(), slow, QUICK)
    assert found.verdict == "violated"
    assert found.worst_held_out is not None
    assert found.worst_held_out > QUICK.bound


def test_too_few_points_and_wrong_settings_are_refused() -> None:
    point = Measured(rate_rps=1e4, mean=1e5, p50=1e5, p95=2e5, p99=3e5)
    with pytest.raises(SpecFault, match="needs 3"):
        calibrate(Simulator("unused", 1), [point], QUICK)
    for wrong in (
        {"workers": 0}, {"fit_up_to": 0}, {"bound": 0}, {"quantities": ("p42",)},
        {"quantities": ()}, {"peak_rps": -1.0},
    ):  # fmt: skip
        with pytest.raises(SpecFault):
            Setup(**wrong)
    assert Setup(quantities=QUANTITIES, fit_up_to=1.0, workers=1, connections=1).peak_rps is None
