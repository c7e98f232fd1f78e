"""What else goes on: load, time stolen by the hypervisor, busy processes.

Steal is read twice with a pause between, because the sum since boot says little about now.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from sojourn.disk import tables
from sojourn.host.tree import Tree, as_int

STEAL = 7  # field of /proc/stat after the name (proc(5)): user nice system idle iowait irq softirq
FIELDS = 8  # guest time is part of user time already
BUSY_SHARE_MIN = 0.05
BUSY_MAX = 5
TICKS_PER_S = 100  # USER_HZ, the unit of /proc/stat on every architecture the lab runs on


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """A process that used a CPU while it was looked at. `share`: of one CPU."""

    pid: int
    name: str
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Shares are of all CPUs' time, 0 to 1; None: not known.

    Attributes:
        steal_share_boot: since boot.
        steal_share_now: while it was sampled.
        busy_share_now: CPU time used by anybody while it was sampled.
        sampled_s: how long that was.
        busy: the processes that used most.
    """

    load_1min: float | None
    steal_share_boot: float | None
    steal_share_now: float | None
    busy_share_now: float | None
    sampled_s: float
    busy: tuple[Busy, ...]
    irqbalance: bool


def read(tree: Tree, sample_s: float) -> Activity:
    """Look, wait, look again. A fake tree does not change, so it is looked at once."""
    before, used_before = cpu_ticks(tree), _processes(tree)
    started = time.monotonic()
    if tree.is_live and sample_s > 0:
        time.sleep(sample_s)
    sampled_s = time.monotonic() - started if tree.is_live else 0.0
    after, used_after = cpu_ticks(tree), _processes(tree)
    delta = tuple(b - a for a, b in zip(before, after, strict=True))
    return Activity(
        load_1min=_load(tree),
        steal_share_boot=_share(after, after[STEAL]),
        steal_share_now=_share(delta, delta[STEAL]),
        busy_share_now=_share(delta, sum(delta[:3]) + sum(delta[5:7])),
        sampled_s=sampled_s,
        busy=_busy(used_before, used_after, sampled_s),
        irqbalance=any(name == "irqbalance" for _, name in used_after),
    )


def _load(tree: Tree) -> float | None:
    words = (tree.text("/proc/loadavg") or "").split()
    try:
        load = float(words[0]) if words else None
    except ValueError:
        return None
    return load if load is not None and math.isfinite(load) else None


def cpu_ticks(tree: Tree, cpu: int | None = None) -> tuple[int, ...]:
    """Time of all CPUs, or of one, by kind, in ticks; zeros if it cannot be read."""
    name = "cpu" if cpu is None else f"cpu{cpu}"
    for line in tables.lines(tree.text("/proc/stat") or ""):
        words = line.split()
        if words and words[0] == name:
            numbers = [as_int(word) or 0 for word in words[1 : FIELDS + 1]]
            return tuple(numbers + [0] * (FIELDS - len(numbers)))
    return (0,) * FIELDS


def _share(ticks: tuple[int, ...], part: int) -> float | None:
    total = sum(ticks)
    return part / total if total > 0 else None


def _processes(tree: Tree) -> dict[tuple[int, str], int]:
    """CPU ticks used so far by (process number, name)."""
    numbers = {}
    for entry in tree.names("/proc"):
        text = tree.text(f"/proc/{entry}/stat") if entry.isdigit() else None
        if text:
            head, _, tail = text.rpartition(")")
            user, system = (as_int(word) for word in (*tail.split()[11:13], None, None)[:2])
            if user is not None and system is not None:
                numbers[int(entry), head.partition("(")[2]] = user + system
    return numbers


def _busy(
    before: dict[tuple[int, str], int], after: dict[tuple[int, str], int], sampled_s: float
) -> tuple[Busy, ...]:
    if sampled_s <= 0:
        return ()
    shares = (
        Busy(pid=pid, name=name, share=(ticks - before[pid, name]) / TICKS_PER_S / sampled_s)
        for (pid, name), ticks in after.items()
        if (pid, name) in before
    )
    busy = (process for process in shares if process.share >= BUSY_SHARE_MIN)
    return tuple(sorted(busy, key=lambda process: -process.share)[:BUSY_MAX])
