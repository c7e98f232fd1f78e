"""Which measurements that failed are made again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn import spec
from sojourn.plan import Outcome, Phase, Verdict, make
from sojourn.plan.failures import without_numbers
from sojourn.plan.points import Cell
from sojourn.plan.rehearsal import imagine

STUDY = spec.load("max_load_memcached", profile="quick")


def outcome(state: str, cell: int = 0, attempt: int = 0, *, beside: int = 0) -> Outcome:
    """One that holds ("ok"), has numbers that a self-check refused ("doubt"), or none ("")."""
    point = make.point(STUDY, Cell("m", Phase.SWEEP, cell), attempt, measure_s=1, offered_rps=9.0)
    others = (
        make.point(STUDY, Cell(f"n{n}", Phase.SWEEP, cell), measure_s=1) for n in range(beside)
    )
    result = imagine(replace(point, beside=tuple(others)))
    if state == "doubt":
        return replace(result, verdict=Verdict.UNKNOWN, reasons=("the client was late",))
    if state == "":
        return replace(result, verdict=Verdict.UNKNOWN, requests=0, achieved_rps=0.0)
    return result


@pytest.mark.parametrize(
    ("states", "wanted"),
    [
        (("ok",), ()),
        (("doubt",), ()),
        (("",), (0,)),
        (("", "ok"), ()),
        (("", "doubt"), ()),
        (("doubt", ""), (1,)),
        (("", "", ""), (2,)),
    ],
)
def test_of_each_cell_it_is_the_last_attempt_if_it_has_no_numbers(
    states: tuple[str, ...], wanted: tuple[int, ...]
) -> None:
    every = [outcome(state, attempt=attempt) for attempt, state in enumerate(states)]
    assert without_numbers(every) == tuple((every[at],) for at in wanted)
    other = outcome("ok", cell=1)
    assert without_numbers([*every, other]) == without_numbers(every), "nor do other cells"


def test_members_of_one_measurement_are_measured_again_together_or_not_at_all() -> None:
    first = outcome("", beside=1)
    member = replace(first, point=first.point.beside[0])
    works = replace(member, requests=5, achieved_rps=5.0)
    assert without_numbers([first, member]) == ((first, member),)
    assert without_numbers([first, works]) == ()
    assert without_numbers([first]) == (), "the lab was killed between the two"
