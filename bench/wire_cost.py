"""CPU time per request over HTTP, gRPC, PostgreSQL and unix sockets, beside tools.

Usage: bench/wire/setup && .venv/bin/python bench/wire_cost.py [--rounds 8] [--only grpc]

In each round every tool runs once, in random order, on the same server process: server on CPU 0,
tool on CPU 1. CPU time is the kernel's for the whole process, taken while the load runs, over the
requests that the server counted meanwhile (NGINX, the greeter). PostgreSQL's own count comes up to
a second late: there it is the middle half of the tool's life, over the tool's own number a second.

At a rate sojourn-load takes part spinning, asleep, and asleep with wake-ups put off by 250 µs; what
spins uses its whole CPU, so its CPU time says only how many requests there were. The others sleep.
At the peak every connection has a request in flight, over HTTP/2 eight. wrk knows no rate. fortio
and h2load pace each connection, and wait for replies. fortio asks the greeter for its health, not
for a greeting: its messages are empty. NGINX speaks TLS 1.3 with one cipher only, so that all tools
encrypt alike. Over a unix socket ours is held against itself over TCP, on the same Redis. A run
that doubts its own numbers at a rate, or that others disturbed, is kept and does not count; 8
rounds take half an hour.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

from measure import CLIENT_CPU, SERVER_CPU, Row
from peers import Case, Peer, Reading
from rounds import arguments, interleaved, keep
from summary import show
from wire.endpoints import BIN, Endpoint, started
from wire.tools import TOOLS, Tool

PACED = (
    ("http", 16, 2_000),
    ("https", 16, 2_000),
    ("https", 16, 5_000),
    ("h2", 16, 5_000),
    ("grpc", 16, 2_000),
    ("postgres", 4, 1_000),
)
CASES = (
    *(
        Case(protocol, connections, rate, "auto")
        for protocol, connections, paced in PACED
        for rate in (paced, None)
        if (protocol, paced, rate) != ("https", 5_000, None)  # its peak is a case already
    ),
    Case("unix", 16, None, "auto"),
)
SERVERS = {
    "http": "/usr/sbin/nginx",
    "https": "/usr/sbin/nginx",
    "h2": "/usr/sbin/nginx",
    "grpc": str(BIN / "greeter"),
    "unix": "redis-server",
}
COUNTED = (
    "CPU time: the kernel's for the whole process, while the load ran, over the requests that the "
    "server counted; of PostgreSQL, in the middle half of the tool's life, over those that the "
    "tool says."
)


class Bound(Peer):
    """A tool that knows the address of a server."""

    def __init__(self, tool: Tool, at: Endpoint) -> None:
        self.tool, self.at = tool, at
        self.name, self.program = tool.name, tool.program

    def command(self, case: Case, port: int, seconds: int, scratch: Path) -> list[str]:
        return list(self.tool.command(self.at, case, seconds, scratch))

    def read(self, stdout: str, scratch: Path) -> Reading:
        return self.tool.read(stdout, scratch)


def main() -> int:
    asked = arguments(__doc__, "grpc/peak")
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    if len(os.sched_getaffinity(0)) <= CLIENT_CPU:
        text = "error: one CPU only\n  at: this machine\n  fix: the comparison needs two"
        print(text, file=sys.stderr)
        return 2
    for line in absent():
        print(line)
    rows = collect(asked)
    if not rows:
        print("error: no run gave a reading\n  fix: see above", file=sys.stderr)
        return 1
    text = show(rows, set())
    print(text)
    print(f"\nkept in {keep(rows, text, '-wire', f'{COUNTED}{versions(rows)}')}")
    return 0


def absent() -> list[str]:
    """A line for each program that is not here: what it is, and how it is installed."""
    missing = {tool.program: tool.get for tool in TOOLS if shutil.which(tool.program) is None}
    return [
        f"not here: {Path(program).name}; bench/wire/setup installs it, or: {get}"
        for program, get in missing.items()
    ]


def collect(asked: argparse.Namespace) -> list[Row]:
    """All rows; one server process for each case."""
    rows: list[Row] = []
    order = random.Random(1)  # noqa: S311 - an order, no secret
    for case in (one for one in CASES if asked.only in one.name):
        server = SERVERS.get(case.protocol, "pgbench")
        if shutil.which(server) is None:
            print(f"{case.name}: no {server}; bench/wire/setup installs it", file=sys.stderr)
            continue
        with started(case.protocol, SERVER_CPU) as at:
            part: list[Peer] = [Bound(tool, at) for tool in TOOLS if takes(tool, case)]
            rows += interleaved(case, part, at.served(), asked, order)
    return rows


def takes(tool: Tool, case: Case) -> bool:
    """Whether a tool that is here can do what a case asks for."""
    can = tool.has_peak if case.rate_rps is None else tool.has_rate
    return can and case.protocol in tool.protocols and shutil.which(tool.program) is not None


def versions(rows: list[Row]) -> str:
    """A list of the tools that took part, each with what it says of its version."""
    ran = {row.peer for row in rows}
    asked = {tool.program: tool.version for tool in TOOLS if tool.name in ran}
    lines = [
        f"- {Path(program).name}: {first_line(program, *how)}" for program, how in asked.items()
    ]
    return "\n\n" + "\n".join(lines)


def first_line(*words: str) -> str:
    """The first line that a program writes, wherever it writes it, without folders."""
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    line = next(iter((done.stdout + done.stderr).strip().splitlines()), "says nothing")
    return re.sub(r" from /\S+", "", line)


if __name__ == "__main__":
    sys.exit(main())
