"""The server that every search rule meets: a queue of known border, and five kinds of client.

A search sees one start of the service unless its rule restarts it. Starts differ in capacity as in
`sojourn.analysis.queue`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.random import Generator

from sojourn.analysis.queue import Floats, Queue


class Client(Enum):
    """How requests come, and from when their latency counts."""

    POISSON = "at random times, from when a request is due"
    PACED = "at even distances, from when a request is due"
    LIMITED = "at even distances over some connections, from when a request is sent"
    RAMP = "at a rate that grows from 0 to the load, from when a request is due"
    CLOSED = "each stream asks again when it has its reply, from when a request is sent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One trial.

    Attributes:
        client: kind of client.
        load: requests a second; of a closed client its streams; of a ramp the last rate.
        seconds: length.
        connections: of a limited client.
    """

    client: Client
    load: float
    seconds: float
    connections: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a client reports of a trial.

    Attributes:
        latencies: s, in the order of arrivals.
        ended: s from the begin at which each reply came.
        achieved_rps: replies within the trial, a second.
        bound_s: of the target.
    """

    latencies: Floats
    ended: Floats
    achieved_rps: float
    bound_s: float

    @property
    def p99_s(self) -> float:
        """0 without requests."""
        return float(np.quantile(self.latencies, 0.99)) if len(self.latencies) else 0.0

    @property
    def over(self) -> int:
        """Requests above the bound."""
        return int((self.latencies > self.bound_s).sum())

    @property
    def holds(self) -> bool:
        """Whether p99 of this sample is within the bound, as tools decide it."""
        return self.p99_s <= self.bound_s


@dataclass(slots=True)
class World:
    """A queue of which a rule sees one start, and how much it was loaded.

    Attributes:
        queue: the server.
        capacity: of this start, as a ratio.
        rng: of all draws.
        spent_s: length of all trials.
        trials: how many.
    """

    queue: Queue
    capacity: float
    rng: Generator
    spent_s: float = 0.0
    trials: int = 0

    def measure(self, ask: Ask) -> Reading:
        """What becomes of a trial."""
        self.spent_s += ask.seconds
        self.trials += 1
        if ask.client is Client.CLOSED:
            latencies, ended = closed(self, ask)
        elif ask.client is Client.LIMITED:
            latencies, ended = limited(self, ask)
        else:
            at = arrivals(ask, self.rng)
            latencies = self.queue.sojourn(at, ask.seconds, self.rng, capacity=self.capacity)
            ended = at + latencies
        return Reading(
            latencies=latencies,
            ended=ended,
            achieved_rps=float((ended <= ask.seconds).sum()) / ask.seconds,
            bound_s=self.queue.bound_s,
        )


def arrivals(ask: Ask, rng: Generator) -> Floats:
    """When requests are due, s."""
    if ask.client is Client.RAMP:
        count = int(ask.load * ask.seconds / 2)
        return np.asarray(np.sqrt(2 * np.arange(1, count) * ask.seconds / ask.load), np.float64)
    if ask.client is Client.POISSON:
        return np.sort(rng.random(rng.poisson(ask.load * ask.seconds)) * ask.seconds)
    count = max(1, int(ask.load * ask.seconds))
    return np.asarray((np.arange(count) + rng.random()) / ask.load, np.float64)


def closed(world: World, ask: Ask) -> tuple[Floats, Floats]:
    """Streams that are never idle: servers always work, and a request waits for one round."""
    streams = int(ask.load)
    most = int(1.2 * world.queue.rate_rps * world.capacity * ask.seconds) + streams
    work = world.queue.work(most, world.rng, capacity=world.capacity)
    time, able = world.queue.capacity(ask.seconds, world.rng)
    busy = min(world.queue.servers, streams)  # each begins its next request when one has ended
    at_once = replace(world.queue, servers=busy)
    done = np.sort(at_once.served(np.zeros(most), work, [0.0] * busy))
    ended = np.interp(done, able, time)
    ended = ended[: int(np.searchsorted(ended, ask.seconds))]
    sent = np.concatenate([np.zeros(min(streams, len(ended))), ended[:-streams]])
    return ended - sent[: len(ended)], ended


def limited(world: World, ask: Ask) -> tuple[Floats, Floats]:
    """Requests that wait for a free connection, and whose clock starts when they have it.

    With as many connections as requests in a block, a request waits for the one a block before.
    """
    # It cannot send more than it gets replies for, whatever rate is asked for.
    most = 1.2 * world.queue.rate_rps * world.capacity + ask.connections / ask.seconds
    due = arrivals(replace(ask, load=min(ask.load, most)), world.rng)
    if ask.load > most:
        due *= most / ask.load
    work = world.queue.work(len(due), world.rng, capacity=world.capacity)
    time, able = world.queue.capacity(ask.seconds, world.rng)
    sent, ended = np.empty(len(due)), np.empty(len(due))
    servers = [0.0] * world.queue.servers
    for begin in range(0, len(due), ask.connections):
        now = slice(begin, begin + ask.connections)
        free = np.sort(ended[begin - ask.connections : begin])[: len(due[now])] if begin else 0.0
        sent[now] = np.maximum(due[now], free)
        done = world.queue.served(np.interp(sent[now], time, able), work[now], servers)
        ended[now] = np.interp(done, able, time)
    is_sent = sent <= ask.seconds
    return (ended - sent)[is_sent], ended[is_sent]
