"""An order service in a Java virtual machine: TailBench's specjbb in our own terms (P4).

It trades as `silo` does, by objects behind one monitor a warehouse, and each warehouse for itself.
The machine's own threads, the compiler's and the collector's, are part of it: they live in its
process, so they are placed, shielded, limited and accounted with its workers, which alone are
pinned. What it must answer is replayed by `company`.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sojourn import programs
from sojourn.errors import HostFault
from sojourn.install import specjbb as fetched
from sojourn.install.part import Made
from sojourn.places.ports import Address
from sojourn.services.capabilities import Filling, Needs, Prepares, Rows, RunsAs
from sojourn.services.kind import Allowance, Service, ServiceKind, Start
from sojourn.services.params import Param, Value, settle
from sojourn.services.tailbench.queries import PARAMS as COMMON
from sojourn.services.tailbench.queries import REPORT, threads_of
from sojourn.services.tpcc.draws import Scale
from sojourn.services.tpcc.trade import Trade

NAME = "specjbb"
ITEMS = 20_000
HEAP_MB = 512
OTHER_MB = 256  # of the machine itself: code, threads, its collector's tables
ITEM_BYTES = 500  # its stock, and its share of customers, orders and lines, as objects
SHARE = 0.5  # of the memory that is free, and of the heap for what lives for ever
START_S = 60.0
FRONT_REQUESTS = 20_000  # before its front is compiled too

PARAMS = (
    Param(
        name="warehouses",
        about="each serves one worker at a time; default: as many as threads, whatever the load "
        "(P11)",
        default=None,
        lo=1,
        hi=1024,
    ),
    Param(
        name="items",
        about="items that a warehouse stocks, and 3 % as many customers in a district",
        default=ITEMS,
        lo=1000,
        hi=1_000_000,
    ),
    Param(
        name="batch",
        about="transactions of a query; 80: about 0.14 ms, a fifth of the LQoS of specjbb (P8)",
        default=80,
        lo=1,
        hi=100_000,
    ),
    Param(
        name="heap_mb",
        unit="MB",
        about="of the Java heap; default: 512, more where its warehouses need it, at most half of "
        "the memory that is free",
        default=None,
        lo=32,
        hi=1 << 20,
    ),
    Param(
        name="collector",
        about="the garbage collector; parallel was the default of the Java of the paper's time",
        default="parallel",
        type=str,
        choices=("parallel", "g1", "serial"),
    ),
    Param(
        name="warm_s",
        unit="s",
        about="how long it rehearses before it listens, so that the compiler is done",
        default=10.0,
        type=float,
        lo=0,
        hi=600,
    ),
    *COMMON,
)
COLLECTORS = {"parallel": "UseParallelGC", "g1": "UseG1GC", "serial": "UseSerialGC"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Specjbb(Trade, Prepares):
    """One order service whose parameters are settled."""

    jar: Path
    is_fetched: bool
    heap_mb: int
    collector: str
    warm_s: float

    @property
    def scale(self) -> Scale:
        """Warehouses that trade each for itself."""
        return Scale(warehouses=self.warehouses, items=self.items, is_joined=False)

    def setup(self) -> Rows:
        """Version, data, machine and workers as (name, text), for people."""
        houses = f"{self.warehouses} warehouse{'s' if self.warehouses > 1 else ''}"
        return (
            ("version", self.version()),
            ("data", f"{houses} of {self.items:,} items, as objects".replace(",", " ")),
            ("queries", f"{self.queries} batches of {self.batch} transactions, seed {self.seed}"),
            ("heap", f"{self.heap_mb} MB, {self.collector} collector"),
            ("rehearsal", f"{self.warm_s:g} s before it listens"),
            *self.why,
        )

    @property
    def work(self) -> tuple[str, ...]:
        """Flags of the service itself."""
        sizes = ("--warehouses", str(self.warehouses), "--items", str(self.items))
        return (*sizes, "--batch", str(self.batch), "--warm-s", str(self.warm_s))

    def prepare(self, work: Path) -> None:
        """Bring the classes to where the server's user can read them."""
        shutil.copyfile(self.jar, work / fetched.JAR)

    def start(self, work: Path, address: Address) -> Start:
        """The virtual machine, which rehearses and builds its company first."""
        ready_s = START_S + 2 * self.warm_s + self.warehouses * self.items / 10_000
        usual = Trade.start(self, work, address)
        return replace(usual, ready_s=ready_s, carries=opened_by(self.path))

    def words(self, work: Path, address: Address) -> tuple[str, ...]:
        """Flags of the virtual machine, then those of the service."""
        is_new = ":" in address.host
        return (
            *(f"-Xms{self.heap_mb}m", f"-Xmx{self.heap_mb}m"),
            f"-XX:+{COLLECTORS[self.collector]}",
            "-XX:-UsePerfData",  # else it leaves files in /tmp where it is killed
            *(() if is_new else ("-Djava.net.preferIPv4Stack=true",)),
            *("-cp", str(work / fetched.JAR), fetched.MAIN, *self.work),
            *("--threads", str(self.threads), "--queries", str(self.queries)),
            *("--seed", str(self.seed), "--host", address.host, "--port", str(address.port)),
            *("--json", str(work / REPORT)),
        )

    def needs(self) -> Needs:
        """Memory for the heap and what the machine takes beside it.

        A JDK that was fetched lies in the user's own cache, which no one else may read.
        """
        return replace(
            Trade.needs(self),
            memory_bytes=(self.heap_mb + OTHER_MB) << 20,
            runs_as=RunsAs.LAB if self.is_fetched else RunsAs.SERVER,
        )

    def filling(self) -> Filling:
        """So many requests that the front is compiled too, which the rehearsal does not reach."""
        return Filling(requests=FRONT_REQUESTS if self.warm_s > 0 else 0)

    def further_facts(self, table: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
        """What compiler and collector have done so far."""
        compiled = (
            f"{table['jit_ms'] / 1000:.1f} s so far, {table['jit_last_s_ms']} ms of it in the "
            f"last of {table['warmed_s']:g} s of rehearsal"
        )
        paused = (
            f"{table['gc_pauses']} pauses so far, {table['gc_ms']} ms, "
            f"the longest {table['gc_longest_ms']} ms"
        )
        return (("compiler", compiled), ("collector", paused))

    def version(self) -> str:
        """The virtual machine's, in one line."""
        return programs.says(self.path, "--version").partition("\n")[0]


def opened_by(java: Path) -> tuple[Path, ...]:
    """What Java opens by itself: its modules and libraries, and what they link to.

    Distributions keep its settings and certificates elsewhere, and have links to them.
    """
    home = java.parents[1]
    if not (home / "lib" / "modules").is_file():
        return ()  # no Java of a version that can run it
    roots = tuple(home / name for name in ("lib", "conf"))
    links = (path.resolve() for root in roots for path in root.rglob("*") if path.is_symlink())
    outside = {path for path in links if path.exists() and not path.is_relative_to(home)}
    return (*roots, home / "release", *sorted(path for path in outside if path.suffix != ".zip"))


def java_home() -> tuple[Path, Made]:
    """`java` where its modules are, and what was compiled for it.

    Raises:
        HostFault: it was not installed, or has changed since.
    """
    made = fetched.PART.ready()  # a JDK that was fetched is run as well
    own = made.at / fetched.JDK / "bin" / "java"
    java = own if own.exists() else programs.find("java", fix=fetched.PART.command).resolve()
    return java, made


def heap_of(value: Value | None, warehouses: int, items: int, allowance: Allowance) -> int:
    """Megabytes of the heap.

    Raises:
        HostFault: it does not fit into memory, or the company not into it.
    """
    fits = int(allowance.memory_bytes * SHARE) >> 20
    needed_mb = math.ceil(warehouses * items * ITEM_BYTES / SHARE / (1 << 20))
    heap_mb = int(value) if value is not None else min(max(HEAP_MB, needed_mb), fits)
    if heap_mb > fits or needed_mb > heap_mb:
        raise HostFault(
            f"a heap of {heap_mb} MB is not possible: {warehouses} warehouses of {items} items "
            f"want {needed_mb} MB, and memory allows {fits} MB",
            at=f"service {NAME}, heap_mb = {heap_mb}",
            fix="give another heap_mb, or fewer warehouses or items",
        )
    return heap_mb


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle the parameters for this machine."""
    got = settle(NAME, PARAMS, inputs, cpus=allowance.cpus)
    threads, why = threads_of(got["threads"], allowance)
    warehouses, items = int(got["warehouses"] or threads), int(got["items"] or ITEMS)
    heap_mb = heap_of(got["heap_mb"], warehouses, items, allowance)
    java, made = java_home()
    return Specjbb(
        path=java,
        jar=made.at / fetched.JAR,
        is_fetched=java.is_relative_to(made.at),
        threads=threads,
        queries=int(got["queries"] or 1),
        seed=int(got["seed"] or 0),
        port=int(got["port"] or 0),
        warehouses=warehouses,
        items=items,
        batch=int(got["batch"] or 1),
        heap_mb=heap_mb,
        collector=str(got["collector"]),
        warm_s=float(got["warm_s"] or 0.0),
        why=why,
    )


KIND = ServiceKind(
    name=NAME,
    about="an order service in a Java virtual machine: TailBench's specjbb, about 0.14 ms a query",
    params=PARAMS,
    needs=(f"sojourn install {NAME}", "a JDK of version 17 or newer, or apt to fetch one"),
    source="PAPERS P4, P8, P10, P11",
    build=build,
)
