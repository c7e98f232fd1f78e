from __future__ import annotations

from collections import Counter

from sojourn import spec
from sojourn.plan import Phase, traced
from sojourn.plan.simulated import Simulated, play
from sojourn.spec import Study


def study(name: str = "breakdown", *sets: str) -> Study:
    return spec.load(name, profile="quick", overrides=sets)


def test_every_condition_is_measured_with_and_without_in_every_block() -> None:
    of = study("breakdown", "run.fractions=[0.5, 0.9]")
    points = [o.point for o in play(of, Simulated().measure) if o.point.phase is Phase.TRACE]
    found = Counter((p.service, p.repeat, *traced.of(p)) for p in points)
    assert set(found.values()) == {1}
    assert len(found) == 2 * of.run.repeats * 5 * 2  # services, blocks, conditions, with or without
    for with_it, without in zip(points[::2], points[1::2], strict=True):
        assert traced.of(with_it)[0] == traced.of(without)[0]  # neighbours in time
        assert with_it.life == without.life
        assert with_it.offered_rps == without.offered_rps


def test_a_request_alone_has_one_connection() -> None:
    of = study("breakdown", "run.fractions=[0.5]")
    for outcome in play(of, Simulated().measure):
        point = outcome.point
        if point.phase is Phase.TRACE:
            is_alone = traced.of(point)[0].name in {traced.UNLOADED, traced.CONTEXT_SWITCH}
            assert ("connections", 1) in point.overrides or not is_alone


def test_any_study_may_ask_for_it_and_none_gets_it_unasked() -> None:
    plain = study("latency_vs_load", "run.fractions=[0.3]")
    assert not [o for o in play(plain, Simulated().measure) if o.point.phase is Phase.TRACE]
    asked = study("latency_vs_load", "run.fractions=[0.3]", "trace=true")
    points = [o.point for o in play(asked, Simulated().measure) if o.point.phase is Phase.TRACE]
    assert {traced.of(p)[0].name for p in points} == {traced.LOADED}
    assert {traced.of(p)[1] for p in points} == {True, False}


def test_an_attempt_keeps_its_condition() -> None:
    of = study("breakdown", "run.fractions=[0.5]")
    played = play(of, Simulated(unknown_share=0.3, seed=3).measure)
    again = [o.point for o in played if o.point.phase is Phase.TRACE and "~" in o.point.key]
    assert again
    assert all(traced.of(point)[0].fraction == point.fraction for point in again)
