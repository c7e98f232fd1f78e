"""What the processor counts of a group: cache and memory traffic (resctrl).

The manager makes no group to monitor. It reads one that is there, which may be that of the knobs
`ways` and `bandwidth`. That is any folder below /sys/fs/resctrl with each process of the group, and
with no task of another.
No machine with such counters was at hand: it is tested on made-up trees.

Source: Documentation/filesystems/resctrl.rst, "mon_data" and "mon_groups".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sojourn.host import reading
from sojourn.host.tree import Tree
from sojourn.knobs.resctrl import MOUNT

TASKS_BYTES = 1 << 20
FOLDERS_MAX = 512  # monitoring groups that are looked at; processors have some 100 to 400
NO_MOUNT = "nothing counts it: no processor with resctrl, or not mounted"
NO_FOLDER = "no monitoring group of resctrl has exactly its tasks"
OCCUPANCY, MOVED = "llc_occupancy", "mbm_total_bytes"


def find(tree: Tree, pids: Iterable[int]) -> tuple[str, str]:
    """The folder that counts these processes and no other, or "" and why there is none."""
    if not tree.exists(f"{MOUNT}/mon_data"):
        return "", NO_MOUNT
    leaders = frozenset(pids)
    own = {int(name) for pid in leaders for name in tree.names(f"/proc/{pid}/task")}
    for nth, folder in enumerate(_folders(tree)):
        if nth >= FOLDERS_MAX:
            break
        tasks = _tasks(tree, folder)
        if leaders and leaders <= tasks <= own:
            return folder, ""
    return "", NO_FOLDER


def _folders(tree: Tree) -> Iterator[str]:
    """Groups of both kinds: each that has an allocation may have others that only count."""
    for at in (MOUNT, *(f"{MOUNT}/{name}" for name in tree.names(MOUNT))):
        if at != MOUNT and tree.exists(f"{at}/mon_data") and tree.exists(f"{at}/tasks"):
            yield at
        for name in tree.names(f"{at}/mon_groups"):
            yield f"{at}/mon_groups/{name}"


def _tasks(tree: Tree, folder: str) -> set[int]:
    """Its tasks; none where a word is no number."""
    words = (reading.whole(tree, f"{folder}/tasks", TASKS_BYTES) or b"").split()
    numbers = {reading.count(word) for word in words}
    return set() if None in numbers else {one for one in numbers if one is not None}


def total(tree: Tree, folder: str, name: str) -> int | None:
    """A count of all cache domains together; None where one of them is "Unavailable" or missing."""
    domains = [one for one in tree.names(f"{folder}/mon_data") if one.startswith("mon_L3")]
    counts = [reading.number(tree, f"{folder}/mon_data/{one}/{name}") for one in domains]
    known = [one for one in counts if one is not None]
    return sum(known) if known and len(known) == len(counts) else None
