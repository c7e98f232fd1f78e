# ruff: noqa: ANN001, ANN201, S311 - a script as the library's users write it
"""M/M/4 in SimPy, written as its documentation does: `python simpy_mm4.py REQUESTS SEED`."""

import random
import sys

import simpy

RATE, SERVICE, SERVERS = 3.2, 1.0, 4


def request(env, servers, rng, times):
    arrived = env.now
    with servers.request() as turn:
        yield turn
        yield env.timeout(rng.expovariate(1.0 / SERVICE))
    times.append(env.now - arrived)


def arrivals(env, servers, rng, times, count):
    for _ in range(count):
        yield env.timeout(rng.expovariate(RATE))
        env.process(request(env, servers, rng, times))


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    env, rng, times = simpy.Environment(), random.Random(seed), []
    servers = simpy.Resource(env, capacity=SERVERS)
    env.process(arrivals(env, servers, rng, times, count))
    env.run()
    print(len(times), sum(times) / len(times))


main()
