"""Services of known class, as the samples that the probe would have taken of them.

A planted service is a bottleneck model: a request takes CPU time, waits for something that takes
none, may hold a lock that all threads share, and moves bytes through memory, disk and network that
can take so many. What n threads carry within QoS is the least that any of these allows, and what is
used follows from that. So the class is known, and a parameter moved a little moves it.

Source: asymptotic bounds of closed systems (Denning and Buzen, Computing Surveys 10, 1978); the
load within QoS of n threads at one queue is that of M/M/n with LQoS of five service times (P8).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from sojourn.models.classify import rules
from sojourn.models.classify.answer import Word
from sojourn.models.classify.scenario import CPU, MEMORY, NETWORK, READ, WRITE, Carried, Scenario
from sojourn.stats.queueing import mmn_quantile
from sojourn.stats.times import Floats

LQOS = 5.0  # mean service times, P8
FULL = 0.95  # of what memory, disk or network can take, at the load within QoS
SLOWER = 1.5  # how much longer a thread takes while its sibling runs; P10: 1.4 to 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """One service.

    Attributes:
        cpu_s: CPU time of a request, s.
        wait_s: that it waits for something that takes no CPU, s.
        serial: share of `cpu_s` for which it holds a lock that all threads share.
        spins: whether waiting for that lock takes CPU time.
        memory, reads, writes, sends: bytes of a request.
        memory_max: bytes/s that memory can take.
        is_peaky: the disk is used in one second of five only.
    """

    cpu_s: float = 1e-3
    wait_s: float = 0.0
    serial: float = 0.0
    spins: bool = False
    memory: float = 1e5
    reads: float = 0.0
    writes: float = 0.0
    sends: float = 500.0
    memory_max: float = 1e11
    is_peaky: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A planted service and the class that it has."""

    name: str
    service: Planted
    scalable: str
    smt: str
    critical: str


_YES, _NO, _OPEN = Word.YES.value, Word.NO.value, Word.UNDECIDED.value
_LOCK = Planted(serial=1.0)
_STREAM = Planted(memory=2e7, memory_max=9e9)
_DISK = Planted(cpu_s=1e-4, wait_s=1e-3, writes=65536)


def _known(name: str, service: Planted, *texts: str) -> Known:
    scalable, smt, critical = texts
    return Known(name=name, service=service, scalable=scalable, smt=smt, critical=critical)


# Each of the first four, and the same with a parameter moved.
TABLE: tuple[Known, ...] = (
    _known("global lock", _LOCK, _NO, _NO, rules.CPU_NO),
    _known("… sharded by 32", Planted(serial=1 / 32), _YES, _YES, rules.CPU_YES),
    _known("… that spins", Planted(serial=1.0, spins=True), _OPEN, _OPEN, rules.CPU),
    _known("memory streamer", _STREAM, _NO, _NO, rules.BANDWIDTH),
    _known(
        "… with 32 times of it there",
        Planted(memory=2e7, memory_max=2.88e11),
        _YES,
        _YES,
        rules.CPU_YES,
    ),
    _known("disk writer", _DISK, _YES, _NO, rules.DISK_WRITE),
    _known(
        "… that reads", Planted(cpu_s=1e-4, wait_s=1e-3, reads=65536), _YES, _NO, rules.DISK_READ
    ),
    _known(
        "… now and then",
        Planted(cpu_s=1e-4, wait_s=1e-3, writes=65536, is_peaky=True),
        _YES,
        _NO,
        _OPEN,
    ),
    _known("perfect scaler", Planted(), _YES, _YES, rules.CPU_YES),
    _known("… that mostly waits", Planted(cpu_s=1e-4, wait_s=1e-3), _YES, _NO, _OPEN),
    _known("… that streams", Planted(sends=1e6), _YES, _YES, rules.NETWORK),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What a planted service carries, requests/s, and uses of each resource, in its unit."""

    rps: float
    rates: Mapping[str, float]


def use(service: Planted, threads: int, *, is_packed: bool = False) -> Use:
    """What it carries within QoS with so many threads, and uses meanwhile."""
    usable = _usable(threads)
    busy_s = service.cpu_s * (_slowdown(service, usable) if is_packed else 1.0)
    by_threads = threads * usable / (busy_s + service.wait_s)
    by_lock = _usable(1) / (service.serial * busy_s) if service.serial else math.inf
    by_memory = FULL * service.memory_max / service.memory
    rps = min(by_threads, by_lock, by_memory)
    cpu = rps * busy_s / threads
    # Stalls are CPU time, and so is spinning: threads are as busy as QoS lets them be.
    if rps < by_threads and (rps == by_memory or service.spins):
        cpu = usable * busy_s / (busy_s + service.wait_s)
    return Use(
        rps=rps,
        rates={
            CPU: cpu,
            MEMORY: rps * service.memory,
            NETWORK: rps * service.sends,
            READ: rps * service.reads,
            WRITE: rps * service.writes,
        },
    )


@functools.lru_cache
def _usable(threads: int) -> float:
    """Share of their time that n threads at one queue may be busy for p95 to stay within LQoS."""
    lo, hi = 0.0, 1.0
    for _ in range(40):
        middle = (lo + hi) / 2
        p95 = mmn_quantile(0.95, threads, middle, 1.0)
        lo, hi = (middle, hi) if p95 <= LQOS else (lo, middle)
    return lo


def _slowdown(service: Planted, usable: float) -> float:
    """How much longer CPU time takes where a sibling runs in the meantime."""
    meets = usable * service.cpu_s / (service.cpu_s + service.wait_s)
    return 1 + (SLOWER - 1) * meets


def scenario(
    service: Planted,
    threads: int,
    rng: Generator,
    *,
    is_packed: bool = False,
    seconds: int = 30,
    spread: float = 0.1,
    has_load: bool = False,
    blind: Sequence[str] = (),
) -> Scenario:
    """What the probe would have seen of it, a sample a second.

    Args:
        service: that is planted.
        threads: how many serve.
        rng: of the noise: samples depend on the one before by a half.
        is_packed: whether they share cores in pairs.
        seconds: how long.
        spread: of a sample, relative.
        has_load: whether it is known what it carries.
        blind: resources that the host does not count.
    """
    result = use(service, threads, is_packed=is_packed)
    series = {
        name: [rate * np.exp(spread * _noise(rng, seconds) - spread**2 / 2)]
        for name, rate in result.rates.items()
        if name not in blind
    }
    if service.is_peaky:
        for name in {READ, WRITE} & set(series):
            series[name] = [5 * series[name][0] * (np.arange(seconds) % 5 == 0)]
    carried = Carried(rps=result.rps, lo=0.95 * result.rps, hi=1.05 * result.rps)
    return Scenario(
        threads=threads,
        is_packed=is_packed,
        series=series,
        load_rps=result.rps,
        carried=carried if has_load else None,
        capacity={CPU: 1.0, MEMORY: service.memory_max},
        unseen=dict.fromkeys(blind, "this host does not count it"),
    )


def _noise(rng: Generator, samples: int) -> Floats:
    """AR(1) with ρ = 0.5 and variance 1."""
    values = np.empty(samples)
    last = rng.standard_normal()
    for at, fresh in enumerate(rng.standard_normal(samples)):
        last = 0.5 * last + math.sqrt(0.75) * fresh
        values[at] = last
    return values
