"""`sojourn-serve`: a service whose service times are known, the ground truth of a self-check (M20).

One thread serves n servers in virtual time, so it wants one CPU, whatever n is. When it ends it
reports the service times it drew and the outages it had itself, which no theory contains.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn import programs
from sojourn.places import ports
from sojourn.places.ports import Address
from sojourn.places.task import Task
from sojourn.services.capabilities import (
    Demands,
    Describes,
    Filling,
    Fills,
    Instrument,
    Needs,
    Pins,
    Rows,
    Versioned,
)
from sojourn.services.kind import Allowance, Endpoint, Json, Program, Service, ServiceKind, Start
from sojourn.services.params import Param, Value, settle

NAME = "synthetic"
PROGRAM = "sojourn-serve"
REPORT = "serve.json"
BODY = b"is anybody there?"
ECHO = struct.pack(">QI", 0, len(BODY)) + BODY  # number, length, body: crates/base/src/echo.rs

PARAMS = (
    Param(
        name="service",
        about="service time: fixed:200us, exponential:200us, lognormal:1ms,2, "
        "bimodal:10us,1ms,0.01",
        default="exponential:200us",
        type=str,
    ),
    Param(name="servers", about="servers behind one line (M/M/n)", default=1, lo=1, hi=1024),
    Param(
        name="protocol",
        about="what it speaks",
        default="echo",
        type=str,
        choices=("echo", "memcache"),
    ),
    Param(
        name="stall",
        about="stalls without service, LENGTH/PERIOD: 100ms/1s; empty: none",
        default="",
        type=str,
    ),
    Param(
        name="mode",
        about="spin: exact times, the CPU is always busy; sleep: it is not",
        default="spin",
        type=str,
        choices=("spin", "sleep"),
    ),
    Param(name="items", about="memcache: distinct keys", default=1000, lo=1, hi=10_000_000),
    Param(name="value_bytes", unit="bytes", about="size of a value", default=200, lo=1, hi=1 << 20),
    Param(
        name="seed",
        about="random seed of the service times; 0: a new one",
        default=0,
        lo=0,
        hi=(1 << 53),
    ),
    Param(name="port", about="loopback port; 0: a free one", default=0, lo=0, hi=65_535),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic(Program, Describes, Versioned, Demands, Fills, Pins, Instrument):
    """One synthetic service whose parameters are settled."""

    path: Path
    service: str
    servers: int
    protocol: str
    stall: str
    mode: str
    items: int
    value_bytes: int
    seed: int
    port: int

    def setup(self) -> Rows:
        """Version, service time and protocol as (name, text), for people."""
        return (
            ("version", self.version()),
            ("service time", self.service),
            ("servers", f"{self.servers} in virtual time, on one CPU"),
            ("protocol", self.protocol),
            ("stalls", self.stall or "none"),
            ("waits by", self.mode),
        )

    def needs(self) -> Needs:
        """The port that the study gave."""
        return Needs(port=self.port)

    def start(self, work: Path, address: Address) -> Start:
        """The lab's own `sojourn-serve`, which writes a report when it ends.

        Writes are free of service time, so that filling it is quick.
        """
        words = (
            *("--protocol", self.protocol, "--service", self.service),
            *("--servers", str(self.servers), "--mode", self.mode, "--seed", str(self.seed)),
            *("--host", address.host, "--port", str(address.port), "--free-writes"),
            *(("--stall", self.stall) if self.stall else ()),
            *("--json", str(work / REPORT)),
        )
        return Start(program=self.path, words=words, reports=(REPORT,))

    def endpoint(self, address: Address) -> Endpoint:
        """The protocol it was given, and the data set if there is one."""
        job: dict[str, Json] = {"value_size": str(self.value_bytes)}
        if self.protocol != "echo":
            job["items"] = self.items
        return Endpoint(target=f"{self.protocol}://{address}", job=job)

    def ready(self, address: Address, within_s: float) -> bool:
        """Ask for the version, or for a frame back."""
        if self.protocol == "echo":
            reply = ports.ask(address, ECHO, within_s=within_s, until=BODY)
            return reply is not None
        reply = ports.ask(address, b"version\r\n", within_s=within_s, until=b"\r\n")
        return reply is not None and reply.startswith(b"VERSION ")

    def filling(self) -> Filling:
        """Its keys, if its protocol has any."""
        return Filling(is_preloaded=self.protocol == "memcache")

    def is_instrument(self) -> bool:
        """It is the truth that the instrument is held against, and must not be stopped either."""
        return True

    def pinned(self, tasks: Sequence[Task]) -> tuple[int, ...]:
        """Its one thread that serves, if `tasks` has it."""
        return tuple(task.tid for task in tasks if task.tid == task.pid)[:1]

    def version(self) -> str:
        """Its version, as `sojourn-serve --version` says it."""
        return programs.says(self.path, "--version")


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle the parameters; the program itself checks the distribution."""
    del allowance
    got = settle(NAME, PARAMS, inputs)
    return Synthetic(
        path=programs.find(PROGRAM),
        service=str(got["service"]),
        servers=int(got["servers"] or 1),
        protocol=str(got["protocol"]),
        stall=str(got["stall"]),
        mode=str(got["mode"]),
        items=int(got["items"] or 1),
        value_bytes=int(got["value_bytes"] or 1),
        seed=int(got["seed"] or 0),
        port=int(got["port"] or 0),
    )


KIND = ServiceKind(
    name=NAME,
    about="synthetic service with known service times: the truth that a self-check knows",
    params=PARAMS,
    needs=(f"{PROGRAM} (make build)",),
    source="METHOD M20",
    width=None,
    build=build,
)
