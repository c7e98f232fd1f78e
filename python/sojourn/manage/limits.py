"""Limits of a named control group that are not of CPU time.

`memory` is memory.high: from there the kernel slows the group down and reclaims; it kills nothing.
Version 1 has no such limit, so it is not moved there. `io` is io.max, or
blkio.throttle.*_bps_device: bytes/s of one disk, both ways. Version 1 limits only what a task reads
and writes itself, past the page cache. `frozen` is cgroup.freeze, or freezer.state: no task runs.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path

from sojourn.controllers.look import Knob, Level
from sojourn.host.cgroups import NO_LIMIT_BYTES
from sojourn.host.tree import Tree, as_int
from sojourn.knobs import disks, io_limit, settings
from sojourn.knobs.groups import Group

MEMORY: Knob = "memory"
IO: Knob = "io"
FROZEN: Knob = "frozen"
HIGH, FREEZE, STATE = "memory.high", "cgroup.freeze", "freezer.state"
#: How a file is read back; any other one is a text.
KINDS = {
    **dict.fromkeys((io_limit.MAX, *io_limit.FILES.values()), settings.DISK),
    STATE: settings.FREEZER,
}


def find(named: Callable[[str], Group | None], tree: Tree, disk: str) -> dict[Knob, Group]:
    """The folders in which each of these knobs can be moved.

    Args:
        named: the group's folder in the hierarchy of a controller; None: it has none.
        tree: of the machine.
        disk: as "MAJOR:MINOR"; "": none was named.
    """
    folders: dict[Knob, Group] = {}
    memory, io, freezer = named("memory"), named("blkio") or named("io"), named("freezer")
    if memory is not None and tree.exists(f"{memory.folder}/{HIGH}"):
        folders[MEMORY] = memory
    if io is not None and disk:
        folders[IO] = io
    second = next((one for one in (named("cpu"), memory, io) if one and one.version == 2), None)
    if stopped := freezer or second:
        folders[FROZEN] = stopped
    return folders


def disk(tree: Tree, path: str) -> str:
    """The disk that a path is on, "MAJOR:MINOR"; "": it is on none, or there is no such path."""
    try:
        return disks.disk_below(tree, Path(path))[0] if path else ""
    except OSError:
        return ""


def read(knob: Knob, group: Group, disk: str) -> Level:
    """The level that is in force."""
    if knob == FROZEN:
        if group.version == 1:
            return group.text(STATE) not in {"", settings.THAWED}
        return group.text(FREEZE) == "1"
    if knob == MEMORY:
        high = as_int(group.text(HIGH))
        return None if high is None or high >= NO_LIMIT_BYTES else high
    return min(filter(None, io_limit.limits_of(group, disk).values()), default=None)


def steps(knob: Knob, group: Group, disk: str, level: Level) -> list[tuple[str, str]]:
    """Files of the kernel, and what is written to each for a level."""
    at = group.folder
    if knob == FROZEN:
        if group.version == 1:
            return [(f"{at}/{STATE}", settings.FROZEN if level else settings.THAWED)]
        return [(f"{at}/{FREEZE}", "1" if level else "0")]
    number = None if level is None else max(mmap.PAGESIZE, int(level))
    if knob == MEMORY:
        return [(f"{at}/{HIGH}", "max" if number is None else str(_in_pages(number)))]
    ways = {} if number is None else dict.fromkeys(io_limit.FILES, number)
    return [(f"{at}/{name}", text) for name, text in io_limit.files_of(group, disk, ways)]


def lies(knob: Knob, group: Group, disk: str, level: Level) -> str:
    """Where a level that was set does not read back; "": it does."""
    if is_as_set(knob, group, disk, level):
        return ""
    return f"{knob} was set to {level} and reads {read(knob, group, disk)}"


def is_as_set(knob: Knob, group: Group, disk: str, level: Level) -> bool:
    """Whether a level that was set reads back."""
    now = read(knob, group, disk)
    if knob == FROZEN or level is None or now is None:
        return now == level
    wanted = max(mmap.PAGESIZE, int(level))
    return now == (_in_pages(wanted) if knob == MEMORY else wanted)


def _in_pages(size: int) -> int:
    """Bytes in whole pages, as the kernel counts them."""
    return size // mmap.PAGESIZE * mmap.PAGESIZE
