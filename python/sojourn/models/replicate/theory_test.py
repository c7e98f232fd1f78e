"""Experiments fed by closed forms in place of the simulator: what they make of them is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from sojourn.models import tco
from sojourn.models.colocation import L28
from sojourn.models.replicate import c11, c20, find, l5, l29, p10
from sojourn.models.replicate.kind import Replica, Word
from sojourn.models.simulator import Command, Result, Simulator
from sojourn.stats.queueing import mmn_quantile

Answer = Callable[[Mapping[str, Any]], Result]


def fed(answer: Answer) -> Simulator:
    """A simulator that gives `answer(job)` and starts nothing."""

    class Fed(Simulator):
        def run(self, command: Command, job: Mapping[str, Any], *options: str) -> Result:
            return answer(job)

    return Fed("unused", 1)


def statement(replica: Replica, words: str) -> str:
    (check,) = (check for check in replica.checks if words in check.what)
    return check.ours


def dealt(job: Mapping[str, Any]) -> Result:
    """Threads dealt to cores in turn, each core an M/M/1: the tail is that of the fullest core."""
    (service,) = job["services"]
    mean_us = float(service["service"].partition(":")[2])
    cores = len(service["cpus"]) if "cpus" in service else job["cpus"]
    each = math.ceil(service["workers"] / cores) / service["workers"]
    free = 1e6 / mean_us - each * float(service["rate"])
    softirq = service.get("softirq", "fixed:0").partition(":")[2]
    irq = float(service["rate"]) * float(softirq) / 1e6 / len(service.get("softirq_cpus", [0]))
    p99 = math.log(100) / free * 1e9 if free > 0 and irq < 1 else None
    return {"services": [{"sojourn_ns": {"p99": p99}}]}


def test_c11_a_thread_carries_144k_and_the_interrupt_cores_end_it() -> None:
    """Per thread ln 100/(μ − λ) ≤ 1 ms holds up to 144 k/s: the grid's 0.95 of μ = 148.6 k."""
    result = c11.run(fed(dealt), 1.0)
    mu = 144e3 + math.log(100) / 1e-3
    curves = {curve.name: curve for curve in result.curves}
    for case, cost_us in ((c11.LEAST, None), (c11.MOST, 6.0)):
        # L11: softIRQ is 0.83 · 0.37 of all CPU time, the thread's own time the rest.
        cost = cost_us or 1e6 / mu * 0.3071 / (1 - 0.3071)
        room = 8 / cost * 1e6
        best = {}
        for n in c11.THREADS:
            offers = [step * min(n * mu, room) for step in c11.STEPS]
            best[n] = max(o for o in offers if o <= n * 144.001e3)
        curve = curves[case.name]
        assert curve.x == tuple(map(float, c11.THREADS))
        assert curve.y == pytest.approx(tuple(best[n] / best[1] for n in c11.THREADS), rel=1e-3)
        assert case.full == pytest.approx(room / 144e3, rel=1e-3)
    assert statement(result, "linear up to 4") == "4.00× and 4.00× at 4 threads"
    # 8 / 6 µs = 1.33 M/s fill them: 9.3 threads' worth; with L11's share 18.7.
    assert statement(result, "hard stop").startswith("9.3 to 18.6 threads' load fills them")
    assert statement(result, "hard stop").endswith("growth ends at 12 and 20")
    assert statement(result, "below linear") == "linear to 8 and 20 threads, then the stop"
    holds = [check.holds for check in result.checks]
    assert holds == [True, True, False]


def test_c20_two_threads_on_a_core_break_it_and_five_cores_carry_it() -> None:
    result = c20.run(fed(dealt), 1.0)
    assert [check.verdict for check in result.checks] == [Word.ARITHMETIC] * 4
    assert statement(result, "memcached: as many") == "met on 5, 6, 7 cores"
    for app, mean_us in (("memcached", 7 / 0.672), ("NGINX", 7 / 0.42)):
        seven, one_each = (curve for curve in result.curves if curve.group == app)
        assert (seven.name, one_each.name) == ("7 threads", "threads = cores")
        # One thread a core: 4.2 cores' worth over the cores, and T ~ Exp(μ(1 − ρ)).
        loads = [4.2 / cores for cores in c20.CORES]
        assert one_each.y[:2] == (None, None)  # 4.2 on three or four cores
        wanted = tuple(math.log(100) * mean_us / (1 - rho) for rho in loads[2:])
        assert one_each.y[2:] == pytest.approx(wanted, rel=1e-3)
        assert seven.y[:-1] == (None,) * 4
        assert seven.y[-1] == pytest.approx(math.log(100) * mean_us / 0.4, rel=1e-3)


def test_l29_what_a_wake_up_costs_is_fitted_at_10_percent_and_predicts_the_rest() -> None:
    """Closed form of what is left: (1 − ρ)/(1 + λ·wake)."""

    def answer(job: Mapping[str, Any]) -> Result:
        (service,) = job["services"]
        rate, wake_us = float(service["rate"]), float(service["wake"].removesuffix("us"))
        rho = rate * l29.SERVICE_US / 1e6
        left = (1 - rho) / (1 + rate * wake_us / 1e6)
        return {"neighbours": [{"cpu_share": left}], "switches_rps": [rate * (1 - rho)]}

    result = l29.run(fed(answer), 1.0)
    for name in l29.PROGRAMS:
        ours, paper = (curve for curve in result.curves if curve.group == name)
        assert ours.y[0] == pytest.approx(paper.y[0], abs=1e-4)  # fitted there
        assert paper.y == tuple(dict(L28.throughputs(name))[load] for load in l29.PAPER_LOADS)
        wake = ((1 - 0.1) / (paper.y[0] or 1) - 1) / 0.1
        assert ours.y == pytest.approx(
            tuple((1 - rho) / (1 + rho * wake) for rho in l29.LOADS), rel=1e-3
        )
    # 0.9 · 0.1 = 0.09 against 0.7 · 0.3 = 0.21 of the service rate.
    mu = 1e6 / l29.SERVICE_US
    assert statement(result, "fewer context switches") == (
        f"{0.09 * mu:,.0f} against {0.21 * mu:,.0f} per second and CPU"
    )
    assert [c.verdict for c in result.checks[:3]] == [Word.HOLDS] * 3
    assert result.checks[-1].verdict is Word.VIOLATED


def test_p10_the_limits_are_those_of_erlang_c() -> None:
    def answer(job: Mapping[str, Any]) -> Result:
        servers, rate = int(job["servers"]), float(job["rate"])
        p95 = mmn_quantile(0.95, servers, rate / servers, 1.0)
        return {"sojourn_ns": {"p95": p95 * 1e9}}

    result = p10.run(fed(answer), 1.0)
    check = result.checks[0]
    assert check.verdict is Word.HOLDS
    # Between two steps of the grid the tail is taken as straight: a per cent of LQoS.
    assert [float(v) for v in check.ours.split("/")] == pytest.approx([p10.LQOS] * 3, rel=0.02)
    curves = {curve.name: curve.y for curve in result.curves}
    one = 1 - math.log(20) / p10.LQOS
    assert curves["exponential"][0] == 1
    for n, ratio in zip(p10.SERVERS, curves["exponential"], strict=True):
        assert ratio is not None
        assert mmn_quantile(0.95, n, one * ratio / n, 1.0) == pytest.approx(p10.LQOS, rel=0.03)


def test_l34_our_figures_are_the_papers() -> None:
    result = find("L34").run(Simulator("unused", 1), 1.0)
    assert [check.ours for check in result.checks] == [
        "60%",
        "3,600",
        "17.19%",
        "7,200",
        "up to 90%",
        "lbm at 90%",
    ]


def test_l32_and_p8_our_figures_are_the_papers() -> None:
    result = find("L32").run(Simulator("unused", 1), 1.0)
    costs = tco.Costs()
    assert statement(result, "gain by load") == "51.95/29.07/17.19/10.32/17.44"
    assert statement(result, "TCO per server").startswith(f"{costs.server_usd(0):.2f}, ")
    assert statement(result, "servers matched") == "8,892 and 9,048"
    assert statement(result, "discount") == "34.2%"  # 1 − 1/1.52
    p8 = find("P8").run(Simulator("unused", 1), 1.0)
    assert [check.ours for check in p8.checks] == ["0.401", "0.820"]
    lqos, relative = p8.curves
    for n, load, low in zip(lqos.x, lqos.y, relative.y, strict=True):
        assert load is not None
        assert low is not None
        tail = [mmn_quantile(0.95, int(n), rho, 1.0) for rho in (load, low, 0.1)]
        assert tail[:2] == pytest.approx([5.0, 5 * tail[2]], rel=1e-4)


class Asked(Exception):  # noqa: N818 - no error: it carries what was asked
    """The jobs of an experiment, instead of their results."""


def test_l5_every_queue_is_asked_for_every_load() -> None:
    """Requests/s over servers of mean service 1: the utilisation."""

    class Asks(Simulator):
        def runs(self, command: Command, jobs: Sequence[Mapping[str, Any]]) -> list[Result]:
            raise Asked(jobs)

    with pytest.raises(Asked) as caught:
        find("L5").run(Asks("unused", 1), 1.0)
    jobs = caught.value.args[0]
    assert [float(job["rate"]) / job["servers"] for job in jobs] == pytest.approx(
        [*l5.LOADS, *l5.LOADS, *l5.LOADS]
    )
    assert [job["servers"] for job in jobs[:: len(l5.LOADS)]] == [1, 1, 4]
