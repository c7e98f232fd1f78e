"""Compare the generator with its peers: interleaved in one run, as ratios, raw rows kept.

Usage: make bench, or  .venv/bin/python bench/run.py [--rounds 8] [--seconds 4] [--only peak]

Peers are taken from PATH when they are there: cachecannon, mutilate, memtier_benchmark, wrk,
redis-benchmark, mc-crusher. The server has CPU 0, the tool CPU 1.
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import sys
from pathlib import Path

from measure import CLIENT_CPU, SERVER_CPU, Row
from peers import KINDS, Case, Peer
from rounds import arguments, interleaved, keep
from servers import Served, requests_seen, started
from summary import show

CASES = (
    *(Case("memcache", n, None, "auto") for n in (16, 64)),
    *(Case("memcache", 16, rate, wait) for rate in (20_000, 50_000) for wait in ("spin", "sleep")),
    *(Case("resp", n, None, "auto") for n in (16, 64)),
    *(Case("http", n, None, "auto") for n in (16, 64)),
)

COUNTED = (
    "CPU time: the kernel's for the whole process, over the requests that the server counted, both "
    "only while the load ran."
)


def main() -> int:
    asked = arguments(__doc__, "memcache/peak")
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    if len(os.sched_getaffinity(0)) <= CLIENT_CPU:
        print(
            "error: one CPU only\n  at: this machine\n  fix: the comparison needs two",
            file=sys.stderr,
        )
        return 2
    here = [peer for peer in KINDS if peer.is_here()]
    cases = [case for case in CASES if asked.only in case.name]
    absent = ", ".join(peer.name for peer in KINDS if not peer.is_here())
    print(f"tools: {', '.join(peer.name for peer in here)}; not in PATH: {absent or 'none'}")
    rows = collect(cases, here, asked)
    blind = {peer.name for peer in KINDS if not peer.measures_latency}
    text = show(rows, blind)
    print(text)
    print(f"\nkept in {keep(rows, text, '', COUNTED)}")
    return 0


def collect(cases: list[Case], here: list[Peer], asked: argparse.Namespace) -> list[Row]:
    """All rows; in each round every tool runs once, in random order, on the same server process."""
    rows: list[Row] = []
    order = random.Random(1)  # noqa: S311 - an order, no secret
    for case in cases:
        taking_part = [peer for peer in here if peer.takes(case)]
        with started(case.protocol, cpu=SERVER_CPU) as (pid, port):
            server = Served(pid, port, functools.partial(requests_seen, case.protocol, port))
            rows += interleaved(case, taking_part, server, asked, order)
    return rows


if __name__ == "__main__":
    sys.exit(main())
