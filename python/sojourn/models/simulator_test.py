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


def test_a_neighbour_without_a_known_slowdown_is_refused() -> None:
    nobody = Simulator("unused", 1)
    with pytest.raises(SpecFault, match="slows the service down") as caught:
        compare(nobody, {"placement": "all"}, Costs())
    assert "--slowdown" in caught.value.fix
    job = {"placement": "all", "neighbour_slowdown": 1.3}
    with pytest.raises(SpecFault, match="harmless"):
        compare(nobody, job, Costs(), harmless=True)


@needs_sim
def test_what_a_neighbour_costs_is_in_the_tail_and_only_there_where_it_is_asked_for(
    sim: Simulator,
) -> None:
    job = {"servers": 300, "load_by_hour": [0.3], "roots": 2000, "placement": "all"}
    slow = compare(sim, {**job, "neighbour_slowdown": 1.31}, Costs())
    free = compare(sim, job, Costs(), harmless=True)
    assert slow.root_p99_ns is not None
    assert slow.root_p99_ns_apart is not None
    # Every level of the tree is slower by 1.31, and queues on top of it.
    assert slow.root_p99_ns > 1.25 * slow.root_p99_ns_apart
    assert (free.root_p99_ns, free.slowdown) == (free.root_p99_ns_apart, 1.0)


@needs_sim
def test_a_shared_fleet_costs_less_than_two_clusters_and_the_sum_is_the_papers(
    sim: Simulator,
) -> None:
    """At a steady 50 % with a neighbour everywhere this is L32's formula: 17.19 %."""
    job = {"servers": 300, "load_by_hour": [0.5], "roots": 500, "placement": "all"}
    found = compare(sim, job, Costs(), harmless=True)
    assert math.isclose(found.gain, 0.1719, abs_tol=5e-5)
    assert found.utilisation == pytest.approx(1.0)
    assert found.utilisation_apart == pytest.approx(0.5)
    assert found.neighbour_servers == pytest.approx(300 * 0.30)
