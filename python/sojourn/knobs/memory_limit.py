"""How much memory a service may have, page cache included (P20).

Pages that it touched before it was moved into its group stay with the one that it came from
(version 1) or came along (version 2); so the knob is turned as soon as the service has started,
before it is filled. What of it is swapped out does not count: where a machine swaps, a service over
its limit is slow and not killed.

It is felt by a probe in the same group that wants more than is left. It offers itself to be killed
first, so that the service is not; a limit below what the service holds already is refused.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence

from sojourn import units
from sojourn.host import memory
from sojourn.host.cgroups import NO_LIMIT_BYTES
from sojourn.host.tree import Tree, as_int
from sojourn.knobs import groups
from sojourn.knobs.groups import Group
from sojourn.knobs.knob import Felt, KnobKind
from sojourn.knobs.limit import NONE, UNDO, Limit, no_effect
from sojourn.knobs.probe import GROW, Probe
from sojourn.places import proc

NAME = "memory_limit"
CONTROLLER = "memory"
MORE_BYTES = 32 << 20  # that the probe wants beyond what is left, at least
PROBE_BYTES_MAX = 1 << 30  # a probe that would have to touch more takes longer than a second
SLACK = 1.02
ALWAYS_PANIC = 2  # vm.panic_on_oom


class MemoryLimit(Limit):
    """The memory of one service."""

    name, controller = NAME, CONTROLLER

    def value(self, level: str) -> int | None:
        """Bytes, in whole pages as the kernel counts; None: no limit."""
        page = mmap.PAGESIZE  # 64 KiB on some kernels for Arm and POWER
        return None if level == NONE else units.parse_bytes(level) // page * page

    def level(self, value: int | None) -> str:
        """Bytes as text, with their unit."""
        return NONE if value is None else f"{value}B"

    def read_back(self, group: Group) -> int | None:
        """The group's limit; None: none."""
        limit = as_int(group.text(_limit(group)))
        return None if limit is None or limit >= NO_LIMIT_BYTES else limit

    def files(self, value: int | None, group: Group) -> Sequence[tuple[str, str]]:
        """One file, named by version."""
        none = "-1" if group.version == 1 else "max"
        return ((_limit(group), none if value is None else str(value)),)

    def refused(self, value: int | None, group: Group) -> str:
        """Refuse what would get the service killed at once."""
        del group
        held = sum(rss_bytes(self._on.tree, p.pid) for p in proc.session(self._on.leader))
        if value is None or value > held:
            return ""
        return f"it holds {units.show_bytes(held)} already"

    def bites(self, value: int | None, group: Group) -> Felt:
        """Let a probe want more than is left, and see whether it can have it."""
        if value is None:
            return Felt(holds=None, why="it reads back; without a limit there is nothing to feel")
        used = used_bytes(group)
        want = max(0, value - used) + more_bytes(value)
        if why := self._unfelt(want):
            return Felt(holds=None, why=f"it reads back; {why}")
        killed = kills(group)
        with Probe(GROW, want) as probe:
            groups.put(group.tree, group.folder, probe.pid)
            held = int(probe.go().hear().get("held", 0))
            used = used_bytes(group)
            resident = rss_bytes(group.tree, probe.pid)
            ended = not held and probe.was_killed
        limit = units.show_bytes(value)
        if ended and kills(group) > killed:
            text = f"a probe that wanted more than the {limit} was killed for it"
            return Felt(holds=True, why=text)
        if not held:
            return Felt(holds=None, why="it reads back; the probe ended for another reason")
        text = f"a probe held {units.show_bytes(resident)}, and its group {units.show_bytes(used)}"
        if used > value * SLACK:
            return no_effect(f"{text}, where {limit} are allowed")
        return Felt(holds=True, why=f"{text} of the {limit} that are allowed; the rest was swapped")

    def _unfelt(self, want: int) -> str:
        """Why it is not probed; "" if it may be."""
        tree = self._on.tree
        if want > PROBE_BYTES_MAX:
            return f"more is left than the {units.show_bytes(PROBE_BYTES_MAX)} that a probe touches"
        if memory.available_bytes(tree) < 2 * want:
            return "the machine has too little memory left for a probe"
        if tree.number("/proc/sys/vm/panic_on_oom") == ALWAYS_PANIC:
            return "this kernel panics where a limit is hit (vm.panic_on_oom = 2)"
        return ""


def more_bytes(value: int) -> int:
    """What a probe wants beyond a limit: more than twice what may be taken for none too much.

    >>> more_bytes(64 << 20) == MORE_BYTES, more_bytes(8 << 30) > 2 * (SLACK - 1) * (8 << 30)
    (True, True)
    """
    return max(MORE_BYTES, int(3 * (SLACK - 1) * value))


def rss_bytes(tree: Tree, pid: int) -> int:
    """Memory of a process that is resident; 0: it is gone."""
    words = (tree.text(f"/proc/{pid}/statm") or "0 0").split()
    return int(words[1]) * mmap.PAGESIZE


def used_bytes(group: Group) -> int:
    """Memory that is charged to the group."""
    name = "memory.usage_in_bytes" if group.version == 1 else "memory.current"
    return as_int(group.text(name)) or 0


def kills(group: Group) -> int:
    """How many of the group were killed because of its limit."""
    text = group.text("memory.oom_control" if group.version == 1 else "memory.events")
    lines = (line.split() for line in text.splitlines())
    return next((int(words[1]) for words in lines if words[0] == "oom_kill"), 0)


def _limit(group: Group) -> str:
    return "memory.limit_in_bytes" if group.version == 1 else "memory.max"


def refuses(level: str) -> str:
    """Why no service lives with it.

    >>> refuses("0"), refuses("none"), refuses("256MiB")
    ('a limit is one page at least', '', '')
    >>> refuses("9000000000GiB")
    'the kernel takes that for no limit, which is "none"'
    """
    if level == NONE:
        return ""
    size = units.parse_bytes(level)
    if size >= NO_LIMIT_BYTES:
        return f'the kernel takes that for no limit, which is "{NONE}"'
    return "a limit is one page at least" if size < mmap.PAGESIZE else ""


KIND = KnobKind(
    name=NAME,
    about="memory that a service may have, page cache included",
    level='a size, such as "256MiB", or "none"',
    pattern=r"none|\d+(\.\d+)?([kKMG]i?B|B)?",
    needs=("root or a delegated subtree", "the control-group controller memory, version 1 or 2"),
    source="P20, and M23",
    refuses=refuses,
    lacks=lambda asked: groups.lacking(asked, CONTROLLER),
    build=MemoryLimit,
    undo=UNDO,
)
