"""What experiments report of themselves: parameters, marks, and which result is drawn where."""

from __future__ import annotations

import math

import pytest

from sojourn.models import replicate
from sojourn.models.replicate import p10
from sojourn.models.replicate.kind import Replica
from sojourn.models.simulator import Command, Job, Result, Simulator


def answered(*, share: float = 1.0) -> dict[str, Replica]:
    """Every experiment, fed with one result that fits all of them."""
    span = {"mean": 30e3, "p50": 20e3, "p95": 90e3, "p99": 140e3}
    interval = {"lo": 0.9, "mid": 1.0, "hi": 1.1}
    numbers = ("mean", "p50", "p90", "p95", "p99", "p999")
    result = {
        "services": [{"sojourn_ns": span, "achieved_rps": 8e4}] * 2,
        "sojourn_ns": span,
        "epoll_ns_mean": 1e4,
        "dispatch_ns_mean": 1.1e4,
        "root_ns": span,
        "server_ns": span,
        "neighbours": [{"cpu_share": 0.5}],
        "switches_rps": [1e3],
        "agreement": [{"quantity": "mean", "closed": 1.0, "error": 0.0, "interval": interval}],
        "intervals": dict.fromkeys(numbers, interval),
        "closed": [{"exact": True, **dict.fromkeys(numbers, 1.0)}],
    }

    class Same(Simulator):
        def run(self, command: Command, job: Job, *options: str) -> Result:
            services = result["services"][: len(job.get("services", ()))]  # type: ignore[index]
            return {**result, "services": services}

    return {e.ids[0]: e.run(Same("unused", 1), share) for e in replicate.KINDS}


@pytest.fixture(name="replicas", scope="module")
def _replicas() -> dict[str, Replica]:
    return answered()


def test_marks_stand_where_the_papers_have_them(replicas: dict[str, Replica]) -> None:
    marks = {name: [mark.x for mark in result.marks] for name, result in replicas.items()}
    assert {name: at for name, at in marks.items() if at} == {
        "L14": [0.3],
        "L15": [0.5, 0.9],
        "L18": [0.12, 0.5, 0.87],
        "C11": [4, 16],
    }


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("L5", "mean 1; 4,000,000 per load"),
        ("L12", "16 µs, exponential; 100 on one worker"),
        ("L14", "exponential, mean 10.9 µs; 21/16 = 1.31; placed, 1200 on 12 workers"),
        ("L17", "0; 2 µs beside it; 88 µs"),
        ("L21", "68 k packets/s per core; 3.35 µs per packet; memcached on one core"),
        ("L29", "mean 21.8 µs of a thread; mean 2.00, perlbench 2.16, bwaves 3.85 service times"),
        ("L7", "two busy siblings are 1.5 times slower each"),
        ("L25", "12.1 ms, 24 ms, 48 ms"),
        ("C11", "8; 144 k requests/s within QoS; 2.98 µs per request; 6 µs per request"),
        ("C20", "exponential, mean 10.4 µs; p99 ≤ 1 ms; exponential, mean 16.7 µs; p99 ≤ 20 ms"),
        ("C22", "exponential, mean 16.7 µs; p99 ≤ 20 ms; two busy siblings are 1.5 times slower"),
    ],
)
def test_parameters_are_told_as_they_go_in(
    replicas: dict[str, Replica], name: str, words: str
) -> None:
    report = "; ".join(parameter.value for parameter in replicas[name].parameters)
    assert words in report


def test_the_papers_own_curves_are_marked_as_such(replicas: dict[str, Replica]) -> None:
    own = {
        f"{name} {c.name}" for name, result in replicas.items() for c in result.curves if c.is_paper
    }
    assert own == {
        "L29 mean, paper",
        "L29 perlbench, paper",
        "L29 bwaves, paper",
        "L32 paper",
        "P10 img-dnn",
        "P10 specjbb",
    }


def test_each_result_goes_to_the_curve_of_its_case(replicas: dict[str, Replica]) -> None:
    for name, ns in (("L7", 90e3), ("L21", 90e3), ("L18", 90e3)):
        for curve in replicas[name].curves[::2]:
            assert curve.y == (ns / 1e3,) * len(curve.x)
    curves = {c.name: c for c in replicas["L5"].curves}
    assert curves["M/M/4 simulated"].y == (90e3 / 1e9,) * 8
    known = curves["M/M/1: ln 20 / (μ − λ)"]
    assert known.y == pytest.approx([math.log(20) / (1 - load) for load in known.x])
    (three,) = (c for c in replicas["L5"].checks if "about 3 times" in c.what)
    assert (three.ours, three.tolerance, three.holds) == ("3.00 to 3.00×", "2.85 to 3.15", True)


def test_a_second_load_is_covered_where_there_is_time() -> None:
    covers = [c.what for c in answered()["L5"].checks if "seeds" in c.what]
    assert [what.partition(" 95 %")[0] for what in covers] == [
        f"M/M/1 at a load of {load}: over 50 seeds" for load in (0.5, 0.8)
    ]
    less = answered(share=0.5)["L5"]
    assert len([c for c in less.checks if "seeds" in c.what]) == 1
    assert less.parameters[1].value == "4,000,000 per load"  # never fewer
    assert answered(share=2.0)["L5"].parameters[1].value == "8,000,000 per load"


def test_an_experiment_is_found_by_any_of_its_ids_however_it_is_typed() -> None:
    assert replicate.find(" l23 ").ids[0] == "L15"
    assert replicate.find("c20").ids == ("C20",)


def test_p10_a_limit_below_or_beyond_the_grid_is_its_end() -> None:
    assert p10.crossing([5.1] * 35) == pytest.approx(0.30)
    assert p10.crossing([5.0] * 35) == pytest.approx(0.98)
    # From 4.5 at 0.40 to 6.5 at 0.42: a fourth of the step.
    p95 = [4.5 if load < 0.41 else 6.5 for load in p10.STEPS]
    assert p10.crossing(p95) == pytest.approx(0.405)
