"""TPC-C in memory by optimistic transactions: TailBench's silo in our own terms (P4).

What it must answer is replayed by `company`, a second implementation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sojourn import programs
from sojourn.errors import HostFault
from sojourn.places.ports import Address
from sojourn.services.capabilities import Needs, Rows
from sojourn.services.kind import Allowance, Service, ServiceKind, Start
from sojourn.services.params import Param, Value, settle
from sojourn.services.tailbench.queries import PARAMS as COMMON
from sojourn.services.tailbench.queries import PROGRAM, threads_of
from sojourn.services.tpcc.draws import Scale
from sojourn.services.tpcc.trade import Trade

NAME = "silo"
ITEMS = 100_000  # TPC-C 1.2
ITEMS_MIN = 10_000
ITEM_BYTES = 1600  # its stock, and its share of customers, orders and lines, each with its node
SHARE = 0.5  # of the memory that is free
SPARE_BYTES = 64 << 20
START_S = 60.0
END_S = 5.0
AUDITED_PER_S = 100_000  # items, when it ends: 640 000 measured on one that was busy

PARAMS = (
    Param(
        name="warehouses",
        about="of ten districts each; with fewer than threads, transactions get into each "
        "other's way more often",
        default=1,
        lo=1,
        hi=1000,
    ),
    Param(
        name="items",
        about="items that a warehouse stocks, and 3 % as many customers in a district; default: "
        "100 000 times the profile's share, 10 000 at least",
        default=None,
        lo=1000,
        hi=1_000_000,
    ),
    Param(
        name="batch",
        about="transactions of a query; 4: about 0.1 ms, a fifth of the LQoS of silo (P8)",
        default=4,
        lo=1,
        hi=100_000,
    ),
    *COMMON,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Silo(Trade):
    """One store whose parameters are settled."""

    @property
    def scale(self) -> Scale:
        """Warehouses that supply each other."""
        return Scale(warehouses=self.warehouses, items=self.items)

    def setup(self) -> Rows:
        """Version, data and workers as (name, text), for people."""
        houses = f"{self.warehouses} warehouse{'s' if self.warehouses > 1 else ''}"
        return (
            ("version", self.version()),
            ("data", f"TPC-C, {houses} of {self.items:,} items in skip lists".replace(",", " ")),
            ("queries", f"{self.queries} batches of {self.batch} transactions, seed {self.seed}"),
            *self.why,
        )

    @property
    def work(self) -> tuple[str, ...]:
        """Flags of a batch of transactions on this company."""
        sizes = ("--warehouses", str(self.warehouses), "--items", str(self.items))
        return ("--work", "silo", *sizes, "--batch", str(self.batch))

    def needs(self) -> Needs:
        """What its tables take, and some for the rest."""
        memory_bytes = self.warehouses * self.items * ITEM_BYTES + SPARE_BYTES
        return replace(Trade.needs(self), memory_bytes=memory_bytes)

    def start(self, work: Path, address: Address) -> Start:
        """As a query service; it fills its tables first, and audits them before it reports."""
        items = self.warehouses * self.items
        return replace(
            Trade.start(self, work, address),
            ready_s=START_S + items / 20_000,
            stop_s=END_S + items / AUDITED_PER_S,
        )


def items_of(
    value: Value | None, warehouses: int, allowance: Allowance
) -> tuple[int, tuple[tuple[str, str], ...]]:
    """How many items a warehouse stocks, and why that many.

    Raises:
        HostFault: what the study asks for does not fit into memory.
    """
    fits = int(allowance.memory_bytes * SHARE) // (ITEM_BYTES * warehouses)
    items = int(value) if value is not None else max(ITEMS_MIN, round(ITEMS * allowance.scale))
    if items > fits:
        raise HostFault(
            f"{warehouses} warehouses of {items} items do not fit: memory allows {fits} items each",
            at=f"service {NAME}, warehouses = {warehouses}, items = {items}",
            fix="give fewer warehouses or items",
        )
    why = "as the study says" if value is not None else f"profile {allowance.profile}"
    return items, (("items", f"{items:,} ({why})".replace(",", " ")),)


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle the parameters for this machine."""
    got = settle(NAME, PARAMS, inputs, cpus=allowance.cpus)
    threads, why = threads_of(got["threads"], allowance)
    warehouses = int(got["warehouses"] or 1)
    items, because = items_of(got["items"], warehouses, allowance)
    return Silo(
        path=programs.find(PROGRAM),
        threads=threads,
        queries=int(got["queries"] or 1),
        seed=int(got["seed"] or 0),
        port=int(got["port"] or 0),
        warehouses=warehouses,
        items=items,
        batch=int(got["batch"] or 1),
        why=(*because, *why),
    )


KIND = ServiceKind(
    name=NAME,
    about="TPC-C in memory by optimistic transactions: TailBench's silo, about 0.1 ms a query",
    params=PARAMS,
    needs=(f"{PROGRAM} (make build)",),
    source="PAPERS P4, P8, P10, P11",
    build=build,
)
