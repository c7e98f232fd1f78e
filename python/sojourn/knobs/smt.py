"""Whether cores run two hyper-threads (C21).

For the whole machine: switched off, every second hyper-thread goes offline, and what was pinned to
it runs elsewhere; switched on again, such pins are not remembered by the kernel. To place threads
on siblings, or apart, use `cpuset`. It is measured by what is online: no core has a second thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.host.capacity import CPU_DIR
from sojourn.host.tree import Tree, cpu_list
from sojourn.knobs.knob import Asked, Felt, KnobKind, Lack
from sojourn.knobs.limit import no_effect
from sojourn.knobs.machine import Machine, unwritable

NAME = "smt"
PATH = f"{CPU_DIR}/smt/control"
SWITCHES = ("on", "off")


class Smt(Machine):
    """The hyper-threads of the whole machine."""

    name, by = NAME, "sysfs, machine-wide"

    def read(self) -> str:
        """Whether it is "on" or "off", or why neither."""
        return self._on.tree.text(PATH) or ""

    def wanted(self, level: str) -> Sequence[tuple[str, str]]:
        """The one switch that it is."""
        return ((PATH, level),)

    def effect(self) -> Felt:
        """Look how many threads cores have that are online."""
        return judge(self._level, siblings_max(self._on.tree))


def judge(level: str, siblings: int) -> Felt:
    """Whether cores have as many threads online as they should.

    Args:
        level: of the knob.
        siblings: most threads of a core that are online.
    """
    text = f"cores have {siblings} thread{'s' if siblings > 1 else ''} online"
    is_on = siblings > 1
    return Felt(holds=True, why=text) if is_on == (level == "on") else no_effect(text)


def siblings_max(tree: Tree) -> int:
    """Most threads of any core that are online."""
    online = {*cpu_list(tree.text(f"{CPU_DIR}/online"))}
    cores = (cpu_list(tree.text(f"{CPU_DIR}/cpu{c}/topology/core_cpus_list")) for c in online)
    return max((len(online & {*core}) for core in cores), default=1)


def lacks(asked: Asked) -> Lack | None:
    """Hyper-threads that can be switched, and the right to do it."""
    text = asked.tree.text(PATH)
    if text in SWITCHES:
        return unwritable(asked, [(PATH, asked.level)])
    fix = "" if text in ("notsupported", None) else "boot without nosmt=force"
    return Lack(missing="hyper-threads that can be switched", fix=fix)


KIND = KnobKind(
    name=NAME,
    about="whether cores run two hyper-threads",
    level='"on" or "off"',
    pattern="on|off",
    needs=("root", "a CPU with hyper-threads (bare metal)"),
    source="C21, P6",
    lacks=lacks,
    label=lambda level: f"SMT {level}",
    build=Smt,
)
