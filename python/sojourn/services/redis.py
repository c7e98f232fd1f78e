"""Redis, filled with the papers' data set for key-value caches, without persistence.

The life of one: start, PING, every item set by the generator, DBSIZE must count them all, the main
thread and the I/O threads one to a CPU, warm, measured, TERM.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn import disk, programs
from sojourn.disk import disk_fault
from sojourn.errors import HostFault, RunFault
from sojourn.places import ports
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
)
from sojourn.services.kind import Allowance, Endpoint, Json, Program, Service, ServiceKind, Start
from sojourn.services.params import Param, Value, settle
from sojourn.services.scaling import FILES_SPARE, connections_max, scaled

NAME = "redis"
PROGRAM = "redis-server"
MAIN = "redis-server"  # name of the thread that serves
#: What it writes if append_only: a folder since 7.0, one file before.
APPENDED = ("appendonlydir", "appendonly.aof")
HELPER = re.compile(r"io_thd_\d+")  # of those that read and write for it
ITEMS_PAPER = 6_400_000  # C4, of memcached
MEMORY_SHARE = 0.5  # of what is free: the rest is for the generator's plan and the page cache
# Beside key and value: dictEntry 24, robj 16, two sds headers 2 x 4, allocator 40; measured with
# `info memory` on 7.0, which has 100 B a key of 30 B and value of 200 B.
ITEM_HEADER_BYTES = 120
FIXED_BYTES = 64 << 20
CONNECTION_BYTES = 40_000  # of its buffers, which count too: 36 400 measured on 7.0
IO_THREADS_MAX = 128
# A SET in the file, beside key and value. While the file is written anew, the old one stays.
LOGGED_BYTES, LOGS = 36, 2
DISK_SHARE = 0.5  # of what is free: load writes too, and the machine needs some

PARAMS = (
    Param(
        name="threads",
        about="I/O threads (io-threads), the main one among them, which alone runs commands; "
        '1: no others; "cpus": one per server CPU',
        default=1,
        lo=1,
        hi=IO_THREADS_MAX,
        relative=True,
    ),
    Param(
        name="items",
        about="distinct keys; default: 6.4 M (C4, memcached) times the profile's share, as far as "
        "memory goes, and with append_only the disk",
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
        about="limit of connections (maxclients); default: 8192, or half of the allowed open files",
        default=None,
        lo=16,
        hi=1 << 20,
    ),
    Param(
        name="append_only",
        about="write every SET to a file (appendonly, synced once a second)",
        default=False,
        type=bool,
    ),
    Param(name="port", about="loopback port; 0: a free one", default=0, lo=0, hi=65_535),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redis(Program, Describes, Versioned, Demands, Fills, Checks, Pins):
    """One Redis whose parameters are settled for this machine."""

    path: Path
    threads: int
    items: int
    key_bytes: int
    value_bytes: int
    connections_max: int
    append_only: bool
    port: int
    why: tuple[tuple[str, str], ...]

    def setup(self) -> Rows:
        """Version, data set and settings as (name, text), for people."""
        size = f"{self.items:,} items of {self.key_bytes} B keys and {self.value_bytes} B values"
        helpers = self.threads - 1
        more = f", {helpers} more read{'s' if helpers == 1 else ''} and write"
        return (
            ("version", self.version()),
            ("data", size.replace(",", " ")),
            ("threads", f"one runs all commands{more if helpers else ''}"),
            ("persistence", "appendonly, fsync once a second" if self.append_only else "none"),
            *self.why,
        )

    def needs(self) -> Needs:
        """Its workers are the main thread and those that read and write for it."""
        return Needs(
            workers=self.threads,
            port=self.port,
            memory_bytes=self._memory_bytes,
            is_syncing=self.append_only,
        )

    @property
    def memory_mb(self) -> int:
        """Limit (maxmemory) within which no SET is refused, whatever number is connected."""
        data = self.items * item_bytes(self.key_bytes, self.value_bytes)
        return (data + self.connections_max * CONNECTION_BYTES + FIXED_BYTES) >> 20

    @property
    def _memory_bytes(self) -> int:
        """Items and buffers of connections, and tables while they double."""
        return (self.memory_mb << 20) + 48 * self.items

    def start(self, work: Path, address: Address) -> Start:
        """The system's redis-server, with open files for each connection and a few of its own.

        No configuration file is read, and nothing is saved unless the study says so. What an
        earlier life saved is removed, or it would be loaded beside the preload.
        """
        _forget(work)
        reads = ("--io-threads", str(self.threads), "--io-threads-do-reads", "yes")
        words = (
            *("--bind", address.host, "--port", str(address.port), "--protected-mode", "no"),
            *("--dir", str(work), "--save", "", "--daemonize", "no"),
            *("--appendonly", "yes" if self.append_only else "no"),
            *("--maxmemory", f"{self.memory_mb}mb", "--maxmemory-policy", "noeviction"),
            *("--maxclients", str(self.connections_max)),
            *(reads if self.threads > 1 else ()),
        )
        files = self.connections_max + FILES_SPARE
        return Start(program=self.path, words=words, open_files=files)

    def endpoint(self, address: Address) -> Endpoint:
        """RESP at the address, and the data set."""
        job: dict[str, Json] = {
            "items": self.items,
            "key_size": str(self.key_bytes),
            "value_size": str(self.value_bytes),
        }
        return Endpoint(target=f"resp://{address}", job=job)

    def ready(self, address: Address, within_s: float) -> bool:
        """Whether it answers PING; while it reads a file it says that it is loading."""
        reply = ports.ask(address, b"PING\r\n", within_s=within_s, until=b"\r\n")
        return reply == b"+PONG\r\n"

    def filling(self) -> Filling:
        """Every item, which the preload has then touched; a few requests touch each connection."""
        return Filling(is_preloaded=True, requests=10_000)

    def check(self, address: Address) -> Rows:
        """Count the items, none of which may have been thrown out."""
        reply = ports.ask(address, b"DBSIZE\r\n", within_s=2.0, until=b"\r\n") or b""
        match = re.fullmatch(rb":(\d{1,19})\r\n", reply)
        held = int(match[1]) if match else 0
        if held != self.items:
            raise RunFault(
                f"redis holds {held} of {self.items} items",
                at=f"redis at {address}, maxmemory {self.memory_mb}mb",
                fix="give fewer items or smaller values, or look for errors in the preload's log",
            )
        return (("items held", f"{held:,}".replace(",", " ")),)

    def pinned(self, tasks: Sequence[Task]) -> tuple[int, ...]:
        """The main thread first, then those that read and write for it."""
        main = [task.tid for task in tasks if task.tid == task.pid and task.name == MAIN]
        helpers = [task.tid for task in tasks if HELPER.fullmatch(task.name)]
        return (*main, *sorted(helpers)) if main else ()

    def version(self) -> str:
        """`redis 7.0.15`, as `redis-server --version` says it."""
        match = re.search(r"v=(\S+)", programs.says(self.path, "--version"))
        return f"redis {match[1]}" if match else ""


def _forget(work: Path) -> None:
    """Remove what an earlier life saved; RunFault if it cannot be removed."""
    for path in (work / name for name in APPENDED):
        try:
            if disk.is_folder(path):
                disk.tree.remove(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise disk_fault(error, path) from None


def item_bytes(key_bytes: int, value_bytes: int) -> int:
    """Memory that one item takes at most, hash table included; allocator's classes grow by 1.25."""
    return (key_bytes + value_bytes) * 5 // 4 + ITEM_HEADER_BYTES


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle the parameters for this machine."""
    got = settle(NAME, PARAMS, inputs, cpus=allowance.cpus)
    path = programs.find(PROGRAM, fix="apt install redis-server")
    key, value = int(got["key_bytes"] or 0), int(got["value_bytes"] or 0)
    room = int(allowance.memory_bytes * MEMORY_SHARE - FIXED_BYTES)
    fits, items, limit = room // item_bytes(key, value), got["items"], "memory"
    if items is not None and int(items) > fits:
        raise HostFault(
            f"{items} items take {int(items) * item_bytes(key, value) >> 20} MiB, this machine has "
            f"{max(room, 0) >> 20} MiB for them",
            at=f"service redis, items = {items}",
            fix=f"give at most {max(fits, 0)} items, smaller values, or free memory",
        )
    if got["append_only"] and allowance.disk_bytes is not None:
        logged = int(allowance.disk_bytes * DISK_SHARE) // (LOGS * (key + value + LOGGED_BYTES))
        if items is not None and int(items) > logged:
            raise HostFault(
                f"the file of {items} items does not fit: half of the free disk allows {logged}",
                at=f"service redis, append_only = true, items = {items}",
                fix=f"give at most {logged} items, smaller values, or set TMPDIR to a larger disk",
            )
        fits, limit = min((fits, limit), (logged, "disk"))
    data = scaled("items", items, ITEMS_PAPER, allowance, fits=fits, limit=limit)
    return Redis(
        path=path,
        threads=int(got["threads"] or 1),
        items=data.value,
        key_bytes=key,
        value_bytes=value,
        connections_max=connections_max(got["connections_max"], allowance),
        append_only=bool(got["append_only"]),
        port=int(got["port"] or 0),
        why=data.text,
    )


KIND = ServiceKind(
    name=NAME,
    about="key-value store in memory; GETs of 200 B values by one thread that runs all commands",
    params=PARAMS,
    needs=("redis-server (apt install redis-server)",),
    source="PAPERS C4 (data set)",
    build=build,
)
