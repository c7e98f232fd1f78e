"""Signals of groups and machine: differences between two readings.

What cannot be read is absent. Those that rise before the tail does are in `leading`.

cpu            CPUs used (cpuacct.usage, cpu.stat, else /proc/PID/task/TID/schedstat)
runq_delay_ms  mean wait of a service's threads for a CPU, per time they got one (schedstat)
throttled      periods in which the group was held up by its quota (cpu.stat)
periods        of its quota, in which it ran (cpu.stat); of any length
load           requests/s as a share of peak_rps, by the window of a second
io             bytes/s that a best-effort group reads and writes on its disk, where that is limited
host: cpu      used by all, of the CPUs that groups share (/proc/stat); psi_cpu, psi_io, psi_memory:
               share of time in which some task waited for it (/proc/pressure)
"""

from __future__ import annotations

import math
import os
import posixpath
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from sojourn.controllers.look import Signal
from sojourn.controllers.made import signal
from sojourn.host import reading
from sojourn.host.tree import Tree
from sojourn.knobs import groups as knob_groups
from sojourn.manage import accounts, limits
from sojourn.manage.groups import Managed
from sojourn.manage.open_files import OpenFiles
from sojourn.manage.threads import Threads
from sojourn.text.schedstat import Schedstat

HOST_S = 0.45  # between two readings of the machine's own signals
TICKS = os.sysconf("SC_CLK_TCK")
IDLE = (3, 4)  # fields of /proc/stat after "cpu": idle and iowait
PRESSURES = ("cpu", "io", "memory")
COUNTS = {"throttled": "nr_throttled", "periods": "nr_periods"}  # in cpu.stat
STATS = (b"usage_usec", b"nr_throttled", b"nr_periods")
LISTED_S = 0.45  # between two lists of a service's processes, while none of them ends
STEAL = 7  # from here on: time that no task here had, or that is in the others already


@dataclass(slots=True)
class Signals:
    """Reads signals, and remembers the reading before.

    Attributes:
        tree: the machine's files.
        cpus: that the machine's own signal is about; (): all of them.
    """

    tree: Tree
    cpus: tuple[int, ...] = ()
    _before: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    _turns: dict[str, dict[int, Schedstat]] = field(default_factory=dict)
    _accounts: dict[str, str] = field(default_factory=dict)
    _files: dict[str, tuple[OpenFiles, Threads]] = field(default_factory=dict)
    _listed: dict[str, tuple[float, tuple[int, ...]]] = field(default_factory=dict)
    _host: dict[str, Signal] = field(default_factory=dict)
    _host_s: float = 0.0

    def forget(self, name: str) -> None:
        """A group vanished; one of its name is another, which has counted less."""
        self._before = {key: one for key, one in self._before.items() if key[0] != name}
        self._turns.pop(name, None)
        self._listed.pop(name, None)
        if (files := self._files.pop(name, None)) is not None:
            files[0].close()

    def of_group(self, group: Managed, t_s: float) -> dict[str, Signal]:
        """What a group did since the last reading."""
        results: dict[str, float | None] = {}
        cpu, is_service = group.cpu, not group.is_best_effort
        is_asked = cpu is not None and (is_service or cpu.version == 2)
        files, of_threads = self._open(group.name)
        counts = _stats(files.whole(f"{cpu.folder}/cpu.stat")) if cpu and is_asked else {}
        used_s = self._used_s(group, counts, files)
        if used_s is None or is_service:
            threads = self._schedstats(group, of_threads, t_s)
            used_s = sum(s.ran_ns for s in threads.values()) / 1e9 if used_s is None else used_s
            if is_service:
                results["runq_delay_ms"] = self._delay_ms(group.name, threads)
        results["cpu"] = self._rate((group.name, "cpu"), used_s, t_s)
        if is_service:
            for name, key in COUNTS.items():
                if key in counts:
                    results[name] = self._step((group.name, name), counts[key])
        if group.is_best_effort and (io := group.others.get(limits.IO)) is not None:
            moved = accounts.disk_bytes(self.tree, io.folder, io.version, group.disk)
            results["io"] = self._rate((group.name, "io"), moved, t_s)
        return _signals(results)

    def _schedstats(self, group: Managed, threads: Threads, t_s: float) -> dict[int, Schedstat]:
        """Of all threads; processes that are new are seen when they are listed again.

        The kernel makes the list anew for each reading, and of a process by its number out of all.
        """
        listed_s, pids = self._listed.get(group.name, (-math.inf, ()))
        if t_s - listed_s < LISTED_S:
            results = threads.schedstats(pids)
            if pids and len(threads.known) == len(pids):  # none of them has ended
                return results
        pids = group.pids()
        self._listed[group.name] = t_s, pids
        return threads.schedstats(pids)

    def _open(self, name: str) -> tuple[OpenFiles, Threads]:
        """Files of a group that stay open from one look to the next."""
        if name not in self._files:
            files = OpenFiles(self.tree)
            self._files[name] = files, Threads(self.tree, files)
        return self._files[name]

    def of_host(self, t_s: float) -> dict[str, Signal]:
        """What the machine did since the last reading, which is at most `HOST_S` old.

        The kernel sums /proc/stat over CPUs and interrupts, so it costs more than all the rest.
        """
        if self._host and t_s - self._host_s < HOST_S:
            age_ms = round((t_s - self._host_s) * 1000, 1)
            return {name: signal(one.value, age_ms) for name, one in self._host.items()}
        results = {
            "cpu": self._rate(("", "cpu"), _host_s(self.tree, self.cpus), t_s),
            **{
                f"psi_{what}": self._rate(
                    ("", f"psi_{what}"),
                    accounts.some_s(reading.whole(self.tree, f"/proc/pressure/{what}")),
                    t_s,
                )
                for what in PRESSURES
            },
        }
        self._host_s = t_s
        self._host = _signals(results)
        return self._host

    def _used_s(self, group: Managed, counts: Mapping[str, int], files: OpenFiles) -> float | None:
        """CPU time by the group's own account; None: it has none."""
        if group.cpu is None:
            return None
        if group.cpu.version == 2:
            used_us = counts.get("usage_usec")
            return None if used_us is None else used_us / 1e6
        if group.name not in self._accounts:
            self._accounts[group.name] = _account(group, self.tree)
        path = self._accounts[group.name]
        used_ns = reading.count(files.whole(path) or b"") if path else None
        return None if used_ns is None else used_ns / 1e9

    def _rate(self, key: tuple[str, str], total: float | None, t_s: float) -> float | None:
        """How fast a total grows; None at the first reading, or where it shrank."""
        if total is None:
            return None
        before = self._before.get(key)
        self._before[key] = (total, t_s)
        if before is None or t_s <= before[1] or total < before[0]:
            return None
        return (total - before[0]) / (t_s - before[1])

    def _step(self, key: tuple[str, str], total: float) -> float | None:
        before = self._before.get(key)
        self._before[key] = (total, 0.0)
        return None if before is None or total < before[0] else total - before[0]

    def _delay_ms(self, name: str, threads: Mapping[int, Schedstat]) -> float | None:
        """Of all threads that were there at both readings; 0 where none asked for a CPU.

        Only the last reading stays, so threads that ended take no memory. One that has the number
        of such a thread has counted less, and is left out once.
        """
        before, self._turns[name] = self._turns.get(name, {}), dict(threads)
        wait_ns, times, is_known = 0.0, 0.0, False
        for tid, now in threads.items():
            was = before.get(tid)
            if was and now.waited_ns >= was.waited_ns and now.turns >= was.turns:
                wait_ns += now.waited_ns - was.waited_ns
                times += now.turns - was.turns
                is_known = True
        if not is_known:
            return None
        return wait_ns / times / 1e6 if times else 0.0


def _account(group: Managed, tree: Tree) -> str:
    """The file of version 1 that counts its CPU time; "": there is none."""
    result = knob_groups.find(tree, "cpuacct")
    if result is None or group.spec.pid:
        return ""
    return posixpath.join(result.mount, group.spec.cgroup.lstrip("/"), "cpuacct.usage")


def _signals(results: Mapping[str, float | None]) -> dict[str, Signal]:
    """Those that are known, as old as this look."""
    return {name: signal(value) for name, value in results.items() if value is not None}


def _stats(text: bytes | None) -> dict[str, int]:
    r"""Counts of cpu.stat that are asked for, by their names; a line is a name and a number.

    >>> _stats(b"nr_periods 7\nnr_throttled x\nnr_bursts 3\n"), _stats(b"usage_usec"), _stats(None)
    ({'nr_periods': 7}, {}, {})
    """
    words = (text or b"").split()
    table = dict(zip(words[::2], words[1::2], strict=False))
    counts = {key.decode(): reading.count(table.get(key, b"")) for key in STATS}
    return {name: count for name, count in counts.items() if count is not None}


def _host_s(tree: Tree, cpus: Collection[int]) -> float | None:
    """CPU time of all tasks on these CPUs since the start, s; of all CPUs where there are none.

    None: no line is about one of them.
    """
    wanted = {f"cpu{number}" for number in cpus} or {"cpu"}
    lines = (tree.text("/proc/stat") or "").splitlines()
    rows = [line.split() for line in lines if line.startswith("cpu")]
    fields = [words[1 : STEAL + 1] for words in rows if words[0] in wanted]
    busy = [int(word) for words in fields for i, word in enumerate(words) if i not in IDLE]
    return sum(busy) / TICKS if busy else None
