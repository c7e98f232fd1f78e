"""Plans of several combinations: each is complete, blocks hold all of them, orders are drawn."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import replace

import pytest

from sojourn import spec
from sojourn.errors import SpecFault
from sojourn.plan import Phase, Planner, Point, design, next_point, progress
from sojourn.plan.points import Outcome, Verdict
from sojourn.plan.rehearsal import imagine, rehearse
from sojourn.plan.simulated import Simulated, play
from sojourn.spec import Study
from sojourn.testing_questions import PLANS

THREADS, CONNECTIONS = "services.memcached.params.threads", "services.memcached.load.connections"
PLACE = "services.memcached.place"
LOADS = (0.3, 0.5, 0.7)


def study(*varied: str, sets: tuple[str, ...] = (), name: str = "max_load_memcached") -> Study:
    few = 'services.memcached.measure=["sweep"]' if name == "max_load_memcached" else "seed=3"
    return spec.load(
        name,
        profile="quick",
        varied=[f"load={','.join(map(str, LOADS))}", *varied],
        overrides=[few, "run.repeats=4", "aa=false", *sets],
    )


def sweep(played: list[Outcome]) -> list[Point]:
    return [o.point for o in played if o.point.phase is Phase.SWEEP]


def test_each_combination_is_measured_at_each_load_in_each_block() -> None:
    asked = study(f"{THREADS}=1,2,4", f"{CONNECTIONS}=16,64")
    points = sweep(play(asked, imagine, PLANS))
    cells = Counter(
        (p.repeat, p.setting["load"], p.setting[THREADS], p.setting[CONNECTIONS]) for p in points
    )
    wanted = itertools.product(range(4), LOADS, (1, 2, 4), (16, 64))
    assert cells == dict.fromkeys(wanted, 1)
    assert [p.repeat for p in points] == sorted(p.repeat for p in points)
    assert len({p.key for p in points}) == len({p.seed for p in points}) == len(points)


def test_a_level_that_takes_a_restart_has_starts_of_its_own_each_used_at_a_stretch() -> None:
    asked = study(f"{THREADS}=1,2,4", f"{CONNECTIONS}=16,64")
    played = play(asked, imagine, PLANS)
    stretches = [life for life, _ in itertools.groupby(o.point.life for o in played)]
    assert len(stretches) == len(set(stretches))
    for life in stretches:
        of = [o.point for o in played if o.point.life == life]
        assert len({(p.setting[THREADS], p.setting[CONNECTIONS]) for p in of}) == 1


def test_orders_of_combinations_and_of_loads_are_drawn_for_each_block() -> None:
    """Of 24 orders of 4 combinations in 4 blocks, and of 6 of 3 loads in 16 lives."""
    points = sweep(play(study(f"{THREADS}=1,2", f"{CONNECTIONS}=16,64"), imagine, PLANS))
    plots: dict[int, list[tuple[object, object]]] = defaultdict(list)
    loads: dict[str, list[object]] = defaultdict(list)
    for point in points:
        cell = (point.setting[THREADS], point.setting[CONNECTIONS])
        if cell not in plots[point.repeat]:
            plots[point.repeat].append(cell)
        loads[point.life].append(point.setting["load"])
    assert len({tuple(order) for order in plots.values()}) >= 3
    assert len({tuple(order) for order in loads.values()}) >= 4
    same = [
        p.key for p in sweep(play(study(f"{THREADS}=1,2", f"{CONNECTIONS}=16,64"), imagine, PLANS))
    ]
    assert same == [p.key for p in points]
    other = study(f"{THREADS}=1,2", f"{CONNECTIONS}=16,64", sets=("seed=9",))
    assert same != [p.key for p in sweep(play(other, imagine, PLANS))]


def test_a_level_that_takes_no_restart_is_shuffled_within_a_life() -> None:
    """`trace` is a key of the study, not of the service: its levels share starts."""
    points = sweep(play(study("trace=true,false"), imagine, PLANS))
    lives = [life for life, _ in itertools.groupby(p.life for p in points)]
    assert len(lives) == len(set(lives)) == 4
    levels = ["".join("yn"[not p.setting["trace"]] for p in points if p.life == x) for x in lives]
    assert all(len(text) == 2 * len(LOADS) for text in levels)
    assert any(text not in {"yyynnn", "nnnyyy"} for text in levels)


@pytest.mark.parametrize("name", ["max_load_memcached", "latency_vs_load"])
def test_a_plan_goes_on_where_it_stopped(name: str) -> None:
    asked = study(f"{THREADS}=1,2", name=name)
    served = Simulated(unknown_share=0.2, restart_sd=0.02)
    played = play(asked, served.measure, PLANS)
    planner = Planner(asked, PLANS)
    for count in range(0, len(played), 7):
        assert next_point(asked, played[:count], PLANS) == played[count].point
        assert planner.next(played[:count]) == played[count].point
    assert next_point(asked, played, PLANS) is None


def test_another_attempt_is_numbered_within_its_combination() -> None:
    asked = study(f"{THREADS}=1,2", sets=("run.retries=2", "run.budget_s=2000"))

    def spoiled(point: Point) -> Outcome:
        is_bad = point.setting[THREADS] == 2 and point.phase is Phase.SWEEP
        return replace(imagine(point), verdict=Verdict.UNKNOWN) if is_bad else imagine(point)

    points = sweep(play(asked, spoiled, PLANS))
    tries = Counter((p.setting[THREADS], p.key.partition("~")[2]) for p in points)
    each = len(LOADS) * 4
    assert tries == {(1, ""): each, (2, ""): each, (2, "1"): each, (2, "2"): each}


def test_a_study_without_factors_has_the_points_it_had() -> None:
    points = [o.point for o in play(study(), imagine, PLANS)]
    assert points[0].key == "memcached/peak/b0"
    assert {p.life for p in points if p.phase is Phase.SWEEP} == {
        f"memcached/sweep/{block}" for block in range(4)
    }
    assert all(set(p.setting) <= {"load", "rate"} for p in points)


def test_services_feel_their_own_factors_alone() -> None:
    points = [
        o.point for o in play(study(f"{THREADS}=1,2", name="latency_vs_load"), imagine, PLANS)
    ]
    assert all((THREADS in p.setting) == (p.service == "memcached") for p in points)
    peaks = Counter(p.service for p in points if p.phase is Phase.PEAK)
    assert peaks == {"memcached": 2, "nginx": 1}


def test_the_study_of_a_point_is_that_of_its_levels() -> None:
    asked = study(f"{THREADS}=1,2")
    for outcome in play(asked, imagine, PLANS):
        under = design.study_of(asked, outcome.point)
        assert under.service("memcached").params["threads"] == outcome.point.setting[THREADS]
        assert not under.factors


def test_what_lasts_lasts_longer_for_a_service_that_says_so_and_for_no_other() -> None:
    usual, longer = study(), study(sets=("services.memcached.stretch=4",))
    before, after = (next(iter(play(asked, imagine, PLANS))).point for asked in (usual, longer))
    assert (after.measure_s, after.warmup_s) == (4 * before.measure_s, 4 * before.warmup_s)
    assert [4 * p.measure_s for p in sweep(play(usual, imagine, PLANS))] == [
        p.measure_s for p in sweep(play(longer, imagine, PLANS))
    ]
    many = spec.load("tailbench", profile="quick")
    for label, times in (("sphinx", 20), ("silo", 1)):
        own = [run for name, _, run in design.studies(many) if name == label]
        assert {one.run.budget_s for one in own} == {times * many.run.budget_s}
        assert {one.run.search.budget_s for one in own} == {times * many.run.search.budget_s}
    with pytest.raises(SpecFault, match="stretch"):
        study(sets=("services.memcached.stretch=0.5",))


def test_each_combination_searches_for_its_own_highest_load() -> None:
    """Twice the threads carry twice the load; each search has the time of one."""
    asked = study(f"{THREADS}=1,2", name="latency_vs_load")
    alone = study(name="latency_vs_load")
    one, two = rehearse(alone, PLANS), rehearse(asked, PLANS)
    assert len(two.walls_s) == len(two.points)
    own = [w for p, w in zip(two.points, two.walls_s, strict=True) if p.service == "memcached"]
    once = [w for p, w in zip(one.points, one.walls_s, strict=True) if p.service == "memcached"]
    assert sum(own) == pytest.approx(2 * sum(once), rel=0.1)
    both = {1: Simulated(capacity_rps=5e4), 2: Simulated(capacity_rps=1e5)}

    def measure(point: Point) -> Outcome:
        return both[int(point.setting.get(THREADS, 1))].measure(point)

    groups = design.groups(asked, "memcached", play(asked, measure, PLANS))
    results = {}
    for group in groups:
        state = progress(group.study, group.study.service("memcached"), group.outcomes, PLANS)
        stored = PLANS.search_of(state)
        assert stored is not None
        results[group.levels[THREADS]] = stored.estimate_rps
        lo, hi = stored.interval_rps or (0, 0)
        assert lo <= both[int(group.levels[THREADS])].border_rps(1e6, 0.99) <= hi
    assert results[2] == pytest.approx(2 * (results[1] or 0), rel=0.2)


def test_beside_a_neighbour_a_load_is_the_same_rate_as_alone() -> None:
    """The load axis and a measured bound are those of the same combination without a neighbour."""

    def measured(point: Point) -> Outcome:
        beside, threads = point.setting["neighbour"] != "none", int(point.setting[THREADS])
        return imagine(point, capacity_rps=1e5 * threads / (4 if beside else 1))

    asked = study("neighbour=spin,none", f"{THREADS}=1,2", sets=("run.peak_repeats=2",))
    played = play(asked, measured, PLANS)
    axis = [o.point for o in played if o.point.phase is Phase.PEAK]
    assert {p.setting["neighbour"] for p in axis} == {"none"}
    rates = defaultdict(set)
    for point in sweep(played):
        assert point.offered_rps is not None
        rates[point.setting[THREADS], point.setting["load"]].add(point.offered_rps)
    assert all(len(outcome) == 1 for outcome in rates.values())
    assert rates[2, 0.7].pop() == pytest.approx(2 * rates[1, 0.7].pop(), rel=1e-3)
    assert len(sweep(played)) == 4 * len(LOADS) * 2 * 2
    beside = design.groups(asked, "memcached", played)[0]
    assert (beside.levels["neighbour"], beside.has_axis) == ("spin", False)
    own = beside.study.service("memcached")
    result = progress(beside.study, own, beside.outcomes, PLANS)
    assert result.next is None
    assert result.axis is not None  # a report of this combination alone has it, too
    assert result.axis.rps == pytest.approx(1e5)


def test_a_bound_that_is_measured_under_some_levels_holds_under_all() -> None:
    """P8: five service times of one thread, for any number of them; each has its own axis."""

    def measured(point: Point) -> Outcome:
        return imagine(point, capacity_rps=1e4 * int(point.setting[THREADS]))

    one = f'services.memcached.qos={{q=0.95, rule="service_time", under={{"{THREADS}"=1}}}}'
    asked = study(f"{THREADS}=2,1", sets=("run.peak_repeats=2", one))
    played = play(asked, measured, PLANS)
    axis = [o.point for o in played if o.point.phase is Phase.PEAK]
    assert Counter(p.setting[THREADS] for p in axis) == {1: 3, 2: 2}
    for point in sweep(played):
        assert dict(point.overrides)["qos_bound"] == "500000ns"  # 5 x 1 / (10 k requests/s)
    for group in design.groups(asked, "memcached", played):
        result = progress(group.study, group.study.service("memcached"), group.outcomes, PLANS)
        assert result.next is None
        assert result.axis is not None
        assert result.axis.rps == pytest.approx(1e4 * int(group.levels[THREADS]))
    assert [g.has_base for g in design.groups(asked, "memcached", played)] == [False, True]


@pytest.mark.parametrize(("axis", "peaks"), [("local", {"local"}), ("own", {"local", "runc"})])
def test_places_are_loaded_at_shares_of_local_where_the_study_says_so(
    axis: str, peaks: set[str]
) -> None:
    def measured(point: Point) -> Outcome:
        return imagine(point, capacity_rps=1e5 if point.setting[PLACE] == "local" else 5e4)

    asked = study(f"{PLACE}=runc,local", sets=(f'services.memcached.axis="{axis}"',))
    played = play(asked, measured, PLANS)
    assert {o.point.setting[PLACE] for o in played if o.point.phase is Phase.PEAK} == peaks
    rates = defaultdict(set)
    for point in sweep(played):
        rates[point.setting["load"]].add(point.offered_rps)
    assert all(len(result) == len(peaks) for result in rates.values())


def test_where_no_one_is_measured_alone_each_neighbour_has_its_own_load_axis() -> None:
    played = play(study("neighbour=spin,stream"), imagine, PLANS)
    axis = [o.point.setting["neighbour"] for o in played if o.point.phase is Phase.PEAK]
    assert {*axis} == {"spin", "stream"}


def test_a_neighbour_that_is_varied_is_in_traced_points_once() -> None:
    asked = study("neighbour=none,spin", sets=("trace=true",))
    played = play(asked, imagine, PLANS)
    traced = Counter(
        (o.point.setting["neighbour"], o.point.setting["load"], o.point.setting["tracer"])
        for o in played
        if o.point.phase is Phase.TRACE
    )
    assert traced == dict.fromkeys(itertools.product(("none", "spin"), LOADS, (True, False)), 4)
    assert {design.study_of(asked, o.point).neighbour for o in played} == {"none", "spin"}
    with pytest.raises(SpecFault, match="changes nothing here"):
        study("neighbour=none,spin", sets=('services.memcached.measure=["breakdown"]',))
