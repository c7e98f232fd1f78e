"""Which of several clients on one CPU take turns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sojourn.actors.clients import turns
from sojourn.actors.clients.client import Job

BY = Path("/run/turns")


def job(rate: str = "1k", **others: Any) -> Job:
    return {"wait": "spin", "cpus": "0", "threads": 1, "rate": rate, **others}


def waits(*jobs: Job) -> list[str]:
    return [one["wait"] for one in turns.taken(jobs, BY)]


def test_all_on_one_cpu_take_turns_by_the_same_file() -> None:
    result = turns.taken([job("300"), job("60k"), job("1")], BY)
    assert [(one["wait"], one["turns"]) for one in result] == [("yield", str(BY))] * 3


def test_who_has_a_cpu_of_its_own_spins_on_it() -> None:
    alone = [job(), job(cpus="1"), job(cpus="2-3", threads=2)]
    assert turns.taken(alone, BY) == alone
    assert waits(job("2k"), job(cpus="0-1", threads=2)) == ["yield", "yield"], "one is shared"
    assert waits(job(), job(cpus="0-1", threads=1), job(cpus="1")) == ["yield", "yield", "spin"]


def test_what_was_not_to_spin_is_left_as_it_is() -> None:
    assert waits(job(wait="sleep:40us"), job()) == ["sleep:40us", "yield"]
    asked = [job("2k"), {"rate": "1k", "wait": "auto"}]
    assert turns.taken(asked, BY) == asked, "of no CPU in particular"


def test_closed_loops_on_one_cpu_sleep_and_threads_of_one_client_take_turns() -> None:
    assert waits(job(find_max=True), job(find_max=True)) == ["sleep", "sleep"]
    assert waits(job(find_max=True), job(find_max=True, cpus="1")) == ["spin", "spin"]
    assert waits(job(threads=2), job(cpus="1")) == ["yield", "spin"]
