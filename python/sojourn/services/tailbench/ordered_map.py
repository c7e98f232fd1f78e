"""Batches of operations on a concurrent ordered map: TailBench's masstree in our own terms (P4).

What the answers must be follows in closed form from the seed: which items a batch reads and
scans, and what those hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import late, programs
from sojourn.errors import HostFault
from sojourn.places.ports import Address
from sojourn.services.capabilities import Needs, Rows
from sojourn.services.kind import Allowance, Service, ServiceKind, Start
from sojourn.services.params import Param, Value, settle
from sojourn.services.tailbench.queries import PARAMS as COMMON
from sojourn.services.tailbench.queries import PROGRAM, Queries, numbers, stream, threads_of

if TYPE_CHECKING:
    import numpy as np
else:
    np = late.module("numpy")

NAME = "ordered_map"
ITEMS = 1_000_000
ITEMS_MIN = 50_000
ITEM_BYTES = 400  # 200 of data, and a node of the list with its allocations
SHARE = 0.5  # of the memory that is free
WORDS, SCAN = 25, 10  # 8-byte words of an item; items of a scan
READS, WRITES, SCANS = 120, 240, 248  # of 256 operations, crates/query/src/work/map.rs
VALUES, OPERATIONS = 1 << 33, 1 << 34  # streams
REPLY_BYTES = 64
SPARE_BYTES = 64 << 20
START_S = 60.0
FILLED_PER_S = 100_000  # items, on a machine that is busy; 220 000 were measured on such a one

PARAMS = (
    Param(
        name="items",
        about="items of 200 bytes; default: 1 M times the profile's share, 50 000 at least",
        default=None,
        lo=1,
        hi=100_000_000,
    ),
    Param(name="batch", about="operations of a query (P4)", default=200, lo=1, hi=100_000),
    *COMMON,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedMap(Queries):
    """One map whose parameters are settled."""

    items: int
    batch: int

    def setup(self) -> Rows:
        """Version, data and workers as (name, text), for people."""
        return (
            ("version", self.version()),
            ("data", f"{self.items:,} items of {8 * WORDS} B in a skip list".replace(",", " ")),
            ("queries", f"{self.queries} batches of {self.batch} operations, seed {self.seed}"),
            *self.why,
        )

    @property
    def work(self) -> tuple[str, ...]:
        """Flags of a batch of operations on these items."""
        sizes = ("--items", str(self.items), "--batch", str(self.batch))
        return ("--work", "ordered-map", *sizes)

    @property
    def reply_bytes(self) -> int:
        """How much was found, and what it adds up to."""
        return REPLY_BYTES

    def needs(self) -> Needs:
        """What its items take, and some for the rest."""
        memory_bytes = self.items * ITEM_BYTES + SPARE_BYTES
        return replace(Queries.needs(self), memory_bytes=memory_bytes)

    def start(self, work: Path, address: Address) -> Start:
        """As a query service; it fills its map first."""
        ready_s = START_S + self.items / FILLED_PER_S
        return replace(Queries.start(self, work, address), ready_s=ready_s)

    def is_answer(self, query: int, text: str) -> bool:
        """Whether it found what the batch must find."""
        count, total = lookup(self.seed, self.items, self.batch, query)
        head = f"query {query:>10} batch {self.batch:>6}"
        return text == f"{head} found {count:>6} sum {total:016x}\n"


def lookup(seed: int, items: int, batch: int, query: int) -> tuple[int, int]:
    """How many items a query finds, and the sum of what it reads of them, modulo 2**64."""
    places = np.arange(query * batch, (query + 1) * batch, dtype=np.uint64)
    drawn = numbers(stream(seed, OPERATIONS), places)
    item, kind = drawn % np.uint64(items), drawn >> np.uint64(56)
    values = stream(seed, VALUES)
    read = item[kind < READS]
    scans = item[(kind >= WRITES) & (kind < SCANS)]
    seen = (scans[:, None] + np.arange(SCAN, dtype=np.uint64)[None, :]).ravel()
    seen = seen[seen < items]
    words = (read[:, None] * np.uint64(WORDS) + np.arange(WORDS, dtype=np.uint64)[None, :]).ravel()
    total = sum(map(int, numbers(values, words)))
    total += sum(map(int, numbers(values, seen * np.uint64(WORDS))))
    return len(read) + len(seen), total % (1 << 64)


def items_of(value: Value | None, allowance: Allowance) -> tuple[int, tuple[tuple[str, str], ...]]:
    """How many items, and why that many.

    Raises:
        HostFault: what the study asks for does not fit into memory.
    """
    fits = int(allowance.memory_bytes * SHARE) // ITEM_BYTES
    if value is None:
        wanted = max(ITEMS_MIN, round(ITEMS * allowance.scale))
        items = max(1, min(wanted, fits))
        limit = "all that memory allows" if items < wanted else f"profile {allowance.profile}"
        return items, (("items", f"{items:,} ({limit})".replace(",", " ")),)
    if int(value) > fits:
        raise HostFault(
            f"{value} items do not fit: memory allows {fits}",
            at=f"service {NAME}, items = {value}",
            fix=f"give at most {fits} items",
        )
    return int(value), (("items", f"{value}, as the study says"),)


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle the parameters for this machine."""
    got = settle(NAME, PARAMS, inputs, cpus=allowance.cpus)
    threads, why = threads_of(got["threads"], allowance)
    items, because = items_of(got["items"], allowance)
    return OrderedMap(
        path=programs.find(PROGRAM),
        threads=threads,
        queries=int(got["queries"] or 1),
        seed=int(got["seed"] or 0),
        port=int(got["port"] or 0),
        items=items,
        batch=int(got["batch"] or 1),
        why=(*because, *why),
    )


KIND = ServiceKind(
    name=NAME,
    about="batches of operations on a concurrent ordered map in memory: TailBench's masstree",
    params=PARAMS,
    needs=(f"{PROGRAM} (make build)",),
    source="PAPERS P4, P11",
    build=build,
)
