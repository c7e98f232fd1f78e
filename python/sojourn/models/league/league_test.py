"""The league: closed forms, what noise does to PARTIES, rows that repeat."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from sojourn.controllers.look import Allocation, Group, Look, Window
from sojourn.models.league import play, stationary
from sojourn.models.league.fluid import Fluid
from sojourn.models.league.limit import Limit
from sojourn.models.league.machine import Machine
from sojourn.models.league.scenarios import SCENARIOS, Moment
from sojourn.models.league.sharing import BATCH, WEB, Shape

SHAPE = Shape()
QUIET = Moment(load=500.0 / SHAPE.peak_rps)
SHORT = dataclasses.replace(
    SCENARIOS["steps"], length_s=40.0, load=lambda t: 0.8 if t > 30 else 0.25
)


def erlang_c(servers: int, offered: float) -> float:
    """Probability that a request waits in M/M/n."""
    inverse = sum(
        math.factorial(servers) / math.factorial(k) / offered ** (servers - k)
        for k in range(servers)
    )
    return 1 / (1 + (1 - offered / servers) * inverse)


def mean_s(machine: Machine) -> float:
    return float(np.concatenate(list(machine._times)).mean())


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_without_the_job_it_is_a_queue_of_theory(load: float) -> None:
    machine = Machine(SHAPE, 1)
    machine.now[BATCH] = Allocation(cores=0, quota=0.0)
    rate = load * SHAPE.cores / SHAPE.service_s
    moment = Moment(load=rate / SHAPE.peak_rps)
    means = []
    for _ in range(6):  # of the last 15 s each
        for _ in range(150):
            machine.period(moment)
        means.append(mean_s(machine))
    offered = rate * SHAPE.service_s
    waits = erlang_c(SHAPE.cores, offered) / (SHAPE.cores / SHAPE.service_s - rate)
    spread = float(np.std(means, ddof=1)) / math.sqrt(len(means))
    # Five standard errors, by the differences of six parts.
    assert abs(np.mean(means) - SHAPE.service_s - waits) < 5 * spread


@pytest.mark.parametrize("quota", [2.0, 3.0])
def test_a_service_that_wants_more_than_its_limit_falls_behind(quota: float) -> None:
    # 1020 requests/s of 4 ms take 4.08 CPUs. What comes after 10 s waits for what is left of it.
    # Five standard deviations of what 10,200 exponential requests take.
    wait_s, spread_s = (4.08 / quota - 1) * 10, 0.004 * math.sqrt(2 * 10_200) / quota
    machine = Machine(SHAPE, 1)
    machine.now[BATCH], machine.now[WEB] = Allocation(cores=0), Allocation(quota=quota)
    looks = [machine.period(Moment(load=0.6)).groups[WEB] for _ in range(100)]
    assert float(np.median(machine._times[-1])) == pytest.approx(wait_s, abs=5 * spread_s)
    assert all(look.signal("throttled") == 1 for look in looks[2:])
    assert max(look.signal("cpu") or 0.0 for look in looks) <= quota + 1e-9
    machine.now[WEB] = Allocation()
    machine.period(QUIET)


def test_a_request_goes_on_in_the_next_period_where_its_limit_is_used_up() -> None:
    limit = Limit()
    # 10 ms a period of 100 ms: 6 ms, then 4 of 6 ms, then the rest of it beside what waited.
    ends = [limit.end_s(start_s, 0.006, 0.1) for start_s in (0.0, 0.01, 0.02, 0.25)]
    assert ends == pytest.approx([0.006, 0.102, 0.106, 0.256])
    ran_s, stopped = zip(*(limit.period(begin_s) for begin_s in (0.0, 0.1, 0.2)), strict=True)
    assert ran_s == pytest.approx((0.010, 0.008, 0.006))
    assert stopped == (1, 0, 0)
    assert Limit().end_s(0.0, 0.0025, 0.0) == pytest.approx(0.2005)  # the kernel's least: 1 ms


def test_the_use_of_a_service_that_is_slow_for_a_while_is_that_of_then() -> None:
    row = play.play("null", dataclasses.replace(SCENARIOS["restart"], length_s=200.0), 1)
    # Half of the peak: 3.4 of 8 CPUs; from 150 s on it takes twice as much for 12 s.
    assert row.busy == pytest.approx(0.425 * (1 + 12 / 200), abs=0.001)


def test_an_idle_job_has_what_the_service_leaves_and_delays_no_one() -> None:
    machine = Machine(SHAPE, 1)
    machine.now[BATCH] = Allocation(idle=True)
    looks = [machine.period(QUIET) for _ in range(100)]
    assert all(look.groups[WEB].signal("runq_delay_ms") == 0 for look in looks)
    used = [(look.groups[WEB].signal("cpu") or 0) + (look.groups[BATCH].signal("cpu") or 0)
            for look in looks]  # fmt: skip
    assert max(used) <= SHAPE.cores + 1e-9
    machine.now[BATCH] = Allocation(quota=4.0)
    delays = [machine.period(QUIET).groups[WEB].signal("runq_delay_ms") or 0 for _ in range(100)]
    # Half of the cores are held, for a wait of 1.5 ms on average: 5 sigma of 5000 requests.
    assert np.mean(delays) == pytest.approx(0.75, abs=0.07)


def test_parties_own_condition_to_take_away_holds_on_noise() -> None:
    # No one is beside the service and nothing happens; true slack 10 and 15 %: 25 and 48 % of
    # windows at 1000 requests/s, hardly any at 10 000.
    def share(rate_rps: float, slack: float, seconds: float) -> float:
        looks = stationary.looks(rate_rps, slack, seconds, 1, lengths=(1,))
        return stationary.acts("parties", looks)

    assert 0.20 < share(1000, 0.10, 200) < 0.30
    assert 0.42 < share(1000, 0.15, 200) < 0.54
    assert share(10_000, 0.15, 20) < 0.05


@pytest.mark.parametrize(("rate_rps", "seconds"), [(1000.0, 200.0), (50_000.0, 16.0)])
def test_ours_rests_where_nothing_happens(rate_rps: float, seconds: float) -> None:
    assert (
        stationary.actuations_per_h("posterior", stationary.looks(rate_rps, 0.10, seconds, 1)) == 0
    )


def test_counts_are_those_of_the_drawn_latencies() -> None:
    drawn = [look.groups["web"].windows[0] for look in stationary.looks(2000, 0.1, 60, 1)]
    counted = [look.groups["web"].windows[0] for look in stationary.counts(2000, 0.1, 60, 2)]
    assert [w.n for w in drawn] == [w.n for w in counted]
    mean = 200 * 0.01 ** (1 / 0.9)  # late of 200 in each of 600 windows
    sigma = math.sqrt(mean / 600)
    for result in (drawn, counted):
        assert abs(sum(w.above or 0 for w in result) / 600 - mean) < 5 * sigma
    one = list(stationary.counts(1000, 0.1, 20, 1))
    long = one[180].groups["web"].windows[-1]
    short = [look.groups["web"].windows[0].above or 0 for look in one[31:181]]
    assert (long.length_ms, long.n, long.above) == (15_000, 15_000, sum(short))


def test_equal_seeds_give_equal_rows_and_others_do_not() -> None:
    first = play.play("posterior", SHORT, 1)
    assert first == play.play("posterior", SHORT, 1)
    assert first != play.play("posterior", SHORT, 2)


def test_arrivals_are_the_same_for_every_controller() -> None:
    left, right = Machine(SHAPE, 7), Machine(SHAPE, 7)
    right.now[BATCH] = Allocation(cores=0)
    for _ in range(20):
        one, other = left.period(QUIET), right.period(QUIET)
        assert one.groups[WEB].windows[0].n == other.groups[WEB].windows[0].n


def test_a_rule_has_the_window_that_its_own_constant_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No other rule sees it: the longest window there is would be another one for them."""
    lengths: dict[str, list[int]] = {}

    def note(look: Look, _machine: play.Simulated) -> None:
        lengths[name] = [window.length_ms for window in look.groups[WEB].windows]

    short = dataclasses.replace(SHORT, length_s=3.0)
    for name in ("clite", "posterior"):
        for machine in (Machine, Fluid):
            play.play(name, short, 1, see=note, machine=machine)
            usual = [100, 500, 1000] if machine is Machine else [100, 1000]
            assert lengths[name] == [*usual, *([2000] if name == "clite" else [])]
    asked: list[int] = []
    original = Group.window

    def window(self: Group, length_ms: int) -> Window | None:
        result = original(self, length_ms)
        asked.append(result.length_ms if result else 0)
        return result

    monkeypatch.setattr(Group, "window", window)
    play.play("clite", short, 1)
    assert asked[-1] == 2000


def test_a_window_that_is_added_is_the_sum_of_its_parts() -> None:
    for machine in (Machine(SHAPE, 1), Fluid(SHAPE, 1)):
        for length_ms in (2000, 2000, 300):
            machine.add_window(length_ms)
        looks = [machine.period(QUIET).groups[WEB] for _ in range(25)]
        last = {window.length_ms: window for window in looks[-1].windows}
        assert list(last) == sorted(last)
        for length_ms in (300, 2000):
            parts = [one.windows[0] for one in looks[-length_ms // 100 :]]
            assert last[length_ms].n == sum(one.n for one in parts)
            assert last[length_ms].above == sum(one.above or 0 for one in parts)
        load = looks[-1].signal("load") or 0.0
        assert load == pytest.approx(last[1000].n / SHAPE.peak_rps)


def test_the_oracle_is_the_best_of_what_it_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = ({"idle": 1.0}, {"cores": 7.0})
    monkeypatch.setattr(play, "GRID", grid)
    inputs, best = play.oracle(SHORT, 1)
    rows = [play.play("static", SHORT, 1, one) for one in grid]
    fine = [row for row in rows if row.violated_s <= min(r.violated_s for r in rows) + 0.4]
    assert best.kept == max(row.kept for row in fine)
    assert play.play("static", SHORT, 1, inputs) == best


def test_a_service_that_is_down_serves_no_one_and_its_requests_wait() -> None:
    machine, moment = Machine(SHAPE, 1), Moment(load=0.3)
    machine.now[BATCH] = Allocation(cores=0, quota=0.0)
    machine.period(moment)
    for i in range(10):
        machine.period(dataclasses.replace(moment, down_s=1 - i / 10))
    # It is up again after 1 s: those that came in the first tenth of it wait for the rest.
    assert list(machine._times)[1].min() > 0.9
    assert list(machine._times)[10].min() > 0
    for _ in range(20):
        machine.period(moment)
    assert float(np.median(list(machine._times)[-1])) < SHAPE.target_s, "it has caught up"


def test_a_job_that_wants_little_has_no_more_and_delays_less() -> None:
    results = []
    for wants in (1.0, 0.25):
        machine = Machine(SHAPE, 1)
        machine.now[BATCH] = Allocation(quota=8.0)
        looks = [machine.period(dataclasses.replace(QUIET, wants=wants)) for _ in range(100)]
        delays = [look.groups[WEB].signal("runq_delay_ms") or 0 for look in looks]
        results.append((machine.job_s / 10, float(np.mean(delays))))
    assert results[1][0] == pytest.approx(2.0)
    # Half of the cores are held by all of it; a quarter by a job of two CPUs.
    assert results[1][1] == pytest.approx(results[0][1] / 2, rel=0.15)
