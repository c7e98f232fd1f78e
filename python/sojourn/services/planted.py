"""A service whose class is known because it was built so: what `sojourn classify` is held against.

Its workers share nothing, or all wait for one lock, write to the disk, or read memory all the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import late, programs
from sojourn.places.ports import Address
from sojourn.services.capabilities import Filling, Needs, Rows
from sojourn.services.kind import Allowance, Service, ServiceKind
from sojourn.services.params import Param, Value, settle
from sojourn.services.tailbench.queries import PARAMS as COMMON
from sojourn.services.tailbench.queries import PROGRAM, Queries, numbers, stream, threads_of

if TYPE_CHECKING:
    import numpy as np
else:
    np = late.module("numpy")

NAME = "planted"
WORDS = 1 << 35  # stream of the answers: crates/query/src/work/planted.rs
REPLY_BYTES = 39
MEMORY_BYTES = {"streams": 192 << 20}  # 128 MB are read; others need little
SPARE_BYTES = 32 << 20

PARAMS = (
    Param(
        name="does",
        about="scales: workers share nothing; locks: one lock for all; writes: 64 KiB to the disk "
        "and wait until they are there; streams: reads memory beyond the caches",
        default="scales",
        type=str,
        choices=("scales", "locks", "writes", "streams"),
    ),
    Param(name="busy_us", about="CPU time of a query, us", default=1000, lo=0, hi=1_000_000),
    Param(
        name="wait_us",
        about="what it waits for something else, us",
        default=1000,
        lo=0,
        hi=1_000_000,
    ),
    *COMMON,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted(Queries):
    """One planted service whose parameters are settled."""

    does: str
    busy_us: int
    wait_us: int

    def setup(self) -> Rows:
        """Version, what a query does and workers as (name, text), for people."""
        return (
            ("version", self.version()),
            (
                "does",
                f"{self.does}: {self.busy_us} us of CPU time, then a wait of {self.wait_us} us",
            ),
            *self.why,
        )

    @property
    def work(self) -> tuple[str, ...]:
        """Flags of what it does; a writer's files are where it is told to work."""
        times = ("--busy-us", str(self.busy_us), "--wait-us", str(self.wait_us))
        return ("--work", "planted", "--does", self.does, *times)

    def words(self, work: Path, address: Address) -> tuple[str, ...]:
        """The flags of a query service, and the folder of a writer's files."""
        return (*Queries.words(self, work, address), "--folder", str(work))

    @property
    def reply_bytes(self) -> int:
        """A number and a word."""
        return REPLY_BYTES

    def needs(self) -> Needs:
        """What streamers read, and some for the rest."""
        memory_bytes = MEMORY_BYTES.get(self.does, 0) + SPARE_BYTES
        usual, is_syncing = Queries.needs(self), self.does == "writes"
        return replace(usual, memory_bytes=memory_bytes, is_syncing=is_syncing)

    def filling(self) -> Filling:
        """So many requests that every worker has had some."""
        return Filling(requests=10 * self.threads)

    def is_answer(self, query: int, text: str) -> bool:
        """Whether the word is that of the query."""
        word = int(numbers(stream(self.seed, WORDS), np.array([query], np.uint64))[0])
        return text == f"query {query:>10} word {word:016x}\n"


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle the parameters for this machine."""
    got = settle(NAME, PARAMS, inputs, cpus=allowance.cpus)
    threads, why = threads_of(got["threads"], allowance)
    return Planted(
        path=programs.find(PROGRAM),
        threads=threads,
        queries=int(got["queries"] or 1),
        seed=int(got["seed"] or 0),
        port=int(got["port"] or 0),
        does=str(got["does"]),
        busy_us=int(got["busy_us"] or 0),
        wait_us=int(got["wait_us"] or 0),
        why=why,
    )


KIND = ServiceKind(
    name=NAME,
    about="a service of known class, to test the classifier",
    params=PARAMS,
    needs=(f"{PROGRAM} (make build)",),
    source="PAPERS P1, P17",
    build=build,
)
