"""A service's share of a CPU that others want as well, against the usual 100.

By the group's weight: `cpu.weight` in version 2, `cpu.shares` (1024 for 100) in version 1. It says
nothing where nobody else wants the CPU. It is felt on one CPU, by two burners: one in the service's
group, one in a group of its own beside it; their CPU times are to each other as the weights, where
without the knob they would be equal. On a busy machine both get less, in the same ratio.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from sojourn.knobs import groups
from sojourn.knobs.groups import Group
from sojourn.knobs.knob import Felt, KnobKind, Turned
from sojourn.knobs.limit import NONE, UNDO, Limit, no_effect
from sojourn.knobs.probe import BURN, Probe

NAME = "cpu_weight"
CONTROLLER = "cpu"
USUAL, MOST = 100, 10_000
SHARES = 1024  # of version 1, for the usual weight
SHARES_MIN, SHARES_MAX = 2, 262_144  # include/linux/sched.h: MIN_SHARES, MAX_SHARES
WINDOW_S = 0.5
TELLING = 1.5  # weights that are nearer to the usual one cannot be separated from it in that time
LEAST_S = 1e-4  # of CPU time: who got less was starved
RAN_MIN = 0.1  # of the window: who got less, together, has not been in each other's way


class CpuWeight(Limit):
    """The CPU weight of one service."""

    name, controller = NAME, CONTROLLER

    def value(self, level: str) -> int:
        """The weight; ValueError if it is outside of what the kernel takes."""
        weight = USUAL if level == NONE else int(level)
        if not 1 <= weight <= MOST:
            raise ValueError(f"weights are 1 to {MOST}")
        return weight

    def level(self, value: int) -> str:
        """The weight, as it is typed."""
        return str(value)

    def read_back(self, group: Group) -> int:
        """The group's weight; shares of version 1 are rounded to it."""
        if group.version == 2:
            return int(group.text("cpu.weight") or USUAL)
        return round(int(group.text("cpu.shares") or SHARES) * USUAL / SHARES)

    def files(self, value: int, group: Group) -> Sequence[tuple[str, str]]:
        """One file, named by version."""
        if group.version == 2:
            return (("cpu.weight", str(value)),)
        shares = min(max(round(value * SHARES / USUAL), SHARES_MIN), SHARES_MAX)
        return (("cpu.shares", str(shares)),)

    def bites(self, value: int, group: Group) -> Felt:
        """Let two burners want one CPU, one of them with this weight."""
        wanted = value / USUAL
        if 1 / TELLING < wanted < TELLING:
            why = f"it reads back; {value} is too near to the usual {USUAL} to be measured"
            return Felt(holds=None, why=why)
        return against_usual(self._on, group, self.cpus(), wanted)


def against_usual(on: Turned, group: Group, cpus: Sequence[int], wanted: float) -> Felt:
    """Let two burners want one CPU: one in a service's group, one in a usual group beside it.

    Args:
        on: the service.
        group: its group.
        cpus: CPUs that it may use; the first is taken.
        wanted: what the first burner is to have for what the other has, not 1.
    """
    with (
        groups.beside(on, group) as other,
        Probe(BURN, 1, WINDOW_S) as probe,
        Probe(BURN, 1, WINDOW_S) as others,
    ):
        groups.put(group.tree, group.folder, probe.on(cpus[:1]).pid)
        groups.put(group.tree, other, others.on(cpus[:1]).pid)
        return judge(*both(probe, others), wanted)


def both(probe: Probe, others: Probe) -> tuple[float, float]:
    """Let two burners burn in one window, which one may sleep through; CPU time of each, s."""
    began = time.monotonic()
    for one in (others, probe):
        one.go(began)
    got, left = (one.hear().get("cpu_s", 0.0) for one in (probe, others))
    return got, left


def judge(got_s: float, left_s: float, wanted: float) -> Felt:
    """Whether two that want one CPU share it as they should, rather than equally.

    Args:
        got_s: CPU time of the one that the knob is on.
        left_s: of the other.
        wanted: what the first is to be to the second, not 1.
    """
    got_s, left_s = max(got_s, LEAST_S), max(left_s, LEAST_S)
    if got_s + left_s < RAN_MIN * WINDOW_S:
        return Felt(holds=None, why="it reads back; the machine gave its probes no CPU time")
    ratio = got_s / left_s
    text = f"on one CPU a burner had {ratio:.2g} times the time of another, {wanted:.2g} wanted"
    is_nearer = math.log(ratio) / math.log(wanted) > 0.5
    return Felt(holds=True, why=text) if is_nearer else no_effect(text)


KIND = KnobKind(
    name=NAME,
    about="a service's share of CPUs that others want as well, against the usual 100",
    level='a weight from 1 to 10000, such as "200", or "none" (100)',
    pattern=r"none|[1-9]\d{0,3}|10000",
    needs=("root or a delegated subtree", "the control-group controller cpu, version 1 or 2"),
    source="Heracles, and M23",
    orders=True,
    lacks=lambda asked: groups.lacking(asked, CONTROLLER),
    build=CpuWeight,
    undo=UNDO,
)
