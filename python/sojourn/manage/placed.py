"""Which CPUs are a group's own by `cores`, and whether it runs on these alone.

Best-effort groups share the last CPUs. Services lie side by side from the first one on, so that no
two of them have the same CPU while there are enough.
"""

from __future__ import annotations

from collections.abc import Collection

from sojourn.host.tree import cpu_list, cpu_text
from sojourn.knobs.groups import Group

CPUSET, EFFECTIVE = "cpuset.cpus", "cpuset.cpus.effective"


def own(cpus: tuple[int, ...], cores: int | None, first: int | None) -> tuple[int, ...]:
    """So many of the CPUs that all groups share; None: all of them.

    Args:
        cpus: that are shared, ascending.
        cores: how many.
        first: how many the services before it have; None: it is a best-effort group.

    >>> own((0, 1, 2, 3), 2, 1), own((0, 1, 2, 3), 2, 3), own((0, 1, 2, 3), 1, None)
    ((1, 2), (2, 3), (3,))
    """
    count = len(cpus) if cores is None else min(cores, len(cpus))
    begin = len(cpus) - count
    if first is not None:
        begin = min(begin, first)
    return cpus[begin : begin + count]


def lies(cpuset: Group, cores: int | None, wanted: Collection[int], cpus: Collection[int]) -> str:
    """Where a group does not run on its own CPUs; "": it does, or has none.

    Args:
        cpuset: its folder.
        cores: how many it has; None or 0: none of its own.
        wanted: those that the manager has set; none: it has not set any.
        cpus: that all groups share.
    """
    if not cores:
        return ""
    now = {*cpu_list(cpuset.text(CPUSET))}
    has = count(now, cpus)
    if cores != (len(cpus) if has is None else has):
        return f"{cores} cores were set, and cpuset.cpus has {has}"
    if wanted and now != {*wanted}:
        return f"CPUs {_text(wanted)} were set, and cpuset.cpus has {_text(now)}"
    others = {*cpu_list(cpuset.text(EFFECTIVE))} - {*wanted} if wanted else set[int]()
    if others:  # version 2 takes any CPUs, also those that the group above does not have
        return f"CPUs {_text(wanted)} were set, and it runs on {_text(others)}"
    return ""


def count(now: Collection[int], cpus: Collection[int]) -> int | None:
    """How many of the CPUs that all groups share `now` has; None: all, or `now` is empty."""
    return None if not now or {*now} >= {*cpus} else len({*now} & {*cpus})


def _text(cpus: Collection[int]) -> str:
    return cpu_text(tuple(sorted(cpus))) or "none"
