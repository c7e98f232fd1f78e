"""Which of several clients on one CPU spins."""

from __future__ import annotations

from typing import Any

from sojourn.actors.clients import turns
from sojourn.actors.clients.client import Job


def job(rate: str = "1k", **others: Any) -> Job:
    return {"wait": "spin", "cpus": "0", "threads": 1, "rate": rate, **others}


def waits(*jobs: Job) -> list[str]:
    return [one["wait"] for one in turns.taken(jobs)]


def test_who_is_asked_most_spins_and_the_others_sleep() -> None:
    assert waits(job("300"), job("60k"), job("1")) == ["sleep", "yield", "sleep"]
    assert waits(job(), job(), job()) == ["yield", "sleep", "sleep"], "the first of equals"
    assert waits(job("ramp:1k..9k"), job("1")) == ["sleep", "yield"], "of no known rate: last"


def test_who_has_a_cpu_of_its_own_spins_on_it() -> None:
    assert waits(job(), job(cpus="1"), job(cpus="2-3", threads=2)) == ["spin"] * 3
    assert waits(job("2k"), job(cpus="0-1", threads=2)) == ["yield", "sleep"], "one is shared"


def test_what_was_not_to_spin_is_left_as_it_is() -> None:
    assert waits(job(wait="sleep:40us", rate="9k"), job()) == ["sleep:40us", "yield"]
    asked = [job("2k"), {"rate": "1k", "wait": "auto"}]
    assert turns.taken(asked) == asked, "of no CPU in particular"


def test_closed_loops_on_one_cpu_and_more_threads_than_cpus_sleep() -> None:
    assert waits(job(find_max=True), job(find_max=True)) == ["sleep", "sleep"]
    assert waits(job(find_max=True), job(find_max=True, cpus="1")) == ["spin", "spin"]
    assert waits(job(threads=2), job()) == ["sleep", "yield"]
