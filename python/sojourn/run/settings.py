"""Settings of the machine that the lab changes on request: which CPUs something may run on.

A setting knows where it stands, what it was and what the lab made of it, and so it can be put back
by whoever finds it in a journal. It is put back only where it still is what the lab made of it:
what somebody else has set since is theirs.

    file      /proc/irq/24/smp_affinity_list, a CPU list, or a mask such as …/workqueue/cpumask
    affinity  a thread, by number and start, so that a number that was given away again is not hit
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sojourn.host.tree import Tree, cpu_list, cpu_text

FILE, AFFINITY = "file", "affinity"
WORD_BITS = 32  # of a kernel mask between two commas


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """CPUs that one thing may use, before and after.

    Attributes:
        kind: "file" or "affinity".
        what: for people.
        path: of the file, as on the machine; "" for a thread.
        pid, tid, start_ticks: of the thread; 0 for a file.
        old, new: kernel CPU lists, such as "0-3".
    """

    kind: str
    what: str
    old: str
    new: str
    path: str = ""
    pid: int = 0
    tid: int = 0
    start_ticks: int = 0

    def as_json(self) -> dict[str, Any]:
        """As it stands in the journal."""
        return asdict(self)

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> Setting:
        """The setting whose `as_json` is `table`; TypeError if it is none."""
        return cls(**table)


def read(setting: Setting, tree: Tree) -> str | None:
    """The CPUs it has now, as a CPU list; None: it is gone."""
    if setting.kind == FILE:
        text = tree.text(setting.path)
        return None if text is None else cpu_text(file_cpus(setting.path, text))
    if start_ticks(tree, setting.pid, setting.tid) != setting.start_ticks:
        return None
    try:
        return cpu_text(tuple(os.sched_getaffinity(setting.tid)))
    except OSError:
        return None


def change(setting: Setting, cpus: str, tree: Tree) -> str:
    """Give it these CPUs, and read back.

    Returns:
        "" if it has them now or is gone, else why not.
    """
    now = read(setting, tree)
    if now in (None, cpus):
        return ""
    wanted = cpu_list(cpus)
    try:
        if setting.kind == FILE:
            tree.path(setting.path).write_text(file_text(setting.path, wanted), encoding="ascii")
        else:
            os.sched_setaffinity(setting.tid, wanted)
    except OSError as error:
        return error.strerror or "refused"
    return "" if read(setting, tree) in (None, cpus) else "without effect"


def put_back(setting: Setting, tree: Tree) -> str:
    """Give it back what it had, unless it was changed by somebody else since.

    Returns:
        "" if nothing of the lab's is left of it, else why.
    """
    return change(setting, setting.old, tree) if read(setting, tree) == setting.new else ""


def start_ticks(tree: Tree, pid: int, tid: int) -> int:
    """When a thread started, clock ticks after boot; 0: it is gone."""
    fields = stat_fields(tree, pid, tid)
    return int(fields[19]) if fields else 0


def stat_fields(tree: Tree, pid: int, tid: int) -> list[str]:
    """Fields of its `stat` after the name, from the state on (proc(5)); none: it is gone."""
    text = tree.text(f"/proc/{pid}/task/{tid}/stat")
    return text.rpartition(")")[2].split() if text else []


def file_cpus(path: str, text: str) -> tuple[int, ...]:
    """CPUs that a file of the kernel names: a list where its name says so, else a mask."""
    if path.endswith("_list"):
        return cpu_list(text)
    bits = int(text.replace(",", "") or "0", 16)
    return tuple(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def file_text(path: str, cpus: Collection[int]) -> str:
    """What to write into such a file.

    >>> file_text("/proc/irq/default_smp_affinity", (0, 1, 33))
    '2,00000003'
    >>> file_text("/proc/irq/9/smp_affinity_list", (0, 1, 33))
    '0-1,33'
    """
    if path.endswith("_list"):
        return cpu_text(tuple(cpus))
    bits = sum(1 << cpu for cpu in cpus)
    words = []
    while bits:
        words.append(bits & ((1 << WORD_BITS) - 1))
        bits >>= WORD_BITS
    words = words or [0]
    return ",".join([f"{words[-1]:x}", *(f"{word:08x}" for word in reversed(words[:-1]))])
