"""Memory: how much, how much of it is free for the lab, and what moves it about."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.host.cgroups import Cgroup
from sojourn.host.tree import Tree, as_int, chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes unless the name says otherwise; None: the machine does not tell.

    Attributes:
        free_bytes: what a new program can take: the kernel's MemAvailable, or what the control
            group leaves, whichever is less.
        huge_pages: transparent huge pages: "always", "madvise", "never".
    """

    total_bytes: int
    free_bytes: int
    swap_bytes: int
    swap_used_bytes: int
    swappiness: int | None
    huge_pages: str
    numa_balancing: bool | None


def read(tree: Tree, cgroup: Cgroup) -> Memory:
    """Read /proc/meminfo and what is beside it."""
    table = tree.table("/proc/meminfo")
    available = available_bytes(tree)
    left = cgroup.memory_left_bytes
    balancing = tree.number("/proc/sys/kernel/numa_balancing")
    swap = _bytes(table.get("SwapTotal"))
    return Memory(
        total_bytes=_bytes(table.get("MemTotal")),
        free_bytes=available if left is None else min(available, left),
        swap_bytes=swap,
        swap_used_bytes=swap - _bytes(table.get("SwapFree")) if swap else 0,
        swappiness=tree.number("/proc/sys/vm/swappiness"),
        huge_pages=chosen(tree.text("/sys/kernel/mm/transparent_hugepage/enabled")),
        numa_balancing=None if balancing is None else balancing != 0,
    )


def available_bytes(tree: Tree) -> int:
    """What the kernel says a new program can take, whatever a control group allows; 0: unknown."""
    table = tree.table("/proc/meminfo")
    return _bytes(table.get("MemAvailable") or table.get("MemFree"))


def _bytes(text: str | None) -> int:
    """Bytes that a text like `65536 kB` says; 0 if there is none."""
    words = (text or "").split()
    return (as_int(words[0]) or 0) * 1024 if words else 0
