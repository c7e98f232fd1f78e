"""Two moments → what was used in between; a rate is over the time that really passed.

What cannot be told is None, with the reason: a counter that went back, a source that was not there,
a process whose last moments no one counted. A rate that would be more than there is of a resource
is not told either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sojourn.host.usage.moment import TICK_S, At, Moment, Process, Thread

IRQ, SOFTIRQ, STEAL = 5, 6, 7  # fields of /proc/stat after the name, proc(5)
BUSY = (0, 1, 2, IRQ, SOFTIRQ)  # user, nice, system, and interrupts
TORN_MAX = 0.05  # of the time in between, that reading one group of counters may take
SLACK = 1.05  # a share of CPU time may be above what there is by as much, and by some ticks
FINER, TICKS = 1.05, 4  # ticks above the scheduler's ns by more: somebody was missed
NETWORK = (
    "network_rx_bytes_per_s",
    "network_rx_packets_per_s",
    "network_tx_bytes_per_s",
    "network_tx_packets_per_s",
)
DISK = ("disk_read_bytes_per_s", "disk_write_bytes_per_s")
Links: TypeAlias = At[Mapping[str, tuple[int, ...]]] | At[Mapping[str, tuple[int, ...]] | None]
Names: TypeAlias = Sequence[str]
Values: TypeAlias = dict[str, float | None]
WENT_BACK = "a counter went back"
GONE = "its source has gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What was used between two moments.

    Attributes:
        values: by the names of `resource`; None: not told for this time.
        threads: (process, thread) → (name, share of one CPU, run-queue delay in s each second).
        events: what makes some of it None, or coarser, in words.
    """

    length_s: float
    values: Mapping[str, float | None]
    threads: Mapping[tuple[int, int], tuple[str, float, float]]
    events: tuple[str, ...]


def between(before: Moment, after: Moment, cpus: Sequence[int], *, all_cpus: int) -> Rates:
    """What was used from one moment to the next.

    Args:
        before: the earlier moment.
        after: the later one.
        cpus: of the service.
        all_cpus: how many the machine has: no one uses more.
    """
    work = _Work(before, after, all_cpus)
    values: dict[str, float | None] = {}
    values |= work.machine("machine", ["cpu"])
    values |= work.machine("server", [f"cpu{cpu}" for cpu in cpus])
    values |= work.service(max(1, len(cpus)))
    threads = work.threads()
    values |= work.of_threads(threads, max(1, len(cpus)), _sum(values))
    values |= work.moved("network", before.network, after.network, NETWORK)
    if (disk := after.storage).of is not None:  # a guest's is not its QEMU's to read and write
        values |= work.moved("storage", before.storage, disk, DISK)
    values |= work.resctrl()
    return Rates(
        length_s=after.at_s - before.at_s,
        values=values,
        threads={
            key: (one.name, one.run_s / work.threads_s, one.wait_s / work.threads_s)
            for key, one in threads.items()
            if work.threads_s
        },
        events=tuple(dict.fromkeys(work.events)),
    )


class _Work:
    """The differences of two moments, and what is noticed on the way."""

    def __init__(self, before: Moment, after: Moment, all_cpus: int) -> None:
        self.before, self.after, self.all_cpus = before, after, all_cpus
        self.events: list[str] = []
        self.threads_s = self._seconds("threads", before.threads, after.threads)
        self._is_same = False  # the same threads at both moments

    def _seconds(self, what: str, before: At[object], after: At[object]) -> float:
        """Time between two readings of one group; 0 if it cannot be told well enough."""
        passed_s = after.at_s - before.at_s
        if passed_s <= 0:
            self.events.append(f"{what}: no time passed")
            return 0.0
        if before.took_s + after.took_s > TORN_MAX * passed_s:
            self.events.append(f"{what}: the probe did not get its CPU while it read them")
            return 0.0
        return passed_s

    def _back(self, what: str) -> None:
        self.events.append(f"{what}: {WENT_BACK}")

    def machine(self, prefix: str, names: Sequence[str]) -> dict[str, float | None]:
        """Shares of the time of some CPUs, by the kernel's own ticks: no clock is needed."""
        keys = {f"{prefix}_busy_share": BUSY, f"{prefix}_steal_share": (STEAL,)}
        none: dict[str, float | None] = dict.fromkeys(keys)
        old, new = self.before.machine.of, self.after.machine.of
        if not names or any(name not in old or name not in new for name in names):
            self.events.append(f"{prefix} CPUs: {GONE}")
            return none
        sums = [sum(new[name][nth] - old[name][nth] for name in names) for nth in range(STEAL + 1)]
        if any(sums[nth] < 0 for nth in (*BUSY, STEAL)):
            self._back(f"{prefix} CPUs")
            return none
        whole = sum(max(0, ticks) for ticks in sums)  # idle time may go back a little (proc(5))
        if whole <= 0:
            return none
        return {key: sum(sums[nth] for nth in some) / whole for key, some in keys.items()}

    def service(self, cpus: int) -> dict[str, float | None]:
        """What /proc reports of whole processes, threads and children that ended included."""
        passed_s = self._seconds("processes", self.before.processes, self.after.processes)
        names = (
            "service_user_share",
            "service_system_share",
            "major_faults_per_s",
            *DISK,
        )
        values: dict[str, float | None] = dict.fromkeys(names)
        new = self.after.processes.of
        resident = sum(p.resident_bytes for p in new.values())
        values["resident_bytes"] = float(resident) if new else None
        if not passed_s or not new or not self.before.processes.of:
            return values
        user = self._whole("CPU time", lambda p: p.user_s, lambda p: p.reaped[0])
        system = self._whole("CPU time", lambda p: p.system_s, lambda p: p.reaped[1])
        most_s = SLACK * self.all_cpus * passed_s + 2 * TICK_S * max(1, len(new))
        if user is not None and system is not None and user + system > most_s:
            self.events.append("CPU time: more than the machine has")
            user = system = None
        faults = self._whole("faults", lambda p: p.faults, lambda p: p.reaped[2])
        read = self._bytes("bytes read", lambda p: p.read_bytes)
        written = self._bytes("bytes written", lambda p: p.write_bytes)
        each = (user and user / cpus, system and system / cpus, faults, read, written)
        return values | {
            name: None if value is None else value / passed_s
            for name, value in zip(names, each, strict=True)
        }

    def _bytes(self, what: str, of: Callable[[Process], int | None]) -> float | None:
        every = (*self.before.processes.of.values(), *self.after.processes.of.values())
        if any(of(process) is None for process in every):
            return None
        return self._whole(what, lambda p: of(p) or 0, None)

    def _whole(
        self,
        what: str,
        own: Callable[[Process], float],
        reaped: Callable[[Process], float] | None,
    ) -> float | None:
        """How much all processes together have added.

        A child that ended hands what it used in all its life on to its parent, which waited for
        it: what of that is known from before is taken off again. Where `reaped` is None the kernel
        adds it to the parent's own.
        """

        def total(process: Process) -> float:
            return own(process) + (reaped(process) if reaped else 0)

        old, new = self.before.processes.of, self.after.processes.of
        lost: dict[int, float] = defaultdict(float)  # parent → what its ended children had
        for pid, process in old.items():
            if not _is_there(new, pid, process):
                lost[process.parent] += total(process)
        added = 0.0
        for pid, process in new.items():
            if not _is_there(old, pid, process):
                added += total(process) if self._is_young(process.start) else 0.0
                continue
            grown = total(process) - total(old[pid])
            if grown < 0:
                self._back(what)
                return None
            handed = (reaped(process) - reaped(old[pid])) if reaped else grown
            had = lost.pop(pid, 0.0)
            if had and handed >= had - TICK_S:
                grown = max(0.0, grown - had)
            elif had:
                self.events.append("a process ended: what it used last is not counted")
            added += grown
        if lost:
            self.events.append("a process ended: what it used last is not counted")
        return added

    def _is_young(self, start: int) -> bool:
        """Whether what started then has used all it ever used since the moment before."""
        is_young = start * TICK_S >= self.before.boot_s - TICK_S
        if not is_young:
            self.events.append("a process or thread was found late: counted from then on")
        return is_young

    def threads(self) -> dict[tuple[int, int], Thread]:
        """What each thread has added; one that is new counts from its start."""
        old, new = self.before.threads.of, self.after.threads.of
        self._is_same = False
        if old is None or new is None or not self.threads_s:
            return {}
        if old.keys() - new.keys():
            self.events.append("a thread ended: what it used last is not counted")
        self._is_same = old.keys() == new.keys()
        return dict(self._grown(old, new))

    def _grown(
        self, old: Mapping[tuple[int, int], Thread], new: Mapping[tuple[int, int], Thread]
    ) -> Iterator[tuple[tuple[int, int], Thread]]:
        for key, one in new.items():
            was = old.get(key)
            if was is None:
                if self._is_young(one.start):
                    yield key, one
                continue
            grown = Thread(
                name=one.name,
                run_s=one.run_s - was.run_s,
                wait_s=one.wait_s - was.wait_s,
                voluntary=one.voluntary - was.voluntary,
                involuntary=one.involuntary - was.involuntary,
                start=one.start,
            )
            least = min(grown.run_s, grown.wait_s, grown.voluntary, grown.involuntary)
            if least < 0 or grown.run_s > SLACK * self.threads_s + TICK_S:
                self._back(f"thread {one.name}")
                self._is_same = False
                continue
            yield key, grown

    def of_threads(
        self, threads: Mapping[tuple[int, int], Thread], cpus: int, by_ticks: float | None
    ) -> dict[str, float | None]:
        """Of all threads together.

        CPU time of the service is told by the scheduler's ns where no thread came or went, which is
        finer than the ticks of whole processes; but not where short-lived children used more.
        """
        names = (
            "runq_delay_share",
            "switches_voluntary_per_s",
            "switches_involuntary_per_s",
            "thread_cpu_share_max",
        )
        passed_s = self.threads_s
        known = list(threads.values())
        if not known or not passed_s:
            return {**dict.fromkeys(names), "service_cpu_share": by_ticks}
        each = (
            sum(one.wait_s for one in known),
            sum(one.voluntary for one in known),
            sum(one.involuntary for one in known),
            max(one.run_s for one in known),
        )
        ran = sum(one.run_s for one in known) / passed_s / cpus
        coarse = FINER * ran + TICKS * TICK_S / passed_s
        is_finer = self._is_same and (by_ticks is None or by_ticks <= coarse)
        return {
            **{name: value / passed_s for name, value in zip(names, each, strict=True)},
            "service_cpu_share": ran if is_finer else by_ticks,
        }

    def moved(self, what: str, before: Links, after: Links, names: Names) -> Values:
        """Bytes and packets of the links that are the service's, all together, by `names`."""
        none: Values = dict.fromkeys(names)
        old, new = before.of or {}, after.of or {}
        if not old and not new:
            return none
        if old.keys() != new.keys():
            self.events.append(f"{what}: {GONE}")
            return none
        passed_s = self._seconds(what, before, after)
        grown = [[b - a for a, b in zip(old[name], new[name], strict=True)] for name in old]
        if any(number < 0 for numbers in grown for number in numbers):
            self._back(what)  # reset, or a driver's counter of 32 bits
            return none
        if not passed_s:
            return none
        sums = [sum(numbers) / passed_s for numbers in zip(*grown, strict=True)]
        return dict(zip(names, sums, strict=True))

    def resctrl(self) -> dict[str, float | None]:
        """What the service holds of the cache, and moves to and from memory."""
        (_, was), (cache, now) = self.before.resctrl.of, self.after.resctrl.of
        values: dict[str, float | None] = {
            "llc_bytes": None if cache is None else float(cache),
            "memory_bytes_per_s": None,
        }
        if was is None or now is None:
            return values
        passed_s = self._seconds("resctrl", self.before.resctrl, self.after.resctrl)
        if now < was:
            self._back("memory bandwidth")
        elif passed_s:
            values["memory_bytes_per_s"] = (now - was) / passed_s
        return values


def _is_there(there: Mapping[int, Process], pid: int, process: Process) -> bool:
    """Whether it is the same process at both moments, and not a number that was used again."""
    other = there.get(pid)
    return other is not None and other.start == process.start


def _sum(values: Mapping[str, float | None]) -> float | None:
    user, system = values["service_user_share"], values["service_system_share"]
    return None if user is None or system is None else user + system
