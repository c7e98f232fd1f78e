import math
import os
from pathlib import Path

import pytest

from sojourn import programs
from sojourn.errors import Exit, RunFault, SpecFault
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
    simulator = Simulator("unused", 1)
    with pytest.raises(SpecFault, match="effect of a neighbour on the service") as caught:
        compare(simulator, {"placement": "all"}, Costs())
    assert "--slowdown" in caught.value.fix
    job = {"placement": "all", "neighbour_slowdown": 1.3}
    with pytest.raises(SpecFault, match="harmless"):
        compare(simulator, job, Costs(), harmless=True)


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
    fleet = compare(sim, job, Costs(), harmless=True)
    assert math.isclose(fleet.gain, 0.1719, abs_tol=5e-5)
    assert fleet.utilisation == pytest.approx(1.0)
    assert fleet.utilisation_apart == pytest.approx(0.5)
    assert fleet.neighbour_servers == pytest.approx(300 * 0.30)


def program(folder: Path, script: str) -> Simulator:
    """A program that runs `script`; its job comes on stdin."""
    path = folder / "sim"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return Simulator(str(path), 2)


def test_a_job_goes_in_on_stdin_and_its_result_comes_back(tmp_path: Path) -> None:
    sim = program(tmp_path, 'printf \'{"asked": "%s", "job": %s}\' "$*" "$(cat)"')
    assert sim.run("queue", {"rate": "1"}, "--quick") == {
        "asked": "queue --job - --json - --quick",
        "job": {"rate": "1"},
    }


@pytest.mark.parametrize(("code", "is_answer"), [(0, True), (int(Exit.UNKNOWN), True), (1, False)])
def test_an_answer_that_is_not_known_is_one_too(
    tmp_path: Path, code: int, *, is_answer: bool
) -> None:
    sim = program(tmp_path, f"echo '{{\"x\": 1}}'; exit {code}")
    if is_answer:
        assert sim.run("queue", {}) == {"x": 1}
    else:
        with pytest.raises(RunFault, match="ended with 1"):
            sim.run("queue", {})


def test_the_program_s_own_words_are_the_fault(tmp_path: Path) -> None:
    text = 'printf "error: too fast\\n  at: rate\\n  fix: ask for less\\n  fix: no\\n" >&2'
    with pytest.raises(SpecFault, match="too fast") as caught:
        program(tmp_path, f"{text}; exit {int(Exit.USAGE)}").run("queue", {})
    assert (caught.value.at, caught.value.fix) == ("rate", "ask for less")
    with pytest.raises(RunFault, match="too fast"):
        program(tmp_path, f"{text}; exit 9").run("queue", {})
    sim = program(tmp_path, "echo boom >&2; exit 0")
    with pytest.raises(RunFault, match="ended with 0: boom") as dumb:
        sim.run("queue", {})
    assert (dumb.value.at, dumb.value.fix) == (sim.program, "see sojourn-sim --describe")
    with pytest.raises(RunFault, match="cannot be started"):
        Simulator(str(tmp_path / "nothing"), 1).run("queue", {})


def test_jobs_side_by_side_are_counted_and_keep_their_order(tmp_path: Path) -> None:
    numbers: list[tuple[int, int]] = []
    sim = program(tmp_path, "cat")
    counting = Simulator(sim.program, 0, lambda done, of: numbers.append((done, of)))
    assert counting.runs("queue", [{"k": k} for k in range(5)]) == [{"k": k} for k in range(5)]
    assert numbers == [(k, 5) for k in range(1, 6)]


def test_as_many_run_at_once_as_are_asked_for_or_as_there_are_cpus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(programs, "find", lambda name: f"/bin/{name}")
    assert Simulator.find(jobs=3) == Simulator("/bin/sojourn-sim", 3)
    assert Simulator.find().parallel == len(os.sched_getaffinity(0))
