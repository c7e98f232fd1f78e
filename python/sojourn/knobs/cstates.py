"""The deepest idle state that CPUs may enter, by the time that it takes to wake from it (L8).

    "20us"           states that take longer are disabled on every CPU (cpuidle, sysfs)
    "pm_qos:20us"    the kernel is asked to use none that takes longer, while the lab lives
    "all"            all are enabled

The second goes with the file that the lab holds open (/dev/cpu_dma_latency), so that nothing has to
be put back. Either is felt by the states themselves: those that are forbidden are not entered any
more while the CPUs idle.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Sequence

from sojourn import units
from sojourn.host import writable
from sojourn.host.capacity import CPU_DIR
from sojourn.host.tree import Tree
from sojourn.knobs.knob import Asked, Felt, KnobKind, Lack, Turned
from sojourn.knobs.limit import no_effect
from sojourn.knobs.machine import Machine, only_read, unwritable

NAME = "cstates"
ALL, QOS = "all", "pm_qos:"
DEVICE = "/dev/cpu_dma_latency"
GOVERNOR = f"{CPU_DIR}/cpuidle/current_governor_ro"
DEAF = {"haltpoll"}  # of virtual machines: it looks at pm_qos only (governors/haltpoll.c)
MOST_US = 2**31 - 1
IDLE_S = 0.3
IDLE_MS_MIN = (
    20.0  # of all CPUs; shorter, the kernel may have chosen the shallowest state by itself
)


class Cstates(Machine):
    """Idle states of all CPUs."""

    name = NAME

    def __init__(self, on: Turned) -> None:
        super().__init__(on)
        self._held = -1

    @property
    def by(self) -> str:
        """Which of the two ways."""
        return DEVICE if self._level.startswith(QOS) else "cpuidle, sysfs, all CPUs"

    def read(self) -> str:
        """Time to wake from the deepest state that is enabled; "all" where none is disabled."""
        tree = self._on.tree
        if self._level.startswith(QOS):
            return self._level
        states = _states(tree)
        on = [state for state in states if tree.text(f"{state}/disable") == "0"]
        deepest = max((_exit_us(tree, state) for state in on), default=0)
        return ALL if len(on) == len(states) else f"{deepest}us"

    def apply(self, level: str) -> None:
        """Disable states, or hold the kernel to a time."""
        if not level.startswith(QOS):
            self._let_go()
            super().apply(level)
            return
        super().restore()
        try:
            held = os.open(self._on.tree.path(DEVICE), os.O_WRONLY)
            os.write(held, struct.pack("=i", _limit_us(level)))
        except OSError as error:
            raise self._refused(level, f"{DEVICE}: {error.strerror}") from None
        self._let_go()
        self._held, self._level, self._effect = held, level, None

    def wanted(self, level: str) -> Sequence[tuple[str, str]]:
        """Every state of every CPU."""
        return _files(self._on.tree, level)

    def effect(self) -> Felt:
        """Let the CPUs idle for a while, and see which states they entered."""
        tree = self._on.tree
        time.sleep(0.01)  # a CPU that is in a state stays there until it wakes
        before = {state: _used(tree, state) for state in _states(tree)}
        time.sleep(IDLE_S if tree.is_live else 0.0)
        entered = {state: _used(tree, state)[0] - used[0] for state, used in before.items()}
        idle_us = sum(_used(tree, state)[1] - used[1] for state, used in before.items())
        beyond = [state for state in entered if _is_beyond(tree, state, self._level)]
        count = sum(entered[state] for state in beyond) if beyond else None
        return judge(count, sum(entered.values()), idle_us / 1000)

    def restore(self) -> None:
        """Let the file go, and enable what was."""
        self._let_go()
        super().restore()

    def _let_go(self) -> None:
        if self._held >= 0:
            os.close(self._held)
            self._held = -1


def judge(beyond: int | None, entered: int, idle_ms: float) -> Felt:
    """Whether forbidden states were left alone.

    Args:
        beyond: how often one of them was entered; None: none is forbidden.
        entered: how often any state was.
        idle_ms: how long the CPUs were in any of them.
    """
    if beyond is None:
        return only_read("it forbids no state of this machine")
    if beyond > 0:
        return no_effect(f"forbidden states were entered {beyond} times")
    if not entered:
        return only_read("no CPU has idled")
    if idle_ms < IDLE_MS_MIN:
        return only_read(f"the CPUs idled for {idle_ms:.1f} ms, and {IDLE_MS_MIN:.0f} are needed")
    return Felt(holds=True, why=f"no forbidden state was entered, others {entered} times")


def _states(tree: Tree) -> list[str]:
    """Folders of all states of all CPUs."""
    cpus = [name for name in tree.names(CPU_DIR) if name.startswith("cpu") and name[3:].isdigit()]
    folders = (f"{CPU_DIR}/{cpu}/cpuidle" for cpu in cpus)
    return [f"{f}/{name}" for f in folders for name in tree.names(f) if name.startswith("state")]


def _files(tree: Tree, level: str) -> list[tuple[str, str]]:
    """What a level of the first kind writes: (path, text)."""
    return [(f"{s}/disable", str(int(_is_beyond(tree, s, level)))) for s in _states(tree)]


def _exit_us(tree: Tree, state: str) -> int:
    return tree.number(f"{state}/latency") or 0


def _used(tree: Tree, state: str) -> tuple[int, int]:
    """How often it was entered, and for how long, µs."""
    return tree.number(f"{state}/usage") or 0, tree.number(f"{state}/time") or 0


def _is_beyond(tree: Tree, state: str, level: str) -> bool:
    return level != ALL and _exit_us(tree, state) > _limit_us(level)


def _limit_us(level: str) -> int:
    return units.parse_ns(level.removeprefix(QOS)) // 1000


def refuses(level: str) -> str:
    """Why the kernel, which counts in an int, takes no such time.

    >>> refuses("all"), refuses("pm_qos:20us"), refuses("pm_qos:2147483648us")
    ('', '', 'the kernel counts to 2147483647us')
    """
    is_more = level != ALL and _limit_us(level) > MOST_US
    return f"the kernel counts to {MOST_US}us" if is_more else ""


def lacks(asked: Asked) -> Lack | None:
    """States that can be disabled, or the device, and the right to write to them."""
    if asked.level.startswith(QOS) and not asked.tree.exists(DEVICE):
        return Lack(missing=DEVICE, fix="a kernel with CONFIG_CPU_IDLE")
    if not _states(asked.tree):
        return Lack(missing="cpuidle", fix="bare metal: hypervisors keep idle states")
    if asked.tree.text(GOVERNOR) in DEAF and not asked.level.startswith(QOS):
        fix = f'give "{QOS}0us"; or boot with cpuidle.governor=menu'
        return Lack(missing="an idle governor that heeds disabled states", fix=fix)
    if asked.level.startswith(QOS):
        no = writable.refusal(asked.tree, DEVICE)
        return Lack(missing=no.missing, fix=no.fix) if no else None
    return unwritable(asked, _files(asked.tree, asked.level))


KIND = KnobKind(
    name=NAME,
    about="the deepest idle state that CPUs may enter, by the time to wake from it",
    level='"20us" (states beyond it are disabled), "pm_qos:20us" (the kernel is asked), or "all"',
    pattern=r"all|(pm_qos:)?\d+us",
    needs=("root", "cpuidle"),
    source="L8, and M23",
    refuses=refuses,
    lacks=lacks,
    build=Cstates,
)
