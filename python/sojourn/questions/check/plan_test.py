"""Checks: every load once per repeat, in orders that differ, as long as dependence asks for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn import spec
from sojourn.plan import Outcome, Phase, Point, Verdict
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import play
from sojourn.questions import PLANS
from sojourn.questions.check import asks
from sojourn.spec import Study


def study(**rho: object) -> Study:
    of = spec.load("selfcheck", profile="quick")
    return of.model_copy(update={"run": of.run.model_copy(update={"check_repeats": 3, **rho})})


def test_the_length_goes_with_the_relaxation_time_within_its_limits() -> None:
    """(0.2 / (1 − ρ))²: 1 at 80 %, 4 from 90 % up, and never less than three quarters."""
    of = study(check_s=10.0)
    lengths = {
        (o.point.service, o.point.fraction): o.point.measure_s for o in play(of, imagine, PLANS)
    }
    wanted = {0.5: 7.5, 0.7: 7.5, 0.8: 10.0, 0.9: 40.0, 0.95: 40.0}
    seen = set()
    for (service, rho), length in lengths.items():
        if rho is None:
            assert length == of.run.measure_s, service
        elif rho in wanted:
            seen.add(rho)
            assert length == pytest.approx(wanted[rho], abs=0.06), rho
    assert {0.5, 0.9} <= seen


def test_every_load_is_made_once_per_repeat_in_orders_that_differ() -> None:
    of = study()
    points = [o.point for o in play(of, imagine, PLANS)]
    label = next(s.label for s in of.services if (c := asks.of(s)) and c.system != "null")
    blocks = [
        [p.offered_rps for p in points if (p.service, p.repeat) == (label, n)] for n in range(3)
    ]
    assert blocks[0]
    assert all(sorted(block) == sorted(blocks[0]) for block in blocks)  # type: ignore[type-var]
    assert len(set(map(tuple, blocks))) > 1


def test_a_check_that_cannot_be_believed_is_made_again_as_often_as_the_study_says() -> None:
    of = study(retries=2, check_repeats=1)
    first = play(of, imagine, PLANS, stop_after=1)[0].point

    def lost(point: Point) -> Outcome:
        outcome = imagine(point)
        return replace(outcome, verdict=Verdict.UNKNOWN) if point.cell == first.cell else outcome

    keys = [o.point.key for o in play(of, lost, PLANS) if o.point.cell == first.cell]
    assert keys == [first.key, f"{first.key}~1", f"{first.key}~2"]


def test_check_points_follow_rho_and_last_longer_near_saturation() -> None:
    of = study()
    points = [o.point for o in play(of, imagine, PLANS)]
    assert {p.phase for p in points} == {Phase.CHECK}
    for service in of.services:
        check = asks.of(service)
        if check is None or check.system == "null":
            continue
        own = {p.fraction: p for p in points if p.service == service.label}
        assert set(own) == set(check.rho)
        for rho, point in own.items():
            assert rho is not None
            load = rho * check.servers / check.service_s
            assert point.offered_rps == pytest.approx(load, rel=1e-3)
        assert own[0.9].measure_s > own[0.5].measure_s
