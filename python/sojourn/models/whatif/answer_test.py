"""Answers against closed forms: one queue, calls to many, storms, a spinning task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from sojourn import programs
from sojourn.errors import SpecFault
from sojourn.models.simulator import Command, Result, Simulator
from sojourn.models.whatif import machine, system
from sojourn.models.whatif.answer import Answer, answers, mean_s
from sojourn.models.whatif.asked import Combination, Question, combinations

pytestmark = pytest.mark.skipif(programs.maybe("sojourn-sim") is None, reason="needs sojourn-sim")
MS = 1e6
#: Mean 10 ms; the p99 of an M/M/1 is ln 100 / (100 − λ) s.
OF = Question(service="exponential:10", unit="ms", bound_ns=200 * MS, requests=20_000)
TAIL = math.log(100) / 100 * 1e9
#: Levels that ask the simulator of calls, and that of schedulers.
SIMULATORS: tuple[dict[str, str], ...] = ({"fanout": "1"}, {"scheduler": "eevdf"})


def ask(of: Question = OF, /, **levels: str) -> list[Answer]:
    every = combinations({name: text.split(",") for name, text in levels.items()})
    return answers(Simulator.find(), of, list(every))


def at(rate: str, **levels: str) -> list[Answer]:
    return ask(
        Question(service=OF.service, unit=OF.unit, rate=rate, bound_ns=OF.bound_ns), **levels
    )


def test_the_mean_is_read_from_the_program() -> None:
    assert mean_s(Simulator.find(), OF) == pytest.approx(0.01)


def test_one_queue_has_the_border_of_the_formula() -> None:
    (one,) = ask(cores="1")
    truth = 100 - math.log(100) / 0.2
    assert one.border is not None
    assert one.border.value == pytest.approx(truth, rel=0.03)
    assert one.border.lo <= truth * 1.02
    assert one.border.hi >= truth * 0.98


@pytest.mark.parametrize("levels", SIMULATORS)
def test_the_ends_of_a_border_hold_the_formula_s_for_most_seeds(levels: dict[str, str]) -> None:
    truth = 1000 - math.log(100) / 0.02  # 77 % load, where a short run sees a few busy periods
    held = []
    for seed in range(3):
        of = Question(service="exponential:1", unit="ms", bound_ns=20 * MS, seed=seed + 1)
        (one,) = ask(of, **levels)
        assert one.border is not None
        assert 0 < one.border.hi - one.border.lo < 0.2 * truth  # nothing to capacity holds it too
        held.append(one.border.lo <= truth <= one.border.hi)
    # Where 95 % hold, fewer of 3 come once in 140; where 25 % do, so many come once in 6.
    assert sum(held) >= 2


@pytest.mark.parametrize("levels", SIMULATORS)
def test_a_tail_at_high_load_is_that_of_a_queue_that_lasts(levels: dict[str, str]) -> None:
    truth, held = math.log(100) / 50 * 1e9, 0
    for seed in range(2):
        of = Question(service="exponential:1", unit="ms", rate="950", seed=seed + 1)
        (one,) = ask(of, **levels)
        lo, value, hi = one.tail_ns
        assert value == pytest.approx(truth, rel=0.15)  # short runs gave 0.6 to 0.9 of it
        held += lo <= truth <= hi
    assert held >= 1


def test_a_tail_whose_ends_are_not_known_is_open_and_no_point() -> None:
    service = {"achieved_rps": 10, "offered_rps": 10, "sojourn_ns": {"p99": 5}}
    unknown = {"services": [{**service, "intervals": {"p99": None}}]}
    assert machine.tail(unknown, "p99") == (0.0, 5.0, math.inf)
    unstable = {**unknown, "reasons": ["unstable: CPU 0 is offered 1.010 of what it can do"]}
    assert machine.tail(unstable, "p99") == (math.inf,) * 3
    calls = {"intervals": {"p99": None}, "answered": {"mid": 1.0}, "reasons": []}
    assert system.tail({**calls, "sojourn_ns": {"p99": 5}}, "p99") == (0.0, 5.0, math.inf)
    assert system.tail({**calls, "sojourn_ns": {"p99": None}}, "p99") == (math.inf,) * 3


def test_a_queue_that_grows_slowly_is_no_number() -> None:
    """At 1.01 of the capacity a run of seconds ends before it has grown: p99 would be some ms."""
    of = Question(service="exponential:100", unit="us", rate="10.1k", bound_ns=1e12)
    (one,) = ask(of, scheduler="eevdf")
    assert one.tail_ns == (math.inf,) * 3
    assert one.reasons[0].startswith("unstable: CPU 0 is offered 1.010")


def test_a_rate_far_beyond_the_capacity_is_not_simulated_request_by_request() -> None:
    """The simulators get some ten million requests at most, and the answer has the asked rate."""
    jobs = list[dict[str, Any]]()

    class Asked(Simulator):
        def run(self, command: Command, job: Mapping[str, Any], *options: str) -> Result:
            jobs.append({**job, "command": command})
            return super().run(command, job, *options)

    of = Question(service="exponential:100", unit="us", rate="1G", bound_ns=1e12)
    found = Simulator.find()
    every = [Combination(scheduler="eevdf", neighbour="spin"), Combination(cores="2")]
    machine_one, calls_one = answers(Asked(found.program, 1), of, every)
    assert (machine_one.tail_ns, calls_one.tail_ns) == ((math.inf,) * 3,) * 2
    assert machine_one.rate_rps == 1e9
    assert machine_one.progress == pytest.approx(0.5, abs=0.05)
    assert "1e+05 times" in machine_one.reasons[0]
    (job,) = [one for one in jobs if one["command"] == "sched"]
    seconds = [float(job[name].removesuffix("ns")) / 1e9 for name in ("warmup", "duration")]
    assert sum(seconds) * float(job["services"][0]["rate"]) <= 2 * machine.REQUESTS_MAX


def test_a_fan_out_has_the_tail_of_the_slowest() -> None:
    one, five = at("0.1", fanout="1,5")
    assert one.tail_ns[1] == pytest.approx(TAIL, rel=0.06)
    slowest = -math.log(1 - 0.99**0.2) / 100 * 1e9
    assert five.tail_ns[1] == pytest.approx(slowest, rel=0.06)
    assert five.work == pytest.approx(5, rel=0.01)


def test_a_hedge_cuts_the_tail_at_little_work() -> None:
    none, hedged = at("0.1", hedge="none,30ms", instances="50")
    assert hedged.tail_ns[1] < 0.85 * none.tail_ns[1]
    # Two exponentials, the second 30 ms later: P(T > t) = e^−t · e^−(t − 3), t in means.
    assert hedged.tail_ns[1] == pytest.approx((math.log(100) + 3) / 2 * 10 * MS, rel=0.05)
    assert hedged.work == pytest.approx(1 + math.exp(-3), abs=0.01)


def test_retries_keep_a_queue_full_after_a_surge_and_a_budget_does_not() -> None:
    surge = "steps:70@30s,200@20s,70@200s"
    calm, storm = at(surge, timeout="300ms", retries="0,3")
    (bounded,) = at(surge, timeout="300ms", retries="3", budget="10%")
    assert storm.answered < 0.4 < calm.answered
    assert bounded.answered > storm.answered + 0.2  # eight seeds: by 0.29 to 0.32


def test_instances_that_start_slowly_cost_the_tail() -> None:
    surge = "steps:50@30s,150@120s"
    fast, slow = at(surge, scale="1..4", startup="1s,60s")
    assert slow.tail_ns[1] > 3 * fast.tail_ns[1]
    assert fast.instances > 1.5


def test_a_surge_after_the_requests_asked_for_is_simulated() -> None:
    of = Question(service="exponential:10", unit="ms", rate="steps:10@1s,900@5s", requests=1000)
    (one,) = ask(of, cores="1")
    assert one.reasons == ()
    assert one.tail_ns[1] > 30e9  # 4,510 requests at 100/s; the first 1,000 wait 9 s at most


def test_a_service_that_scales_carries_what_its_most_instances_do() -> None:
    (one,) = ask(scale="1..4")
    assert one.border is not None
    assert 320 < one.border.value < 400  # one instance does 100/s, and begins alone


def test_a_hedge_needs_a_second_worker() -> None:
    for levels in ({"hedge": "5ms"}, {"hedge": "5ms", "fanout": "5"}):
        with pytest.raises(SpecFault, match="behind the first one") as caught:
            ask(**levels)
        assert caught.value.at == "--hedge"
        assert "--instances 10" in caught.value.fix
    for more in ({"instances": "10"}, {"cores": "2"}, {"scale": "1..3"}):
        (one,) = combinations({"hedge": ["5ms"], **{name: [text] for name, text in more.items()}})
        assert system.job(OF, one, "10", 0.01)["client"]["hedge"] == "5ms"


def test_a_lower_speed_is_a_longer_service() -> None:
    full, low = at("20", speed="none,0.5@1")
    assert full.tail_ns[1] == pytest.approx(math.log(100) / 80 * 1e9, rel=0.08)
    assert low.tail_ns[1] == pytest.approx(math.log(100) / 30 * 1e9, rel=0.08)


def test_a_spinning_neighbour_takes_half_under_a_fair_scheduler() -> None:
    of = Question(service="exponential:100", unit="us", bound_ns=100 * MS, requests=20_000)
    alone, beside = ask(of, scheduler="eevdf", neighbour="none,spin")
    assert alone.border is not None
    assert beside.border is not None
    assert alone.border.value > 0.9 * 10_000
    assert beside.border.value == pytest.approx(5000, rel=0.12)
    assert alone.progress is None
    assert beside.progress == pytest.approx(0.5, abs=0.1)


def test_more_cores_carry_more() -> None:
    of = Question(service="exponential:100", unit="us", bound_ns=MS, requests=20_000)
    one, two = ask(of, scheduler="eevdf", cores="1,2")
    assert one.border is not None
    assert two.border is not None
    assert two.border.value > 1.8 * one.border.value


def test_same_question_same_answer_and_another_seed_another() -> None:
    first, again = at("50", cores="1"), at("50", cores="1")
    assert first == again
    other = Question(service=OF.service, unit=OF.unit, rate="50", bound_ns=OF.bound_ns, seed=2)
    assert ask(other, cores="1")[0].tail_ns != first[0].tail_ns


def test_levels_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(SpecFault, match="asks about one machine"):
        list(combinations({"scheduler": ["eevdf"], "fanout": ["2"]}))
    with pytest.raises(SpecFault, match="too many"):
        list(combinations({"cores": [str(n) for n in range(1, 100)]}))
    assert list(combinations({"neighbour": ["spin"]})) == [
        Combination(scheduler="eevdf", neighbour="spin")
    ]


@pytest.mark.parametrize(
    ("levels", "at"),
    [
        ({"cores": "0"}, "--cores"),
        ({"fanout": "many"}, "--fanout"),
        ({"retries": "-1"}, "--retries"),
        ({"errors": "2"}, "--errors"),
        ({"scale": "5"}, "--scale"),
        ({"scale": "8..2"}, "--scale"),
        ({"speed": "fast"}, "--speed"),
        ({"neighbour": "loud"}, "--neighbour"),
        ({"scheduler": "best"}, "policy"),
        ({"timeout": "soon"}, "timeout"),
    ],
)
def test_a_level_that_cannot_be_read_is_named(levels: dict[str, str], at: str) -> None:
    with pytest.raises(SpecFault) as caught:
        ask(**levels)
    assert at in caught.value.at or at in caught.value.what
