"""A service whose whole control group runs only where no one else wants the CPU (`cpu.idle`).

The group's form of the policy `idle`: its threads keep their own policies among themselves, and all
of them together have the weight of one idle thread. It is felt on one CPU by two burners, one in
the service's group and one in a group of its own beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.host.tree import has_kernel
from sojourn.knobs import cpu_weight, groups
from sojourn.knobs.groups import Group
from sojourn.knobs.knob import Asked, Felt, KnobKind, Lack
from sojourn.knobs.limit import NONE, UNDO, Limit

NAME = "cpu_idle"
CONTROLLER = "cpu"
FILE = "cpu.idle"
ON = "on"
SHARE = 3 / 1024  # of a usual group's: kernel/sched/sched.h, WEIGHT_IDLEPRIO


class CpuIdle(Limit):
    """Whether one service's group is an idle one."""

    name, controller, none_leaves = NAME, CONTROLLER, True

    def value(self, level: str) -> int:
        """1: it is; 0: it is not."""
        return int(level == ON)

    def level(self, value: int) -> str:
        """The level, as it is typed."""
        return ON if value else NONE

    def read_back(self, group: Group) -> int:
        """What the group's file says."""
        return int(group.text(FILE) or 0)

    def files(self, value: int, group: Group) -> Sequence[tuple[str, str]]:
        """One file, the same in both versions."""
        del group
        return ((FILE, str(value)),)

    def bites(self, value: int, group: Group) -> Felt:
        """Let two burners want one CPU, one of them in this group."""
        if not value:
            return Felt(holds=None, why="it reads back; it cannot be separated from a usual group")
        return cpu_weight.against_usual(self._on, group, self.cpus(), SHARE)


def lacks(asked: Asked) -> Lack | None:
    """Control groups with the file, which Linux 5.15 brought."""
    if asked.level == NONE:
        return None
    if lack := groups.lacking(asked, CONTROLLER):
        return lack
    if not has_kernel(asked.tree, 5, 15):
        return Lack(missing="idle control groups (cpu.idle)", fix="Linux 5.15 or later")
    return None


KIND = KnobKind(
    name=NAME,
    about="a service that runs only when no other task wants the CPU, as a group",
    level='"on" or "none"',
    pattern="on|none",
    needs=("root or a delegated subtree", "the control-group controller cpu", "Linux 5.15"),
    source="L24, and M23",
    orders=True,
    lacks=lacks,
    label=lambda level: "background group" if level == "on" else "no background group",
    build=CpuIdle,
    undo=UNDO,
)
