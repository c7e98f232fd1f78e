import math

import pytest

from sojourn import programs
from sojourn.errors import SpecFault
from sojourn.models.fleet import compare
from sojourn.models.simulator import Simulator
from sojourn.models.tco import Costs

needs_sim = pytest.mark.skipif(programs.maybe("sojourn-sim") is None, reason="needs sojourn-sim")
MM4 = {"rate": "3.2", "servers": 4, "requests": "100k"}


@pytest.fixture
def sim() -> Simulator:
    return Simulator.find()


@needs_sim
def test_results_come_in_the_order_of_the_jobs_and_repeat(sim: Simulator) -> None:
    jobs = [{**MM4, "seed": seed} for seed in (1, 2, 1)]
    first, second, third = sim.runs("queue", jobs)
    assert first == third
    assert first != second


@needs_sim
def test_an_unstable_job_is_a_fault_in_the_programs_own_words(sim: Simulator) -> None:
    with pytest.raises(SpecFault, match="unstable") as caught:
        sim.run("queue", {**MM4, "rate": "5"})
    assert "less than 4" in caught.value.fix
    with pytest.raises(SpecFault, match="unknown field"):
        sim.run("queue", {"colour": "red"})


@needs_sim
def test_a_shared_fleet_costs_less_than_two_clusters_and_the_sum_is_the_papers(
    sim: Simulator,
) -> None:
    """At a steady 50 % with a neighbour everywhere this is L32's formula: 17.19 %."""
    job = {"servers": 300, "load_by_hour": [0.5], "roots": 500, "placement": "all"}
    found = compare(sim, job, Costs())
    assert math.isclose(found.gain, 0.1719, abs_tol=5e-5)
    assert found.utilisation == pytest.approx(1.0)
    assert found.utilisation_apart == pytest.approx(0.5)
    assert found.neighbour_servers == pytest.approx(300 * 0.30)
