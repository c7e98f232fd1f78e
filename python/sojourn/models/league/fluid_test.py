"""The machine without requests against the one with them, and a week of it."""

from __future__ import annotations

import dataclasses
import math
import statistics
from functools import partial
from typing import Any

import pytest

from sojourn.controllers.look import Allocation
from sojourn.models.league import play, programs, week
from sojourn.models.league.fluid import Fluid
from sojourn.models.league.machine import Machine
from sojourn.models.league.scenarios import Moment
from sojourn.models.league.sharing import BATCH, WEB, Shape

SHAPE = Shape()
HOUR = week.scenario(10 * week.HOUR_S, 300.0)


def late(machine: play.Simulated, moment: Moment, looks: int) -> float:
    """Share of late requests, without the first 5 s."""
    for _ in range(looks):
        machine.period(moment)
    return sum(machine.late[5:]) / sum(machine.done[5:])


@pytest.mark.parametrize(
    ("load", "job", "quota"),
    [
        (0.5, {"idle": True}, None),  # slow memory
        (0.75, {"quota": 3.0}, None),  # slices, and more than it can serve
        (0.3, {"quota": 6.0}, None),  # slices
        (0.5, {"cores": 4}, None),  # cores of its own
        (0.6, {"cores": 0}, 4.5),  # a limit of the service
        (0.6, {"cores": 0}, 2.0),  # half of what it needs
        (0.4, {"quota": 6.0}, 5.0),  # a limit, and slices in which it uses no CPU time
    ],
)
def test_late_requests_are_as_many_as_where_each_is_simulated(
    load: float, job: dict[str, Any], quota: float | None
) -> None:
    moment = Moment(load=load)
    machines: tuple[play.Simulated, ...] = (Machine(SHAPE, 1), Fluid(SHAPE, 1))
    shares: list[float] = []
    jobs: list[float] = []
    tails: list[float] = []
    for machine in machines:
        machine.now[BATCH], machine.now[WEB] = Allocation(**job), Allocation(quota=quota)
        shares.append(late(machine, moment, 250))
        jobs.append(machine.job_s)
        tails.append(machine.period(moment).groups[WEB].windows[-1].p99_ns or 0.0)
    one, other = shares
    # Requests of a busy moment are late together: a third of the share, and 0.2 %.
    assert abs(one - other) < one / 3 + 0.002
    assert tails[1] == pytest.approx(tails[0], rel=0.2 if quota or one > 0.1 else 0.08)
    assert jobs[1] == pytest.approx(jobs[0], rel=0.06, abs=0.1)


@pytest.mark.parametrize("load", [0.4, 0.5])
def test_a_window_has_a_late_p99_where_more_than_one_in_a_hundred_is_late(load: float) -> None:
    machine = Fluid(SHAPE, 3)
    seen: set[bool] = set()
    machine.now[BATCH] = Allocation(quota=4.0)
    for _ in range(200):
        for window in machine.period(Moment(load=load)).groups[WEB].windows:
            assert window.p99_ns is not None
            assert window.above is not None
            is_late = window.above > window.n - math.ceil(0.99 * window.n)
            assert (window.p99_ns > SHAPE.target_s * 1e9) == is_late
            seen.add(is_late)
            assert (window.lo_ns or 0.0) <= window.p99_ns <= (window.hi_ns or math.inf)
    assert seen == {False, True}


def test_longer_windows_have_what_the_short_ones_had() -> None:
    machine = Fluid(SHAPE, 1)
    looks = [machine.period(Moment(load=0.7)).groups[WEB].windows for _ in range(160)]
    short = [windows[0] for windows in looks]
    for window in looks[-1][1:]:
        count = window.length_ms // 100
        assert window.n == sum(one.n for one in short[-count:])
        assert window.above == sum(one.above or 0 for one in short[-count:])
    assert [w.length_ms for w in looks[8]] == [100]


def test_a_look_a_second_has_ten_times_the_requests_and_a_window_of_100_ms() -> None:
    machine = Fluid(SHAPE, 1, every_s=1.0)
    for _ in range(20):
        look = machine.period(Moment(load=0.6))
    lengths = {window.length_ms: window.n for window in look.groups[WEB].windows}
    assert list(lengths) == [100, 1000, 15_000]
    assert lengths[1000] == pytest.approx(1020, abs=5 * math.sqrt(1020))
    assert lengths[100] == pytest.approx(102, abs=5 * math.sqrt(102))
    assert len(machine.done) == 20


def test_what_came_while_it_was_overloaded_or_down_waits() -> None:
    machine = Fluid(SHAPE, 1)
    machine.now[BATCH] = Allocation(cores=0)
    for moment in [Moment(load=2.0)] * 10 + [Moment(load=0.1)] * 20:
        machine.period(moment)
    assert machine.late[0] > 0.5 * machine.done[0]
    assert machine.late[2] == 0
    machine.period(Moment(load=0.5, down_s=0.1))
    assert machine.late[3] > 0.5 * machine.done[3]


def test_who_waits_for_a_slice_takes_no_time_of_the_limit() -> None:
    # 680 requests/s of 6 ms take 4.1 CPUs; with the waits for the job's slices it would be 4.6.
    moment, shares = Moment(load=0.4), []
    for made in (Machine, Fluid):
        each = []
        for seed in (1, 2, 3):
            machine = made(SHAPE, seed)
            machine.now[BATCH], machine.now[WEB] = Allocation(quota=6.0), Allocation(quota=4.5)
            each.append(late(machine, moment, 600))
        shares.append(statistics.mean(each))
    assert 0.01 < shares[0] < 0.06
    assert shares[1] == pytest.approx(shares[0], rel=0.5)


def test_requests_wait_until_a_service_that_is_down_is_up_again() -> None:
    waits = []
    for machine in (Machine(SHAPE, 1), Fluid(SHAPE, 1)):
        machine.now[BATCH] = Allocation(cores=0)
        look = machine.period(Moment(load=0.3, down_s=2.0))
        waits.append(look.groups[WEB].windows[0].p99_ns or 0.0)
    assert min(waits) > 1.9e9
    assert waits[1] == pytest.approx(waits[0], rel=0.1)


def test_a_service_under_a_limit_uses_what_it_serves_and_no_more() -> None:
    for load, quota, used in ((0.6, 2.0, 2.0), (0.6, 6.0, 4.08)):
        for machine in (Machine(SHAPE, 1), Fluid(SHAPE, 1)):
            machine.now[BATCH], machine.now[WEB] = Allocation(cores=0), Allocation(quota=quota)
            looks = [machine.period(Moment(load=load)).groups[WEB] for _ in range(200)]
            cpus = [look.signal("cpu") or 0.0 for look in looks[10:]]
            assert statistics.mean(cpus) == pytest.approx(used, rel=0.03)
            if used == quota:
                assert max(cpus) < quota + 1e-6


def test_a_long_look_has_late_seconds_as_short_ones_have() -> None:
    """The best fixed setting is searched by looks of 10 s, and a rule of one is judged by 1 s."""
    part = week.scenario(10 * week.HOUR_S, 1000.0)
    shape = dataclasses.replace(week.SHAPE, target_s=0.008)
    rows = [
        play.play(
            "static", part, 1, {"cores": 24.0}, shape=shape, machine=partial(Fluid, every_s=s)
        )
        for s in (1.0, 10.0)
    ]
    assert rows[0].violated_s == rows[1].violated_s == 1000 - play.WARM_S
    assert rows[1].late == pytest.approx(rows[0].late, rel=0.02)


def test_arrivals_are_the_same_for_every_controller_and_rows_repeat() -> None:
    one, other = Fluid(SHAPE, 7), Fluid(SHAPE, 7)
    other.now[BATCH] = Allocation(cores=0)
    for _ in range(30):
        left, right = one.period(Moment(load=0.9)), other.period(Moment(load=0.9))
        assert left.groups[WEB].windows[0].n == right.groups[WEB].windows[0].n
    first = week.row("posterior", 1, HOUR)
    assert first == week.row("posterior", 1, HOUR)
    assert first != week.row("posterior", 2, HOUR)
    assert first.kept < first.alone


def test_the_week_has_nights_a_weekend_and_crowds() -> None:
    hours = [week.load(h * week.HOUR_S) for h in range(168)]
    assert (hours[4] < 0.25, hours[16] > 0.7) == (True, True)
    assert max(hours[5 * 24 :]) < 0.85 * max(hours[: 5 * 24])
    begin_s = week.CROWDS_S[0]
    assert week.load(begin_s) - week.load(begin_s - 1) == pytest.approx(week.CROWD, abs=0.05)
    assert all(0 < one <= week.MOST for one in hours)


def test_programs_come_and_go_and_count_by_their_threads() -> None:
    jobs = programs.jobs(week.WEEK_S)
    assert {job.program for job in jobs} == {*programs.memory()}
    two = [
        programs.Job(program="lbm", threads=12, begin_s=0, end_s=20),
        programs.Job(program="bzip2", threads=4, begin_s=10, end_s=20),
    ]
    mix, lbm = programs.Mix(two), programs.memory()["lbm"]
    assert [mix.wants(t) for t in (0, 15, 25)] == pytest.approx([0.5, 2 / 3, 0])
    assert [mix.memory(t) for t in (0, 15, 25)] == pytest.approx([lbm, 0.75 * lbm, 0])
    crowded = programs.Mix([dataclasses.replace(two[0], threads=30)])
    assert crowded.wants(1) == 1


def test_the_grid_of_a_larger_machine_is_in_proportion() -> None:
    assert play.grid(8) == play.GRID
    assert [one["quota"] for one in play.grid(24) if "quota" in one][:2] == [18, 12]
    assert [one["cores"] for one in play.grid(24) if "cores" in one] == [0, 3, 6, 9, 12, 15]
