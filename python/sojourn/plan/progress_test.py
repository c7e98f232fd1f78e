"""How far one service has come: what is asked first, what time is kept, and what stops all else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.plan import Outcome, Verdict, older
from sojourn.plan.next import progress
from sojourn.plan.points import Phase
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import study
from sojourn.testing_questions import PLANS

CAPACITY = 100e3


def played(of: tuple[str, ...], *, until: Phase) -> list[Outcome]:
    """Outcomes of memcached as the plan makes them, up to the first of a phase."""
    made: list[Outcome] = []
    asked = study(*of)
    while point := progress(asked, asked.service("memcached"), made, PLANS).next:
        if point.phase is until:
            break
        made.append(imagine(point, capacity_rps=CAPACITY))
    return made


@pytest.mark.parametrize(
    ("measure", "phase", "is_late"),
    [
        ("['sweep', 'max_load']", Phase.SWEEP, True),
        ("['sweep']", Phase.SWEEP, False),
        ("['sweep', 'max_load', 'breakdown']", Phase.TRACE, False),
    ],
)
def test_the_time_that_is_kept_is_that_of_questions_still_to_come(
    *, measure: str, phase: Phase, is_late: bool
) -> None:
    of = (f"services.memcached.measure={measure}",)
    made = played(of, until=phase)
    asked = study(*of, f"run.budget_s={sum(o.wall_s for o in made) + 1.0}")
    now = progress(asked, asked.service("memcached"), made, PLANS)
    assert now.next is not None
    assert now.next.phase is phase
    assert now.is_late is is_late


def test_without_a_bound_nothing_is_searched_and_the_reason_is_the_run_s() -> None:
    of = study(
        "services.memcached.qos.bound=''",
        "services.memcached.qos.rule=low_load",
        "services.memcached.qos.q=0.95",
        "services.memcached.measure=['sweep']",
    )
    service = of.service("memcached")
    made: list[Outcome] = []
    while point := progress(of, service, made, PLANS).next:
        outcome = imagine(point, capacity_rps=CAPACITY)
        is_base = point.offered_rps is not None
        made.append(
            replace(outcome, verdict=Verdict.UNKNOWN, reasons=("late",)) if is_base else outcome
        )
    end = progress(of, service, made, PLANS)
    assert end.reasons == ("the run at low load is not valid: there is no QoS bound: late",)
    assert all(o.point.phase is Phase.PEAK for o in made)


@pytest.mark.parametrize(
    ("key", "phase", "fraction", "rate", "text"),
    [
        ("memcached/sweep/b0/0.5", Phase.SWEEP, 0.5, 50e3, "load=0.5"),
        ("memcached/peak/b0/base", Phase.PEAK, 0.1, 10e3, "load=0.1"),
        ("memcached/peak/drop/b0", Phase.PEAK, 0.1, 10e3, "rate=10000"),
        ("memcached/search/b0", Phase.SEARCH, 0.4, 40e3, "rate=40000"),
        ("memcached/sweep/b0", Phase.SWEEP, None, 50e3, "rate=50000"),
    ],
)
def test_points_of_version_1_are_measured_under_a_load_or_a_rate(
    key: str, phase: Phase, fraction: float | None, rate: float, text: str
) -> None:
    assert older.setting_of(key, phase, fraction, rate).text == text
