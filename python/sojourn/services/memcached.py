"""memcached, filled with the papers' data set and pinned thread by thread (L9, L23, C4).

The life of one: start, `version`, every item set by the generator, `stats` must count them all,
worker threads one to a CPU, warm, measured, TERM.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn import programs
from sojourn.errors import HostFault, RunFault
from sojourn.places import ports, users
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
    Settles,
    Versioned,
)
from sojourn.services.kind import Allowance, Endpoint, Json, Program, Service, ServiceKind, Start
from sojourn.services.memcached_memory import HASH_BYTES_PER_ITEM, item_bytes
from sojourn.services.params import Param, Value, settle
from sojourn.services.scaling import FILES_SPARE, connections_max, scaled

NAME = "memcached"
WORKER = "mc-worker"  # thread name since memcached 1.6
INSTANCES_MAX = 64
SHELL = Path("/bin/sh")
ITEMS_PAPER = 6_400_000  # C4
THREADS_PAPER = 7  # C4

FIXED_BYTES = 64 << 20
MEMORY_SHARE = 0.5  # of what is free: the rest is for the generator's plan and the page cache

PARAMS = (
    Param(
        name="threads",
        about="worker threads (-t); default: 7 (C4), or one per server CPU if there are fewer; "
        '"cpus", "cpus+1": by the server\'s CPUs',
        default=None,
        lo=1,
        hi=1024,
        relative=True,
    ),
    Param(
        name="instances",
        about="processes that share the keys, each with so many threads (C11: scale-out)",
        default=1,
        lo=1,
        hi=INSTANCES_MAX,
    ),
    Param(
        name="items",
        about="distinct keys; default: 6.4 M (C4) times the profile's share, as far as memory goes",
        default=None,
        lo=1,
        hi=1 << 31,
    ),
    Param(name="key_bytes", unit="bytes", about="key size (C4)", default=30, lo=4, hi=250),
    Param(
        name="value_bytes", unit="bytes", about="value size (C4)", default=200, lo=1, hi=1_000_000
    ),
    Param(
        name="connections_max",
        about="limit of connections (-c); default: 8192, or half of the allowed open files",
        default=None,
        lo=16,
        hi=1 << 20,
    ),
    Param(name="udp", about="serve and ask over UDP (L16)", default=False, type=bool),
    Param(name="port", about="loopback port; 0: a free one", default=0, lo=0, hi=65_535),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memcached(Program, Describes, Versioned, Demands, Fills, Settles, Checks, Pins):
    """One memcached whose parameters are settled for this machine."""

    path: Path
    threads: int
    instances: int = 1
    items: int
    key_bytes: int
    value_bytes: int
    connections_max: int
    udp: bool
    port: int
    why: tuple[tuple[str, str], ...]

    def setup(self) -> Rows:
        """Version, data set and settings as (name, text), for people."""
        size = f"{self.items:,} items of {self.key_bytes} B keys and {self.value_bytes} B values"
        return (
            ("version", self.version()),
            ("data", size.replace(",", " ")),
            ("transport", "UDP" if self.udp else "TCP"),
            *self._shards(),
            *self.why,
        )

    def _shards(self) -> tuple[tuple[str, str], ...]:
        if self.instances == 1:
            return ()
        return (("instances", f"{self.instances} processes, each with the keys that hash to it"),)

    def needs(self) -> Needs:
        """Worker threads of all instances, and a port for each."""
        return Needs(
            workers=self.threads * self.instances,
            port=self.port,
            ports=self.instances,
            memory_bytes=self._memory_bytes,
        )

    def _addresses(self, address: Address) -> Iterator[Address]:
        """Of each instance, the first given."""
        return (Address(address.host, address.port + nth) for nth in range(self.instances))

    @property
    def _held(self) -> int:
        """Items that one instance holds at most: their number is binomial; six sigma more."""
        if self.instances == 1:
            return self.items
        mean = self.items / self.instances
        return math.ceil(mean + 6 * math.sqrt(mean))

    @property
    def memory_mb(self) -> int:
        """Limit (-m) of an instance at which nothing is evicted."""
        item = item_bytes(self.key_bytes, self.value_bytes) - HASH_BYTES_PER_ITEM
        return (self._held * item + FIXED_BYTES) >> 20

    @property
    def _memory_bytes(self) -> int:
        """Items, hash table while it doubles, and buffers of connections, of all instances."""
        table = 3 * self.items * HASH_BYTES_PER_ITEM
        each = (self.memory_mb << 20) + FIXED_BYTES + self.connections_max * 4096
        return self.instances * each + table

    @property
    def open_files(self) -> int:
        """One for each connection, and a few of its own."""
        return self.connections_max + FILES_SPARE

    def start(self, work: Path, address: Address) -> Start:
        """The system's memcached, or a shell that starts several.

        All else is memcached's own default, as people run it. It looks for signals once a second,
        and has nothing to save.
        """
        del work
        is_one = self.instances == 1
        return Start(
            program=self.path if is_one else SHELL,
            words=self._flags(address) if is_one else self._script(address),
            open_files=self.open_files,
            stop_s=0.05,
        )

    def _script(self, address: Address) -> tuple[str, ...]:
        each = (shlex.join([str(self.path), *self._flags(one)]) for one in self._addresses(address))
        # Whichever ends first takes the others with it: a shard that is gone is a server that is.
        return ("-c", " ".join(f"({words}; kill -TERM 0) &" for words in each) + " wait")

    def _flags(self, address: Address) -> tuple[str, ...]:
        return (
            *("-l", address.host, "-p", str(address.port)),
            *("-U", str(address.port if self.udp else 0)),
            *("-t", str(self.threads), "-m", str(self.memory_mb), "-c", str(self.connections_max)),
            *(("-u", "root") if users.stays_root() else ()),  # else it refuses to run as root
        )

    def endpoint(self, address: Address) -> Endpoint:
        """By TCP or UDP, as settled; every instance is named. And the data set."""
        each = ",".join(map(str, self._addresses(address)))
        job: dict[str, Json] = {
            "items": self.items,
            "key_size": str(self.key_bytes),
            "value_size": str(self.value_bytes),
        }
        return Endpoint(target=f"memcache{'+udp' if self.udp else ''}://{each}", job=job)

    def ready(self, address: Address, within_s: float) -> bool:
        """Whether every instance answers `version` within the time."""
        replies = (
            ports.ask(one, b"version\r\n", within_s=within_s, until=b"\r\n")
            for one in self._addresses(address)
        )
        return all(reply is not None and reply.startswith(b"VERSION ") for reply in replies)

    def filling(self) -> Filling:
        """Every item, which the preload has then touched; a few requests touch each connection."""
        return Filling(is_preloaded=True, requests=10_000)

    def check(self, address: Address) -> Rows:
        """Count the items, and make sure that none was thrown out and the hash table is at rest."""
        at = f"memcached at {address}"
        held = evicted = 0
        for one in self._addresses(address):
            seen = stats(one)
            if seen is None:
                raise RunFault("memcached does not answer `stats`", at=at, fix="see its log")
            held += int(seen.get("curr_items", "0"))
            evicted += int(seen.get("evictions", "0"))
        if held < self.items or evicted:
            raise RunFault(
                f"memcached holds {held} of {self.items} items, {evicted} were evicted",
                at=f"{at}, -m {self.memory_mb}",
                fix="give fewer items or smaller values, or look for errors in the preload's log",
            )
        return (("items held", f"{held:,}".replace(",", " ")), ("evictions", str(evicted)))

    def is_settled(self, address: Address) -> bool:
        """Whether background work on every hash table is done."""
        seen = map(stats, self._addresses(address))
        return all(one is not None and one.get("hash_is_expanding") == "0" for one in seen)

    def pinned(self, tasks: Sequence[Task]) -> tuple[int, ...]:
        """Worker threads by name. Older versions name none: then they cannot be recognised."""
        return tuple(sorted(task.tid for task in tasks if task.name == WORKER))

    def version(self) -> str:
        """Its version, as `memcached -V` says it."""
        return version(self.path)


def stats(address: Address) -> dict[str, str] | None:
    """`stats` of the server at `address`; None if it does not answer."""
    reply = ports.ask(address, b"stats\r\n", within_s=2.0, until=b"END\r\n")
    if reply is None:
        return None
    lines = (line.split(" ", 2) for line in reply.decode("ascii", "replace").splitlines())
    return {words[1]: words[2] for words in lines if len(words) == 3 and words[0] == "STAT"}


def version(path: Path) -> str:
    """`memcached 1.6.18`; "" if it does not say."""
    match = re.search(r"memcached\s+\S+", programs.says(path, "-V"))
    return match.group(0) if match else ""


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle the parameters for this machine."""
    got = settle(NAME, PARAMS, inputs, cpus=allowance.cpus)
    path = programs.find(NAME, fix="apt install memcached")
    key, value = int(got["key_bytes"] or 0), int(got["value_bytes"] or 0)
    each = item_bytes(key, value)
    fits = int((allowance.memory_bytes * MEMORY_SHARE - FIXED_BYTES) / each)
    items = got["items"]
    if items is not None and int(items) > fits:
        raise HostFault(
            f"{items} items take {int(items) * each >> 20} MiB, this machine has "
            f"{int(allowance.memory_bytes * MEMORY_SHARE) >> 20} MiB for them",
            at=f"service memcached, items = {items}",
            fix=f"give at most {max(fits, 0)} items, smaller values, or free memory",
        )
    data = scaled("items", items, ITEMS_PAPER, allowance, fits=fits, limit="memory")
    threads = scaled("threads", got["threads"], THREADS_PAPER, allowance, cpus=allowance.cpus)
    return Memcached(
        path=path,
        threads=threads.value,
        instances=int(got["instances"] or 1),
        items=data.value,
        key_bytes=key,
        value_bytes=value,
        connections_max=connections_max(got["connections_max"], allowance),
        udp=bool(got["udp"]),
        port=int(got["port"] or 0),
        why=(*data.text, *threads.text),
    )


KIND = ServiceKind(
    name=NAME,
    about="key-value cache in memory; GETs of 200 B values, QoS p99 within 1 ms in the paper",
    params=PARAMS,
    needs=("memcached (apt install memcached)",),
    source="PAPERS C4, L9, L23",
    times="instances",
    build=build,
)
