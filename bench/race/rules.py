"""How other tools look for the highest load within a target, each as a pure generator.

A rule yields what it wants to try, is sent what the client reports, and returns its answer. Rules
and defaults come from the sources that the docstrings name. Code is our own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np
from world import Ask, Client, Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The load that a rule says fits, requests a second, and its interval if it gives one.

    `load_rps` is 0 where it says that nothing fits; `spent_s` is set where less than all trials'
    time was needed.
    """

    load_rps: float
    lo_rps: float | None = None
    hi_rps: float | None = None
    spent_s: float | None = None


Rule = Generator[Ask, Reading, Answer]


def cachecannon() -> Rule:
    """cachecannon 0.0.20-alpha, `src/saturation.rs`: climb by 5 %, then bisect to 5 %.

    From 1,000 requests a second, 5 s a step. A step fails if p99 from the due time is above the
    bound, or less than 90 % of the rate is achieved. The first failure ends the climb. At most
    eight bisections follow.
    """
    rate, good = 1000.0, 0.0

    def step() -> Generator[Ask, Reading, bool]:
        seen = yield Ask(client=Client.PACED, load=rate, seconds=5.0)
        return seen.holds and seen.achieved_rps >= 0.9 * rate

    while (yield from step()):
        good, rate = rate, float(int(1.05 * rate))
    lo, hi = good, rate
    for _ in range(8):
        rate = lo + (hi - lo) // 2
        lo, hi = (rate, hi) if (yield from step()) else (lo, rate)
        if (hi - lo) / hi <= 0.05:
            break
    return Answer(load_rps=lo)


def nighthawk() -> Rule:
    """Nighthawk's adaptive load, `step_controller_impl.cc`: double, then bisect to 1 %.

    From 10 requests a second, trials of 10 s (`measuring_period`), 5 min at most
    (`convergence_deadline`), then 30 s of test (`testing_stage_duration`). Its metrics have no p99;
    here it is given one, beside the send rate of its examples (≥ 0.9). Its client waits for a free
    connection, and the clock starts then.
    """
    before, now, bottom, top = math.nan, 10.0, math.nan, math.nan
    spent_s = 0.0
    while spent_s < 300.0:
        seen = yield Ask(client=Client.LIMITED, load=now, seconds=10.0, connections=100)
        spent_s += 10.0
        holds = seen.holds and seen.achieved_rps >= 0.9 * now
        if math.isnan(top) and holds:
            before, now = now, 2 * now
            continue
        if math.isnan(top):
            if math.isnan(before):
                return Answer(load_rps=0.0)
            bottom, top = before, now
        elif holds:
            bottom = now
        else:
            top = now
        before, now = now, (bottom + top) / 2
        if abs(now / before - 1.0) < 0.01:
            break
    yield Ask(client=Client.LIMITED, load=now, seconds=30.0, connections=100)
    return Answer(load_rps=now)


def guidellm() -> Rule:
    """guidellm's goodput profile, `profiles/goodput.py`: double the streams, bisect to 10 %.

    From 4 to 1,024 streams in at most 15 probes of 30 s. A probe passes if the share of requests
    within the bound is at least 99 %. The answer is a number of streams; what they achieve within
    the bound is the rate that is taken here.
    """
    best, worst, rates = 0, 0, {}
    streams = 4
    for _ in range(15):
        seen = yield Ask(client=Client.CLOSED, load=streams, seconds=30.0)
        within = 1 - seen.over / max(1, len(seen.latencies))
        rates[streams] = within * seen.achieved_rps
        if within >= 0.99:
            best = max(best, streams)
        else:
            worst = min(worst or streams, streams)
        if not worst:
            if streams >= 1024:
                break
            streams = min(2 * streams, 1024)
        elif not best:
            if worst <= 1:
                break
            streams = worst // 2
        elif worst - best <= max(1, 0.1 * best):
            break
        else:
            streams = (best + worst) // 2
    return Answer(load_rps=rates.get(best, 0.0))


def redline(timeout_s: float = 10.0) -> Rule:
    """OpenSearch Benchmark's `--redline-test`, `worker_coordinator.py`: clients until an error.

    It wakes once a second, and two wake-ups are a step: five more clients while no request fails; a
    tenth fewer and 30 s of rest after a failure. It knows no target; a request fails after the
    client's time-out of 10 s. Up to 1,000 clients, 2 min. The answer is the most clients that were
    stable, and what they achieved.
    """
    active, most, stable, rate = 0, 1000, 0, 0.0
    for _ in range(60):
        active = min(most, active + 5)
        seen = yield Ask(client=Client.CLOSED, load=active, seconds=2.0)
        if (seen.latencies > timeout_s).any():
            active = active - math.ceil(0.1 * active)
            yield Ask(client=Client.CLOSED, load=max(1, active), seconds=30.0)
        elif active > stable:
            stable, rate = active, seen.achieved_rps
    return Answer(load_rps=rate)


def wrk2_loop() -> Rule:
    """wrk2 in a shell loop: 5,000 a second more until p99 is above the bound.

    20 s a step, of which wrk2 calibrates for 10 s (`CALIBRATE_DELAY_MS`) and counts the rest.
    Latency is from the due time. Steps are ten on the way to the capacity that was guessed.
    """
    good, rate = 0.0, 5000.0
    while True:
        seen = yield Ask(client=Client.PACED, load=rate, seconds=20.0)
        counted = seen.latencies[len(seen.latencies) // 2 :]
        if float(np.quantile(counted, 0.99)) > seen.bound_s or seen.achieved_rps < 0.9 * rate:
            return Answer(load_rps=good)
        good, rate = rate, rate + 5000.0


def k6_ramp() -> Rule:
    """k6's `ramping-arrival-rate` with `abortOnFail`: 0 to 60,000 a second in 3 min.

    A threshold is looked at every 2 s over *all* requests since the begin. The answer is the rate
    at which the run is aborted, as people read it off.
    """
    top_rps, seconds = 60_000.0, 180.0
    seen = yield Ask(client=Client.RAMP, load=top_rps, seconds=seconds)
    order = np.argsort(seen.ended, kind="stable")
    ended, over = seen.ended[order], np.cumsum(seen.latencies[order] > seen.bound_s)
    looks = np.arange(2.0, seconds, 2.0)
    known = np.searchsorted(ended, looks)
    fails = (known > 0) & (over[np.maximum(known, 1) - 1] > 0.01 * known)
    at_s = float(looks[np.argmax(fails)]) if fails.any() else seconds
    return Answer(load_rps=top_rps * at_s / seconds, spent_s=at_s)


def jmeter_staircase() -> Rule:
    """JMeter's constant-throughput timer: 64 threads, 5,000 a second more each 30 s.

    A thread waits for its reply, and its clock starts when it sends. The last step whose p99 is
    within the bound, and whose rate is achieved, is the answer.
    """
    good, rate = 0.0, 5000.0
    while True:
        seen = yield Ask(client=Client.LIMITED, load=rate, seconds=30.0)
        if not seen.holds or seen.achieved_rps < 0.95 * rate:
            return Answer(load_rps=good)
        good, rate = rate, rate + 5000.0


RULES: dict[str, Callable[[], Rule]] = {
    "cachecannon": cachecannon,
    "nighthawk": nighthawk,
    "guidellm goodput": guidellm,
    "OSB redline": redline,
    "wrk2 in a loop": wrk2_loop,
    "k6 ramp": k6_ramp,
    "JMeter staircase": jmeter_staircase,
}
