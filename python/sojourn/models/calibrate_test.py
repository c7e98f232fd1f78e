from pathlib import Path

import pytest

from sojourn import programs
from sojourn.errors import SpecFault
from sojourn.models.calibrate import QUANTITIES, Measured, Setup, calibrate, read_points
from sojourn.models.simulator import Simulator

needs_sim = pytest.mark.skipif(programs.maybe("sojourn-sim") is None, reason="needs sojourn-sim")
QUICK = Setup(requests=30_000, steps=60, bound=0.25)


def _truth(sim: Simulator, **changes: str) -> list[Measured]:
    """Points of a known service: gamma 10 µs, cv 0.5, behind 30 µs; another seed than the fit's."""
    job = {"service": "gamma:10,0.5", "unit": "us", "requests": "200000", "seed": 9,
           "discipline": "epoll:64,1us,2us", **changes}  # fmt: skip
    rates = [k * 10_000.0 for k in range(1, 9)]
    found = sim.runs("queue", [{**job, "rate": str(rate)} for rate in rates])
    spans = [result["sojourn_ns"] for result in found]
    return [
        Measured(rate_rps=rate, **{name: span[name] + 30e3 for name in QUANTITIES})
        for rate, span in zip(rates, spans, strict=True)
    ]


@needs_sim
def test_a_service_of_the_models_own_kind_is_predicted_within_the_bound() -> None:
    found = calibrate(Simulator.find(), _truth(Simulator.find()), QUICK)
    assert found.verdict == "holds", found
    assert found.parameters["service_us"] == pytest.approx(10, rel=0.15)
    held = [p for p in found.predictions if not p.is_fitted]
    assert {round(p.share, 1) for p in held} == {0.8, 0.9, 1.0}


@needs_sim
def test_a_model_that_misses_says_so() -> None:
    points = _truth(Simulator.find())
    slow = [p if p.rate_rps < 55_000 else _times(p, 5) for p in points]
    found = calibrate(Simulator.find(), slow, QUICK)
    assert found.verdict == "violated"
    assert found.worst_held_out is not None
    assert found.worst_held_out > QUICK.bound


def _times(point: Measured, factor: float) -> Measured:
    times = {name: getattr(point, name) * factor for name in QUANTITIES}
    return Measured(rate_rps=point.rate_rps, **times)


def test_too_few_points_and_wrong_settings_are_refused(tmp_path: Path) -> None:
    point = Measured(rate_rps=1e4, mean=1e5, p50=1e5, p95=2e5, p99=3e5)
    with pytest.raises(SpecFault, match="needs 3"):
        calibrate(Simulator("unused", 1), [point], QUICK)
    for wrong in ({"workers": 0}, {"fit_up_to": 0}, {"bound": 0}, {"quantities": ("p42",)}):
        with pytest.raises(SpecFault):
            Setup(**wrong)
    with pytest.raises(SpecFault, match="cannot read"):
        read_points(tmp_path / "nothing.csv")
    (tmp_path / "empty.csv").write_text("rate_rps,mean_ns\n")
    with pytest.raises(SpecFault, match="no points"):
        read_points(tmp_path / "empty.csv")


def test_points_are_read_from_csv(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("rate_rps,mean_ns,p50_ns,p95_ns,p99_ns\n1000,5,4,9,\n")
    assert read_points(path) == [Measured(rate_rps=1000, mean=5, p50=4, p95=9, p99=None)]
