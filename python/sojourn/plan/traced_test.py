from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import spec
from sojourn.plan import Axis, Phase, Verdict, traced
from sojourn.plan.rehearsal import rehearse
from sojourn.plan.setting import Setting
from sojourn.plan.simulated import Simulated, play
from sojourn.spec import MaxRps, Study
from sojourn.testing_questions import PLANS

AXIS = Axis(rps=1e5, lo_rps=1e5, hi_rps=1e5, rule=MaxRps.ACHIEVED_PEAK, runs=1, is_valid=True)


def study(name: str = "breakdown", *sets: str) -> Study:
    return spec.load(name, profile="quick", overrides=sets)


def test_every_setting_is_measured_with_and_without_in_every_block() -> None:
    of = study("breakdown", "run.fractions=[0.5, 0.9]")
    points = [o.point for o in play(of, Simulated().measure, PLANS) if o.point.phase is Phase.TRACE]
    counts = Counter((p.service, p.repeat, *traced.of(p)) for p in points)
    assert set(counts.values()) == {1}
    assert len(counts) == 2 * of.run.repeats * 5 * 2  # services, blocks, settings, with or without
    for with_it, without in zip(points[::2], points[1::2], strict=True):
        assert traced.of(with_it)[0] == traced.of(without)[0]  # neighbours in time
        assert with_it.life == without.life
        assert with_it.offered_rps == without.offered_rps


def test_a_request_alone_has_one_connection() -> None:
    of = study("breakdown", "run.fractions=[0.5]")
    for outcome in play(of, Simulated().measure, PLANS):
        point = outcome.point
        if point.phase is Phase.TRACE:
            is_alone = point.setting.get("connections") == 1
            assert (("connections", 1) in point.overrides) == is_alone
            assert is_alone == (point.fraction == traced.UNLOADED_SHARE)


def test_any_study_may_ask_for_it_and_none_gets_it_unasked() -> None:
    plain = study("latency_vs_load", "run.fractions=[0.3]")
    assert not [o for o in play(plain, Simulated().measure, PLANS) if o.point.phase is Phase.TRACE]
    asked = study("latency_vs_load", "run.fractions=[0.3]", "trace=true")
    points = [
        o.point for o in play(asked, Simulated().measure, PLANS) if o.point.phase is Phase.TRACE
    ]
    assert {(p.setting["neighbour"], traced.is_alone(p.setting)) for p in points} == {
        ("none", False)
    }
    assert {traced.of(p)[1] for p in points} == {True, False}


def test_an_attempt_keeps_its_setting() -> None:
    of = study("breakdown", "run.fractions=[0.5]")
    played = play(of, Simulated(unknown_share=0.3, seed=3).measure, PLANS)
    again = [o.point for o in played if o.point.phase is Phase.TRACE and "~" in o.point.key]
    assert again
    assert all(point.setting["load"] == point.fraction for point in again)


def test_what_disturbs_the_server_is_known_from_the_point_and_from_the_study() -> None:
    of = study("breakdown", "run.fractions=[0.5, 0.9]")
    service = of.service("memcached")
    assert traced.disturbs(of, service)
    loaded = study("latency_vs_load", "run.fractions=[0.3]", "trace=true")
    assert not traced.disturbs(loaded, loaded.service("memcached"))
    points = [o.point for o in play(of, Simulated().measure, PLANS)]
    disturbed = {
        p.setting["neighbour"] if p.phase is Phase.TRACE else p.phase
        for p in points
        if traced.is_disturbed(p)
    }
    assert disturbed == {"spin", "stream"}
    assert [setting.text for setting in traced.settings(of, service)] == [
        "connections=1,load=0.01,neighbour=none",
        "connections=1,load=0.01,neighbour=spin",
        "load=0.5,neighbour=none",
        "load=0.9,neighbour=none",
        "load=0.9,neighbour=stream",
    ]


def test_a_study_with_a_neighbour_has_it_beside_all_traced_points() -> None:
    of = study("breakdown", "run.fractions=[0.5, 0.9]", "neighbour=stream:server")
    assert [setting.text for setting in traced.settings(of, of.service("memcached"))] == [
        "connections=1,load=0.01,neighbour=stream:server",
        "load=0.5,neighbour=stream:server",
        "load=0.9,neighbour=stream:server",
    ]


def test_with_and_without_and_their_settings_come_in_orders_that_differ() -> None:
    of = study("breakdown", "run.fractions=[0.5, 0.9]", "run.repeats=4")
    service = of.service("memcached")
    orders = [traced.order(of, service, n) for n in range(4)]
    assert len(set(map(tuple, orders))) > 1
    firsts = {is_traced for order in orders for _, is_traced in order[::2]}
    assert firsts == {True, False}
    assert traced.order(of, service, 1) == orders[1]  # drawn from the seed


def test_a_point_of_which_no_run_is_believed_is_made_again_unless_it_is_late() -> None:
    of = study("breakdown", "run.fractions=[0.5]", "run.retries=1")
    service, axis = of.service("memcached"), AXIS
    first = traced.next_run(of, service, [], axis, is_late=False)
    assert first is not None
    fraction = float(first.setting["load"])
    assert first.offered_rps == pytest.approx(fraction * axis.rps)
    spoiled = [replace(Simulated().measure(first), verdict=Verdict.UNKNOWN)]
    again = traced.next_run(of, service, spoiled, axis, is_late=False)
    late = traced.next_run(of, service, spoiled, axis, is_late=True)
    assert again is not None
    assert late is not None
    assert again.key == f"{first.key}~1"
    assert late.cell != first.cell


def test_a_traced_point_is_long_enough_for_its_windows_and_so_is_its_twin() -> None:
    asked = study("latency_vs_load", "run.fractions=[0.02, 0.3]", "trace=true")
    played = [o.point for o in play(asked, Simulated().measure, PLANS)]
    points = [p for p in played if p.phase is Phase.TRACE]
    ways = set()
    for point in points:
        assert point.offered_rps is not None
        has_windows = traced.has_windows(point.offered_rps, point.measure_s)
        ways.add(has_windows)
        if not has_windows:  # of every request: several pieces of half a second
            assert point.measure_s == traced.BLAMED_S
            continue
        windows = point.measure_s / traced.SLOT_S
        assert windows >= 10  # the tracer believes five, and some find no requests
        assert windows * traced.WINDOW_S * point.offered_rps >= 2000
    assert ways == {True, False}
    lengths = {p.fraction: p.measure_s for p in points}
    assert len(lengths) == 2
    assert {(p.fraction, p.measure_s) for p in points} == set(lengths.items())  # both alike
    assert {p.measure_s for p in played if p.phase is Phase.SWEEP} == {asked.run.measure_s}


def test_windows_are_chosen_where_they_see_enough_requests() -> None:
    """At the edge, and the choice made for the length is the one made of the point."""
    asked = study("latency_vs_load", "trace=true", "run.measure_s=2")
    loaded = Setting.of(load=0.5, neighbour="none")
    edge_rps = traced.IN_WINDOWS / (traced.WINDOWS * traced.WINDOW_S)
    for offered_rps, expected in ((edge_rps * 1.001, True), (edge_rps * 0.999, False)):
        length_s = traced.length_s(asked, loaded, offered_rps)
        assert length_s == (traced.WINDOWS * traced.SLOT_S if expected else traced.BLAMED_S)
        assert traced.has_windows(offered_rps, length_s) is expected
        requests = traced.in_windows(offered_rps, traced.WINDOWS * traced.SLOT_S)
        assert requests == pytest.approx(2000, rel=0.002)
    # A point ten times as long has ten times as many windows.
    long = study("latency_vs_load", "trace=true", "run.measure_s=160")
    for offered_rps, expected in ((edge_rps * 0.101, True), (edge_rps * 0.099, False)):
        assert traced.length_s(long, loaded, offered_rps) == 160
        assert traced.has_windows(offered_rps, 160) is expected


DUTY = Path(__file__).parents[3] / "crates/trace/src/reconstruct/window/duty.rs"


@pytest.mark.skipif(not DUTY.is_file(), reason="without the tracer's source")
def test_windows_come_as_often_as_the_tracer_makes_them() -> None:
    text = DUTY.read_text(encoding="utf-8")

    def constant(name: str) -> float:
        [value] = re.findall(rf"^const {name}: f64 = ([\d.e]+);", text, re.MULTILINE)
        return float(value)

    shortest_ns, price, cost = constant("SHORTEST_NS"), constant("ASSUMED"), 0.02
    attached_ns = shortest_ns + constant("BESIDE_NS")
    slot_s = 1e-9 * (price * attached_ns + constant("OWN_NS")) / cost
    assert 1e-9 * shortest_ns == pytest.approx(traced.WINDOW_S)
    # With room for attaching that takes half as long again as it expects.
    late_s = 1e-9 * price * 0.5 * constant("BESIDE_NS") / cost
    # Culprits' hooks take as long again to attach, and to sum up: 1.5 and 1.7 s were seen.
    assert 2 * slot_s <= traced.SLOT_S <= 3 * (slot_s + late_s)


def test_longer_points_stay_as_long_as_the_study_says_and_small_loads_have_an_end() -> None:
    long = study("latency_vs_load", "trace=true", "run.measure_s=60")
    loaded = Setting.of(load=0.5, neighbour="none")
    assert traced.length_s(long, loaded, 5e4) == 60
    short = study("latency_vs_load", "trace=true")
    assert traced.length_s(short, loaded, 10.0) == traced.BLAMED_S


def test_who_is_to_blame_is_asked_under_load_for_as_long_as_it_takes() -> None:
    of = study("breakdown", "run.fractions=[0.5, 0.9]")
    for setting in traced.settings(of, of.service("memcached")):
        is_alone = setting.get("connections") == 1
        assert traced.is_blamed(setting) is not is_alone
        length_s = traced.length_s(of, setting, 1e3)
        assert length_s == (of.run.measure_s if is_alone else traced.BLAMED_S)


def test_what_is_promised_holds_the_length_of_traced_points() -> None:
    short, long = study("latency_vs_load"), study("latency_vs_load", "trace=true")
    ahead = rehearse(long, PLANS)
    points = [p for p in ahead.points if p.phase is Phase.TRACE]
    more_s = sum(p.measure_s + p.warmup_s for p in points)
    assert points
    assert ahead.wall_s - rehearse(short, PLANS).wall_s >= more_s
