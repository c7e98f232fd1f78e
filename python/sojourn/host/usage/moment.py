"""Every counter of a service and of the machine at one moment.

Each group of counters is read in one go and bears the time at which that was, so that a sampler
which is kept from its CPU half-way divides no counter by a time that was not its own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from sojourn.disk import tables
from sojourn.host.tree import Tree, as_int
from sojourn.host.usage import files
from sojourn.host.usage.files import Source
from sojourn.host.usage.members import PARENT, START, Member, Members
from sojourn.host.usage.outside import Outside, as_disk, as_guest
from sojourn.host.usage.recorded import Recorded
from sojourn.text import schedstat

T_co = TypeVar("T_co", covariant=True)
Clock = Callable[[], float]

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
THREADS_MAX = 256  # of a service that are read one by one
# Fields of /proc/PID/stat after the name, proc(5).
_FAULTS, _FAULTS_REAPED = 9, 10
_USER, _SYSTEM, _USER_REAPED, _SYSTEM_REAPED, _RESIDENT = 11, 12, 13, 14, 21
_VOLUNTARY, _INVOLUNTARY = b"\nvoluntary_ctxt_switches:", b"\nnonvoluntary_ctxt_switches:"


@dataclass(frozen=True, slots=True)
class At(Generic[T_co]):
    """Counters, the middle of the time in which they were read, and how long that took, s."""

    at_s: float
    took_s: float
    of: T_co


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process: times in s, faults and bytes since its start.

    Attributes:
        start: ticks after boot; with its number it names a process for good.
        reaped: the same of its children that have ended and that it waited for.
        read_bytes, write_bytes: of it and of such children; None: not to be read.
    """

    start: int
    parent: int
    user_s: float
    system_s: float
    faults: int
    reaped: tuple[float, float, int]
    resident_bytes: int
    read_bytes: int | None
    write_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """One thread: what it ran and waited, s, and its switches, since its start.

    Attributes:
        start: ticks after boot; 0: not told.
    """

    name: str
    run_s: float
    wait_s: float
    voluntary: int
    involuntary: int
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the counters of one service are, found once.

    Attributes:
        cpus: of the service.
        interfaces: whose bytes are its own, in the namespace of `leader`.
        outside: links of a guest, where `leader` is its QEMU; None: it is no guest.
        resctrl: folder of its resource group; "" if it has none of its own.
        missing: name of a resource → why it is not counted here.
    """

    leader: int
    cpus: tuple[int, ...]
    interfaces: tuple[str, ...]
    resctrl: str
    outside: Outside | None = None
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """All counters.

    Attributes:
        boot_s: time since boot, of the clock in which processes' starts are given.
        machine: of /proc/stat: name of a line ("cpu", "cpu0") → ticks by kind.
        processes: by number.
        threads: by (process, thread); None: too many to be read, or not told.
        network: (bytes received, packets received, bytes sent, packets sent) by interface.
        storage: (bytes read, bytes written) of a guest's disk by link; None: it is no guest.
        resctrl: (bytes in the cache, bytes moved); None: not counted.
    """

    at_s: float
    boot_s: float
    machine: At[Mapping[str, tuple[int, ...]]]
    processes: At[Mapping[int, Process]]
    threads: At[Mapping[tuple[int, int], Thread] | None]
    network: At[Mapping[str, tuple[int, int, int, int]]]
    storage: At[Mapping[str, tuple[int, int]] | None]
    resctrl: At[tuple[int | None, int | None]]


def read(
    tree: Tree | Recorded,
    members: Members,
    places: Places,
    before: Moment | None = None,
    *,
    clock: Clock = time.monotonic,
    boot: Clock | None = None,
) -> Moment:
    """Read all counters now.

    Args:
        tree: of the machine, or of a sample that was taken of it.
        members: who the service is.
        places: where its counters are.
        before: the last moment: threads that it knows are not asked for name and start again.
        clock: gives the time, s.
        boot: gives the time since boot, s; None: the kernel does.
    """
    at_s = clock()
    boot_s = (boot or _boot_s)()
    read = files.of(tree)
    known = (before.threads.of or {}) if before else {}
    result = _timed(clock, lambda: members.look(at_s))
    alive = result.of
    return Moment(
        at_s=at_s,
        boot_s=boot_s,
        machine=_timed(clock, lambda: _machine(read, places.cpus)),
        processes=At(result.at_s, result.took_s, dict(_processes(read, alive))),
        threads=_timed(clock, lambda: _threads(read, alive, known)),
        network=_timed(clock, lambda: dict(_network(tree, places))),
        storage=_timed(clock, lambda: _storage(tree, places)),
        resctrl=_timed(clock, lambda: _resctrl(tree, places.resctrl)),
    )


def _boot_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _timed(clock: Clock, work: Callable[[], T_co]) -> At[T_co]:
    began_s = clock()
    result = work()
    ended_s = clock()
    return At((began_s + ended_s) / 2, ended_s - began_s, result)


def _machine(read: Source, cpus: Sequence[int]) -> Mapping[str, tuple[int, ...]]:
    wanted = {b"cpu", *(b"cpu%d" % cpu for cpu in cpus)}
    numbers = {}
    for line in read.read("/proc/stat").partition(b"\nintr")[0].splitlines():
        name, _, rest = line.partition(b" ")
        if name in wanted:
            numbers[name.decode()] = tuple(map(int, rest.split()[:8]))
    return numbers


def _processes(read: Source, members: Mapping[int, Member]) -> Iterator[tuple[int, Process]]:
    for pid, member in members.items():
        of = [0, *map(int, member.fields[1 : _RESIDENT + 1])]
        io = read.read(f"/proc/{pid}/io")
        yield (
            pid,
            Process(
                start=of[START],
                parent=of[PARENT],
                user_s=of[_USER] * TICK_S,
                system_s=of[_SYSTEM] * TICK_S,
                faults=of[_FAULTS],
                reaped=(of[_USER_REAPED] * TICK_S, of[_SYSTEM_REAPED] * TICK_S, of[_FAULTS_REAPED]),
                resident_bytes=of[_RESIDENT] * PAGE_BYTES,
                read_bytes=files.after(io, b"\nread_bytes:"),
                write_bytes=files.after(io, b"\nwrite_bytes:"),
            ),
        )


def _threads(
    read: Source, members: Mapping[int, Member], known: Mapping[tuple[int, int], Thread]
) -> Mapping[tuple[int, int], Thread] | None:
    listed = [(pid, tid) for pid, member in members.items() for tid in member.tids]
    if len(listed) > THREADS_MAX:
        return None
    results = {}
    for key in listed:
        base = f"/proc/{key[0]}/task/{key[1]}"
        ran, status = schedstat.parse(read.read(schedstat.path(*key))), read.read(f"{base}/status")
        switches = [files.after(status, name) for name in (_VOLUNTARY, _INVOLUNTARY)]
        if ran is None or None in switches:  # it has ended, or the kernel does not tell
            continue
        was = known.get(key)
        results[key] = Thread(
            name=was.name if was else status.partition(b"\n")[0].partition(b"\t")[2].decode(),
            run_s=ran.ran_ns / 1e9,
            wait_s=ran.waited_ns / 1e9,
            voluntary=switches[0] or 0,
            involuntary=switches[1] or 0,
            start=was.start if was else _start(read, base),
        )
    return results or None


def _start(read: Source, base: str) -> int:
    of = read.fields(f"{base}/stat")
    return int(of[START]) if len(of) > START else 0


def _network(
    tree: Tree | Recorded, places: Places
) -> Iterator[tuple[str, tuple[int, int, int, int]]]:
    for name, numbers in interfaces(tree, places.leader).items():
        if name in places.interfaces:
            yield name, as_guest(numbers) if places.outside else numbers


def _storage(tree: Tree | Recorded, places: Places) -> Mapping[str, tuple[int, int]] | None:
    if places.outside is None:
        return None
    every = interfaces(tree, places.leader) if places.outside.storage else {}
    return {name: as_disk(every[name]) for name in every if name == places.outside.storage}


def interfaces(tree: Tree | Recorded, pid: int) -> dict[str, tuple[int, int, int, int]]:
    """(bytes received, packets received, bytes sent, packets sent) by interface of a namespace."""
    numbers = {}
    for line in tables.lines(tree.text(f"/proc/{pid}/net/dev") or ""):
        name, colon, rest = line.partition(":")
        words = rest.split()
        if colon and len(words) >= 10 and words[0].isdigit():
            numbers[name.strip()] = (int(words[0]), int(words[1]), int(words[8]), int(words[9]))
    return numbers


RESCTRL = ("llc_occupancy", "mbm_total_bytes")


def resctrl_files(tree: Tree, places: Places) -> list[str]:
    """Where cache and memory bandwidth of the service are counted; none: nowhere."""
    base = f"{places.resctrl}/mon_data"
    domains = tree.names(base) if places.resctrl else ()
    return [f"{base}/{domain}/{what}" for domain in domains for what in RESCTRL]


def _resctrl(tree: Tree | Recorded, folder: str) -> tuple[int | None, int | None]:
    if not folder:
        return None, None
    base = f"{folder}/mon_data"
    domains = tree.names(base)

    def total(what: str) -> int | None:
        """Over all domains; None if one of them cannot tell ("Unavailable", "Error")."""
        numbers = [as_int(tree.text(f"{base}/{domain}/{what}")) for domain in domains]
        known = [value for value in numbers if value is not None]
        return sum(known) if known and len(known) == len(numbers) else None

    cache, moved = RESCTRL
    return total(cache), total(moved)
