"""How much CPU time the real-time threads of a service may use in every period, on each CPU (L24).

    "12ms/24ms"    runtime and period
    "50%/24ms"     the same as a share of the period
    "load/24ms"    a share by offered load: where several services are measured at once, each has as
                   much of what there is as its load is of all loads; alone it has nearly all
    "none"

`cpu.max` does not bind real-time threads; this does, and it is not work-conserving: what is used up
is waited for even on an idle CPU. Only control groups of version 1 have it, in a kernel with
CONFIG_RT_GROUP_SCHED. There a group without a budget takes no real-time thread, so it is turned
before the policy. What all groups have together must fit into the kernel's own limit (950 of 1000
ms), so what a service has by load is let go between two points.

It is measured by a burner in the same group at the lowest real-time priority.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from sojourn import units
from sojourn.errors import HostFault
from sojourn.knobs import attr, groups
from sojourn.knobs.attr import Attr
from sojourn.knobs.groups import Group
from sojourn.knobs.knob import Asked, Felt, KnobKind, Lack, Offered, Turned
from sojourn.knobs.limit import NONE, UNDO, Limit, no_effect
from sojourn.knobs.probe import BURN, Probe

NAME = "rt_quota"
CONTROLLER = "cpu"
RUNTIME, PERIOD = "cpu.rt_runtime_us", "cpu.rt_period_us"
BY_LOAD = "load"
WHOLE = 0.9  # of a CPU, for all; the kernel's own limit is 0.95 (kernel.sched_rt_runtime_us)
MOST = 0.88  # of one service, so that another one's floor fits beside it
RELEASED_S_MAX = 1.0  # a group that is gone counts until the kernel has let go of it (RCU)
FLOOR = 0.005  # between two points: several that wait fit beside what is measured
WINDOW_S = 0.5
PERIOD_MOST_US = 3_600_000_000  # far more than any kernel is set to
SLACK = 0.03  # of the window: what is charged a tick late
TELLING = 0.85  # a share from which on no effect could be seen
TIME = r"\d+(\.\d+)?(us|ms|s)"

#: Runtime and period, us.
Value: TypeAlias = tuple[int, int]


class RtQuota(Limit):
    """The CPU budget of one service's real-time threads."""

    name, controller, none_leaves = NAME, CONTROLLER, True

    def __init__(self, on: Turned) -> None:
        """Nothing is turned; by load it has next to nothing before it knows of any."""
        super().__init__(on)
        self._share = FLOOR

    def value(self, level: str) -> Value:
        """Runtime and period of a level, us; ValueError if it is longer than its period."""
        return value_of(level, self._share)

    def level(self, value: Value) -> str:
        """As it would be typed; "none" of a group that has no budget."""
        return f"{value[0]}us/{value[1]}us" if value[0] else NONE

    def read_back(self, group: Group) -> Value:
        """What the group's files say."""
        return int(group.text(RUNTIME) or 0), int(group.text(PERIOD) or 0)

    def files(self, value: Value, group: Group) -> Sequence[tuple[str, str]]:
        """The period first where it changes, with no budget: every step must be allowed."""
        runtime, period = value
        now, same = self.read_back(group)
        steps = [(RUNTIME, "0")] if now and same != period else []
        steps += [(PERIOD, str(period))] if same != period else []
        return [*steps, (RUNTIME, str(runtime))]

    def among(self, label: str, offered: Mapping[str, Offered]) -> None:
        """By load: as much of what there is as its load is of all."""
        level = self.asked
        if not level.startswith(BY_LOAD):
            return
        self._share, bites = share_of(label, offered), self._bites
        until = time.monotonic() + RELEASED_S_MAX
        while True:
            try:
                self.apply(level)
            except HostFault:
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)
            else:
                break
        self._bites = bites  # another share of the same: it was felt before

    def bites(self, value: Value, group: Group) -> Felt:
        """Let a real-time burner want all of a CPU, and see what it gets."""
        share = value[0] / value[1]
        if share >= TELLING:
            return Felt(
                holds=None, why=f"it reads back; {share:.0%} limits too little to be measured"
            )
        with Probe(BURN, 1, WINDOW_S) as probe:
            groups.put(group.tree, group.folder, probe.on(self.cpus()[:1]).pid)
            attr.put(probe.pid, Attr(attr.FIFO, priority=1))
            got = probe.go().hear()
        wall = got.get("wall_s", 0.0)
        used = got.get("cpu_s", 0.0) / wall if wall else 0.0
        text = f"a real-time burner used {used:.2f} of a CPU where {share:.2f} are allowed"
        ends = value[0] / 1e6 / wall if wall else 1.0  # a period that is cut off at one end
        if used > share + ends + SLACK:
            return no_effect(text)
        return Felt(holds=True, why=text)


def share_of(label: str, offered: Mapping[str, Offered]) -> float:
    """The share of a CPU that a service has by its load, 0 to 1.

    >>> of = {"a": Offered(load=0.3), "b": Offered(load=0.3)}
    >>> round(share_of("a", of), 6), share_of("a", {"a": of["a"]}), share_of("a", {})
    (0.45, 0.88, 0.005)
    """
    if label not in offered:
        return FLOOR
    whole = sum(one.load for one in offered.values())
    return min(MOST, WHOLE * offered[label].load / whole)


def value_of(level: str, share: float) -> Value:
    """Runtime and period of a level, us; ValueError if it is longer than its period.

    Args:
        level: of the knob, but "none".
        share: of the period, for a level by load.
    """
    inputs, _, text = level.partition("/")
    period = _us(text)
    if not 0 < period <= PERIOD_MOST_US:
        raise ValueError("a period is more than 0, and an hour at most")
    if inputs == BY_LOAD:
        return round(share * period), period
    runtime = round(float(inputs[:-1]) / 100 * period) if inputs.endswith("%") else _us(inputs)
    if not 0 < runtime <= period:
        raise ValueError("a runtime is more than 0 and no more than its period")
    return runtime, period


def refuses(level: str) -> str:
    """Why the kernel takes no such budget.

    >>> refuses("none"), refuses("load/24ms"), refuses("200%/24ms")
    ('', '', 'a runtime is more than 0 and no more than its period')
    """
    try:
        if level != NONE:
            value_of(level, FLOOR)
    except ValueError as error:
        return str(error)
    return ""


def _us(text: str) -> int:
    return round(units.parse_ns(text) / 1000)


def lacks(asked: Asked) -> Lack | None:
    """Groups of version 1 that have a budget for real-time threads."""
    if asked.level == NONE:
        return None
    if lack := groups.lacking(asked, CONTROLLER):
        return lack
    result = groups.find(asked.tree, CONTROLLER)
    text = asked.tree.text(f"{result.mount}/{RUNTIME}") if result and result.version == 1 else None
    if text is None:
        return Lack(
            missing="a CPU budget for real-time threads (cpu.rt_runtime_us)",
            fix="a kernel with CONFIG_RT_GROUP_SCHED, and the controller cpu in version 1",
        )
    return None


KIND = KnobKind(
    name=NAME,
    about="CPU time that a service's real-time threads may use in every period",
    level='"50%/24ms", "12ms/24ms", "load/24ms" (by offered load) or "none"',
    pattern=rf"none|load/{TIME}|\d+(\.\d+)?%/{TIME}|{TIME}/{TIME}",
    needs=("root", "control groups version 1 and CONFIG_RT_GROUP_SCHED"),
    source="L24, and M23",
    orders=True,
    refuses=refuses,
    lacks=lacks,
    label=lambda level: (
        "no quota"
        if level == "none"
        else "quota by load"
        if level.startswith("load/")
        else f"quota {level}"
    ),
    build=RtQuota,
    undo=UNDO,
)
