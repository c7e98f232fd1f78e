"""What each experiment asks of the simulator: the papers' parameters, written down once more."""

from __future__ import annotations

from typing import Any

import pytest

from sojourn.models.replicate import c11, c20, c22, l5, l7, l17, l18, l21, l29, p10, pairs, paper
from sojourn.models.simulator import Command, Job, Result, Simulator

MEAN_US = 12 / 1.1  # L8: 12 cores, 1.1 M requests/s


def mean_us(service: str) -> float:
    shape, _, mean = service.partition(":")
    assert shape == "exponential"
    return float(mean)


def test_a_core_serves_a_request_in_10_9_microseconds() -> None:
    assert (paper.CORES, paper.PEAK_RPS, paper.L_MS) == (12, 1.1e6, 12.0)
    assert pytest.approx(MEAN_US) == paper.SERVICE_US
    assert paper.TEXT_TUNING == {"wakeup_granularity": "0", "min_granularity": "0"}


def test_simulated_time_is_scaled_and_a_second_at_least() -> None:
    assert [paper.seconds(40, share) for share in (1.0, 0.5, 0.01)] == ["40s", "20s", "1s"]
    assert paper.seconds(1.5, 1.0) == "1.5s"


def test_c11_threads_have_a_cpu_each_and_eight_more_take_the_interrupts() -> None:
    job: dict[str, Any] = c11._job(4, 5e5, c11.MOST, 1.0)
    (service,) = job.pop("services")
    assert job == {
        "cpus": 12,
        "policy": "fifo",
        "duration": "600ms",
        "warmup": "100ms",
        "allow_overload": True,
        "in_flight_max": 5_000,
    }
    # 144 k/s leave ln 100 / 1 ms of μ free.
    assert mean_us(service.pop("service")) == pytest.approx(1e6 / (144e3 + 4605.17))
    assert service == {
        "rate": "500000.0",
        "workers": 4,
        "connections": 3_200,
        "cpus": [0, 1, 2, 3],
        "softirq": "exponential:6.0",
        "softirq_cpus": [4, 5, 6, 7, 8, 9, 10, 11],
    }
    assert [c11._job(1, 1.0, c11.MOST, s)["duration"] for s in (0.5, 0.01)] == ["300ms", "200ms"]


def test_c11_the_line_ends_at_the_first_count_that_brings_less_than_nine_tenths() -> None:
    whole = tuple(float(n) for n in c11.THREADS)
    assert c11._linear_to(whole) == 24
    bent = (1.0, 2.0, 3.6, 7.1, 12.0, 16.0, 20.0, 24.0)
    assert c11._linear_to(bent) == 4
    assert c11._linear_to((0.8, *whole[1:])) == 1
    assert c11._stops_at((1.0, 2.0, 4.0, 8.0, 9.6, 10.0, 10.0, 10.0)) == 12
    assert c11._stops_at((1.0, 2.0, 4.0, 8.0, 9.5, 10.0, 10.0, 10.0)) == 16  # 5 % more are growth
    assert c11._stops_at(whole) == 24


def test_c20_sixty_percent_of_what_seven_cores_carry() -> None:
    memcached, nginx = c20.APPS
    assert (memcached.max_rps, memcached.qos_ns) == (672e3, 1e6)
    assert (nginx.max_rps, nginx.qos_ns) == (420e3, 20e6)
    assert memcached.service_us == pytest.approx(7 / 0.672)
    assert nginx.busy == pytest.approx(4.2)
    assert c20._job(memcached, 7, 4, 1.0) == {
        "cpus": 4,
        "policy": "cfs",
        "allow_overload": True,
        "duration": "2s",
        "warmup": "200ms",
        "in_flight_max": 20_000,
        "services": [
            {"rate": "403200.0", "service": "exponential:10.4167", "workers": 7, "connections": 700}
        ],
    }
    assert c20._job(memcached, 7, 4, 0.1)["duration"] == "0.5s"


def test_c22_a_seventh_of_each_service_on_one_core_or_on_its_two_threads() -> None:
    job = c22._job(c22.OTHER, 0.3, 0.7, 1.0)
    assert job == {
        "cpus": 2,
        "policy": "cfs",
        "smt_slowdown": 1.5,
        "allow_overload": True,
        "duration": "6s",
        "in_flight_max": 20_000,
        "services": [
            {
                "name": "memcached",
                "rate": str(0.3 * 672e3 / 7),
                "service": "exponential:10.4167",
                "connections": 100,
                "cpus": [0],
            },
            {
                "name": "NGINX",
                "rate": str(0.7 * 420e3 / 7),
                "service": "exponential:16.6667",
                "connections": 100,
                "cpus": [1],
            },
        ],
    }


def test_l7_workers_sit_on_the_first_threads_and_the_probe_beside_or_on_one() -> None:
    alone = l7._job(l7.ALONE, 0.5, 1.0)
    (service,) = alone["services"]
    assert mean_us(service["service"]) == pytest.approx(MEAN_US)
    assert (service["rate"], service["workers"], service["connections"]) == ("550000.0", 12, 1_200)
    assert service["cpus"] == list(range(0, 24, 2))
    rest = {key: value for key, value in alone.items() if key != "services"}
    assert rest == {
        "cpus": 24,
        "policy": "cfs",
        "neighbours": [],
        "smt_slowdown": 1.0,
        "allow_overload": True,
        "duration": "2s",
        "warmup": "500ms",
        "in_flight_max": 20_000,
    }
    many, sibling, shared = (l7._job(probe, 0.5, 1.0) for probe in l7.PROBES)
    assert (many["services"][0]["workers"], many["neighbours"]) == (13, [])
    assert (many["smt_slowdown"], shared["smt_slowdown"], sibling["smt_slowdown"]) == (1, 1, 1.5)
    assert sibling["neighbours"] == [{"kind": "spin", "cpus": [1]}]
    assert shared["neighbours"] == [{"kind": "spin", "cpus": [0]}]


def test_l17_a_nice_one_weighs_87_times_a_fair_one() -> None:
    jobs = {case.name: l17._job(case, 0.5, 1.0) for case in l17.CASES}
    alone, niced, dear, fair = jobs.values()
    (service,) = niced["services"]
    assert float(service["rate"]) == pytest.approx(0.5e6 / MEAN_US)
    assert [job["services"][0]["grant"]["weight"] for job in (niced, dear, fair)] == [
        88_761,
        88_761,
        1_024,
    ]
    assert [job["switch"] for job in jobs.values()] == ["0us", "0us", "2us", "0us"]
    assert alone["neighbours"] == []
    assert niced["neighbours"] == dear["neighbours"] == fair["neighbours"] == [{"kind": "spin"}]
    rest = {key: niced[key] for key in ("policy", "duration", "allow_overload", "in_flight_max")}
    assert rest == {
        "policy": "cfs",
        "duration": "8s",
        "allow_overload": True,
        "in_flight_max": 20_000,
    }


def test_l18_cases_and_warps_are_those_of_the_text_and_the_kernel() -> None:
    reports = [(case.policy, case.warp_ms, bool(case.tuning), case.has_wave) for case in l18.CASES]
    assert reports == [
        ("cfs", 0, False, False),
        ("cfs", 0, True, True),
        ("bvt", 12.1, True, True),
        ("cfs", 0, False, True),
        ("bvt", 16.1, False, True),
        ("bvt", 20, False, True),
        ("bvt", 24, False, True),
        ("eevdf", 0, False, True),
    ]
    job = l18._job(l18.CASES[2], 0.5, 1.0)
    assert float(job["services"][0]["rate"]) == pytest.approx(0.5e6 / MEAN_US)
    assert job["services"][0]["grant"] == {"warp": "12.1ms"}
    assert {key: value for key, value in job.items() if key != "services"} == {
        "policy": "bvt",
        "tuning": paper.TEXT_TUNING,
        "neighbours": [{}],
        "duration": "40s",
        "allow_overload": True,
        "in_flight_max": 20_000,
    }
    bare = l18._job(l18.CASES[0], 0.5, 1.0)
    assert (bare["neighbours"], bare["tuning"]) == ([], {})


def test_l21_a_neighbour_s_packets_interrupt_its_own_core_or_both() -> None:
    """L9: 200 bytes and 30 of memcached's own; 10 Gbit/s of 1,538 bytes over twelve cores."""
    packets = 10e9 / 8 / 1538 / 12
    assert packets == pytest.approx(l21.PACKETS_RPS)
    softirq = MEAN_US * 0.83 * 0.37
    alone, flow, rss = (l21._job(case, 0.5, 1.0) for case in (l21.ALONE, l21.FLOW, l21.RSS))
    for job in (alone, flow, rss):
        own = job["services"][0]
        assert float(own["rate"]) == pytest.approx(0.5e6 / MEAN_US)
        assert mean_us(own["service"]) == pytest.approx(MEAN_US - softirq)
        assert mean_us(own["softirq"]) == pytest.approx(softirq)
        assert (own["name"], own["cpus"], own["softirq_cpus"]) == ("memcached", [0], [0])
        assert {key: value for key, value in job.items() if key != "services"} == {
            "cpus": 2,
            "policy": "fifo",
            "duration": "6s",
            "allow_overload": True,
            "in_flight_max": 20_000,
        }
    assert len(alone["services"]) == 1
    for job, cpus in ((flow, [1]), (rss, [0, 1])):
        heavy = job["services"][1]
        assert float(heavy["rate"]) == pytest.approx(2 * packets)
        assert mean_us(heavy["softirq"]) == pytest.approx(softirq)
        assert (heavy["softirq_cpus"], heavy["cpus"]) == (cpus, [1])
        assert (heavy["connections"], heavy["service"]) == (64, "fixed:0.1")
    # L9: a key of 30 bytes and a value of 200; 120 of headers and of memcached's own.
    assert (l21.REPLY_BYTES, l21.HEADERS_BYTES) == (230, 120)


def test_l29_a_worker_wakes_up_at_a_price_beside_a_batch_program() -> None:
    job: dict[str, Any] = l29._job(0.3, 4.25, 1.0)
    (service,) = job.pop("services")
    assert float(service["rate"]) == pytest.approx(0.3 * 1.1e6 / 24)
    assert mean_us(service["service"]) == pytest.approx(24 / 1.1)
    assert (service["wake"], service["grant"]) == ("4.250us", {"weight": 88_761})
    assert job == {
        "policy": "cfs",
        "duration": "10s",
        "allow_overload": True,
        "neighbours": [{"name": "batch", "kind": "spin"}],
    }


def test_p10_a_grid_of_loads_by_steps_of_two_percent() -> None:
    assert pytest.approx([0.30 + 0.02 * k for k in range(35)]) == p10.STEPS
    assert p10._job("fixed", 8, 0.5, 1.0) == {
        "rate": "4.0",
        "service": "fixed:1",
        "servers": 8,
        "requests": "1500000",
    }
    assert p10._job("fixed", 1, 0.5, 0.5)["requests"] == "750000"
    assert p10._job("fixed", 1, 0.5, 0.01)["requests"] == "375000"  # a quarter at the least


def test_l5_fifty_seeds_of_one_load() -> None:
    class Asks(Simulator):
        def runs(self, command: Command, jobs: Any) -> list[Result]:
            assert command == "queue"
            return list(jobs)

    jobs = l5._seeds(Asks("unused", 1), 0.8, 4e6)
    assert [job["seed"] for job in jobs] == list(range(1, 51))
    assert dict(jobs[0]) == {
        "rate": "0.8",
        "service": "exponential:1",
        "servers": 1,
        "requests": "4000000",
        "seed": 1,
    }
    assert l5.COVERED == ((0.5, 1e6), (0.8, 4e6))


# Two services on one core, as L19 and L25 ask for them


def test_pairs_latencies_at_low_load_are_100_and_1000_microseconds() -> None:
    """Mean sojourn at 10 %: M/M/1 S/0.9; M/D/1 S(1 + 0.1/1.8)."""
    for shape, queueing in (("exponential", 1 / 0.9), ("fixed", 1 + 0.1 / 1.8)):
        costs = pairs.pair(shape)
        assert costs.a_us == pytest.approx(MEAN_US)
        assert costs.a_us * queueing + costs.outside_us == pytest.approx(100.0)
        assert costs.b_us * queueing + costs.outside_us == pytest.approx(1_000.0)


def asked(a: float, b: float, share: float = 1.0, **setting: Any) -> dict[str, Any]:
    known = {"name": "x", "policy": "rt", **setting}
    return pairs._job(pairs.Setting(**known), a, b, share)


def test_pairs_jobs_have_both_loads_priorities_quotas_and_less_time_above_100_percent() -> None:
    costs = pairs.pair("exponential")
    job = asked(0.3, 0.5, warp_ms=12.1, has_quota=True)
    a, b = job.pop("services")
    assert (float(a["rate"]), float(b["rate"])) == pytest.approx(
        (0.3e6 / costs.a_us, 0.5e6 / costs.b_us)
    )
    assert (a["name"], b["name"]) == ("A", "B")
    assert a["grant"] == {"priority": 2, "warp": "12.1ms", "quota": "9000000ns"}
    assert b["grant"] == {"priority": 1, "quota": "15000000ns"}  # 24 ms in the loads' proportion
    assert mean_us(b["service"]) == pytest.approx(costs.b_us, rel=1e-5)
    assert job == {
        "policy": "rt",
        "tuning": {},
        "duration": "12s",
        "allow_overload": True,
        "in_flight_max": 20_000,
    }
    assert "quota" not in asked(0.3, 0.5)["services"][0]["grant"]
    assert asked(0.3, 0.5)["services"][0]["grant"]["warp"] == "0ms"
    assert asked(0.3, 0.5, tuning={"x": "1"})["tuning"] == {"x": "1"}
    assert [asked(*ab)["duration"] for ab in ((0.4, 0.5), (0.4, 0.6), (0.9, 0.9))] == [
        "12s",
        "4s",
        "4s",
    ]
    assert asked(0.3, 0.5, 0.5)["duration"] == "6s"


def test_pairs_bounds_are_five_times_the_tail_alone_seen_from_outside() -> None:
    class Alone(Simulator):
        def run(self, command: Command, job: Job, *options: str) -> Result:
            assert (command, job["policy"], job["duration"]) == ("sched", "fifo", "30s")
            (service,) = job["services"]
            mean = mean_us(service["service"])
            assert float(service["rate"]) * mean / 1e6 == pytest.approx(0.1, rel=1e-5)
            return {"services": [{"sojourn_ns": {"p95": 3e3 * mean}}]}

    costs = pairs.pair("exponential")
    assert pairs._bounds(Alone("unused", 1), "exponential", 0.5) == pytest.approx(
        tuple(5e3 * (3 * mean + costs.outside_us) for mean in (costs.a_us, costs.b_us)), rel=1e-5
    )


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (90.0, 290.0, "AB"),
        (91.0, 290.0, "B"),
        (90.0, 291.0, "A"),
        (None, 290.0, "B"),
        (90.0, None, "A"),
        (91.0, None, "-"),
    ],
)
def test_pairs_who_meets_a_bound_with_the_time_outside(
    a: float | None, b: float | None, verdict: str
) -> None:
    services = [{"sojourn_ns": {"p95": p95}} for p95 in (a, b)]
    assert pairs._verdict(services, (100.0, 300.0), 10.0) == verdict
