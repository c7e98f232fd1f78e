"""All combinations of a question, each with what would check its number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from sojourn.models.simulator import Result, Simulator
from sojourn.models.whatif import machine, schedule, system
from sojourn.models.whatif.asked import Combination, Question
from sojourn.models.whatif.border import Border, search
from sojourn.quantiles import key


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one combination does.

    Attributes:
        border: highest rate within the target; None where a rate was given.
        rate_rps: the rate of the numbers below: the given one, or that of `border`.
        tail_ns: the target's quantile there: lower end, value, upper end; infinite: it grows.
        progress: share of its pace that the neighbour keeps there; None: there is none.
        answered: share of the requests that are answered; 1 for a machine.
        work: requests that reach the service for one of a user: 1 without retries and hedges.
        instances: mean number that served.
        reasons: why the simulator does not vouch for it; () if it does.
        check: what would measure it.
    """

    of: Combination
    border: Border | None
    rate_rps: float
    tail_ns: tuple[float, float, float]
    progress: float | None
    answered: float
    work: float
    instances: float
    reasons: tuple[str, ...]
    check: str


def mean_s(simulator: Simulator, of: Question) -> float:
    """Mean service time, s; the program reads it, as it may come from a histogram."""
    job = {"service": of.service, "unit": of.unit, "rate": "1e-9", "requests": "100", "warmup": "0"}
    return float(simulator.run("queue", job)["utilisation"]) * 1e9


def answers(
    simulator: Simulator,
    of: Question,
    every: Sequence[Combination],
    show: Callable[[int], None] | None = None,
) -> list[Answer]:
    """Simulate every combination, in order.

    Args:
        simulator: to be asked.
        of: the question.
        every: the combinations.
        show: is called before each one with its number, from 1.

    Raises:
        SpecFault: a level or the rate cannot be simulated; nothing has been by then.
    """
    mean, results = mean_s(simulator, of), list[Answer]()
    schedule.requests(of.rate, of.requests)
    for one in every:
        if not one.is_machine:
            system.job(of, one, of.rate, mean)
            continue
        machine.neighbours(one.neighbour, machine.count(one.cores, "--cores"))
        if of.rate:
            machine.rps(of.rate)
    for number, one in enumerate(every, 1):
        if show is not None:
            show(number)
        results.append(_answer(simulator, of, one, mean))
    return results


def _answer(simulator: Simulator, of: Question, one: Combination, mean: float) -> Answer:
    quantile = key(of.q)

    def run(rate: str) -> Result:
        if not one.is_machine:
            simulate = partial(simulator.run, "calls")
            return system.run(simulate, of, one, rate, quantile, mean_s=mean)
        rps = machine.simulated_rps(machine.rps(rate), capacity)
        return machine.run(partial(simulator.run, "sched"), of, one, rps, quantile)

    tail = machine.tail if one.is_machine else system.tail
    border, capacity = None, _capacity(one, mean)
    rate = of.rate
    if not of.rate:
        border = search(lambda rps: tail(run(f"{rps:.6g}"), quantile), of.bound_ns, capacity)
        rate = f"{border.value:.6g}" if border.value else f"{1e-3 * capacity:.6g}"
    result = run(rate)
    reasons = tuple(result["reasons"])
    offered = _offered(result, one)
    if one.is_machine and machine.rps(rate) > machine.simulated_rps(machine.rps(rate), capacity):
        offered, reasons = machine.rps(rate), (_beyond(machine.rps(rate) / capacity),)
    return Answer(
        of=one,
        border=border,
        rate_rps=offered,
        tail_ns=tail(result, quantile),
        progress=machine.progress(result) if one.is_machine else None,
        answered=1.0 if one.is_machine else float(result["answered"]["mid"]),
        work=1.0 if one.is_machine else float(result["services"][0]["per_request"]),
        instances=1.0 if one.is_machine else float(result["services"][0]["instances"]),
        reasons=reasons,
        check=check(one),
    )


def _capacity(one: Combination, mean: float) -> float:
    cores = machine.count(one.cores, "--cores")
    if one.is_machine:
        return cores / mean
    job = system.job(Question(service="fixed:1", unit="s"), one, "1", mean)
    most = system.most_instances(job["services"][0])
    return float(most * cores / mean / job["client"]["copies"])


def _offered(result: Result, one: Combination) -> float:
    gathered = result["services"][0] if one.is_machine else result
    return float(gathered["offered_rps"])


def _beyond(times: float) -> str:
    return (
        f"{machine.UNSTABLE}the CPUs are offered {times:,.3g} times what they can do, so queues "
        f"grow without end; simulated at {machine.BEYOND:g} times as much or more"
    )


def check(one: Combination) -> str:
    """The measurement that would check an answer."""
    if one.is_machine:
        beside = "" if one.neighbour == "none" else " --vary neighbour=none,rival:server"
        return (
            f"sojourn run max_load_memcached --shield none{beside} "
            f"--set services.memcached.cores={one.cores}   (your service, under the kernel's own "
            "scheduler)"
        )
    return (
        "load the real system at this rate with `sojourn try URL`; first measure one instance with "
        "`sojourn run max_load_memcached`"
    )
