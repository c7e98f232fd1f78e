"""What the lab's own query services have in common: `sojourn-query`, in TailBench's shape (P4).

The inputs are the server's own, `GET /q/{n}` names one, one line holds all requests, and N threads
that can be pinned take them from it. Each query has one right answer, which a service's file here
computes anew from the seed, in another language than the server's: so a service that answers
quickly and wrongly is found out.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from sojourn import late, programs
from sojourn.errors import RunFault
from sojourn.places.ports import Address
from sojourn.places.task import Task
from sojourn.services.capabilities import (
    Checks,
    Demands,
    Describes,
    Filling,
    Fills,
    Needs,
    Pins,
    Rows,
    Versioned,
    reply_s,
)
from sojourn.services.clients import http_get
from sojourn.services.kind import Allowance, Endpoint, Json, Program, Start
from sojourn.services.params import Param, Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late.module("numpy")

PROGRAM = "sojourn-query"
REPORT = "query.json"
PATTERN = "/q/{}"
WORKER = "worker-"
THREADS_PAPER = 8  # P6, the most of its scenarios
ANSWER_S_MAX = 5.0
REPLY_MAX = 1 << 20  # bytes of an answer; more is none

Words: TypeAlias = "NDArray[np.uint64]"
GAMMA = 0x9E3779B97F4A7C15
STREAMS = 0x51_5545_5259  # crates/query/src/numbers.rs

PARAMS = (
    Param(
        name="threads",
        about="workers that share one queue; default: 8 (P6), or one per server CPU if there are "
        'fewer; "cpus", "cpus+1": by the server\'s CPUs',
        default=None,
        lo=1,
        hi=1024,
        relative=True,
    ),
    Param(name="queries", about="number of different queries", default=10_000, lo=1, hi=10_000_000),
    Param(name="seed", about="random seed of data and queries", default=1, lo=0, hi=(1 << 53)),
    Param(name="port", about="loopback port; 0: a free one", default=0, lo=0, hi=65_535),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries(Program, Describes, Versioned, Demands, Fills, Checks, Pins):
    """One query service whose parameters are settled."""

    path: Path
    threads: int
    queries: int
    seed: int
    port: int
    why: tuple[tuple[str, str], ...]

    @property
    @abstractmethod
    def work(self) -> tuple[str, ...]:
        """Flags that say what a query does."""

    @property
    @abstractmethod
    def reply_bytes(self) -> int:
        """Length of an answer: all have the same."""

    @property
    def against(self) -> str:
        """What answers are held against, for people."""
        return "computed anew"

    @property
    def fix(self) -> str:
        """What to do where an answer is wrong."""
        return "build program and lab from one checkout: make build"

    @abstractmethod
    def is_answer(self, query: int, text: str) -> bool:
        """Whether this is the answer to a query; the lab knows it by other means."""

    def needs(self) -> Needs:
        """Its workers are the threads that serve requests."""
        return Needs(workers=self.threads, port=self.port)

    def start(self, work: Path, address: Address) -> Start:
        """Its program with its words; it reports service times with their interval at its end."""
        return Start(program=self.path, words=self.words(work, address), reports=(REPORT,))

    def words(self, work: Path, address: Address) -> tuple[str, ...]:
        """Flags: what it does, how many workers, where it listens."""
        return (
            *self.work,
            *("--threads", str(self.threads), "--queries", str(self.queries)),
            *("--seed", str(self.seed), "--host", address.host, "--port", str(address.port)),
            *("--json", str(work / REPORT)),
        )

    def endpoint(self, address: Address) -> Endpoint:
        """Which queries there are, and how long an answer is: a shorter one is no hit."""
        job: dict[str, Json] = {
            "items": self.queries,
            "paths": [PATTERN],
            "expect_bytes": self.reply_bytes,
        }
        return Endpoint(target=f"http://{address}/", job=job)

    def ready(self, address: Address, within_s: float) -> bool:
        """Whether it answers the first query with anything of the right length."""
        return len(self._ask(0, address, within_s) or "") == self.reply_bytes

    def _ask(self, query: int, address: Address, within_s: float) -> str | None:
        """The body of an answer; None if it is refused, silent for too long, or no answer."""
        status, body = http_get.text(address, PATTERN.format(query), within_s, REPLY_MAX)
        return body if status == HTTPStatus.OK else None

    def filling(self) -> Filling:
        """So many requests that every worker has touched what it needs."""
        return Filling(requests=100 * self.threads)

    def check(self, address: Address) -> Rows:
        """Hold the answers to a few queries against those that are computed here.

        Raises:
            RunFault: one is wrong.
        """
        within_s = max(ANSWER_S_MAX, reply_s(self))
        last = self.queries - 1
        sample = sorted({0, min(1, last), self.queries // 3, self.queries // 2, last})
        for query in sample:
            text = self._ask(query, address, within_s)
            if text is None or not self.is_answer(query, text):
                message = "nothing" if text is None else repr(text[:60])
                raise RunFault(
                    f"query {query} is answered wrongly: {message}",
                    at=f"{self.path.name} at {address}",
                    fix=f"see service.log in the point's folder; {self.fix}",
                )
        many = "1 query" if len(sample) == 1 else f"{len(sample)} queries"
        return (("answers checked", f"{many}, {self.against}"),)

    def pinned(self, tasks: Sequence[Task]) -> tuple[int, ...]:
        """Its workers in their order, by the names of their threads."""
        named = {
            int(task.name.removeprefix(WORKER)): task.tid
            for task in tasks
            if task.name.startswith(WORKER) and task.name.removeprefix(WORKER).isdigit()
        }
        return tuple(tid for _, tid in sorted(named.items()))

    def version(self) -> str:
        """Its version, as `sojourn-query --version` says it."""
        return programs.says(self.path, "--version")


def threads_of(
    value: Value | None, allowance: Allowance
) -> tuple[int, tuple[tuple[str, str], ...]]:
    """How many workers, and why that many."""
    cpus = allowance.cpus
    if value is not None:
        turns = f"; {value} on {cpus} CPUs: they take turns (L23)" if int(value) > cpus else ""
        return int(value), (("threads", f"{value}, as the study says{turns}"),)
    threads = min(THREADS_PAPER, cpus)
    return threads, (("threads", f"{threads}: one per server CPU, 8 at most (P6)"),)


def numbers(seed: int, nth: Words) -> Words:
    """The numbers of a stream by their places: SplitMix64, of which the state is a counter.

    Source: Steele, Lea, Flood, OOPSLA 2014; `crates/query/src/numbers.rs`.

    >>> numbers(1234567, np.arange(2, dtype=np.uint64))
    array([6457827717110365317, 3203168211198807973], dtype=uint64)
    """
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.uint64(GAMMA) * (nth + np.uint64(1))
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)), np.uint64)


def stream(seed: int, nth: int) -> int:
    """The seed of one of several streams."""
    return int(numbers(seed ^ STREAMS, np.array([nth], np.uint64))[0])


def units(seed: int, first: int, count: int) -> NDArray[np.float64]:
    """Numbers of a stream in [0, 1), from place `first` on."""
    places = np.arange(first, first + count, dtype=np.uint64)
    return np.asarray((numbers(seed, places) >> np.uint64(11)) / float(1 << 53), np.float64)
