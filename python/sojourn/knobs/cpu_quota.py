"""How much CPU time a service may use in every period (CFS bandwidth, sched-bwc).

    "50%"               half a CPU: 50 ms in every 100 ms
    "20ms/50ms"         quota and period
    "20ms/50ms+10ms"    and as much that was left over may be used at once later (burst)
    "none"

A thread with a real-time policy is not bound by it, so a service with this knob has no shield. It
is felt by a burner in the same group: the kernel says that it held the group up, and the burner got
no more than what fits into the window.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from sojourn import units
from sojourn.knobs import groups
from sojourn.knobs.groups import Group
from sojourn.knobs.knob import Felt, KnobKind
from sojourn.knobs.limit import NONE, UNDO, Limit, no_effect
from sojourn.knobs.probe import BURN, Probe
from sojourn.places import proc

NAME = "cpu_quota"
CONTROLLER = "cpu"
PERIOD_US = 100_000  # the kernel's own default
LEAST_US, PERIOD_MOST_US = 1000, 1_000_000  # of quota and period
MOST_US = (1 << 44) - 1  # of a quota: MAX_BW in kernel/sched/sched.h
WINDOW_S = 0.5
TIME = r"\d+(\.\d+)?(us|ms|s)"
SLACK = 0.02  # of the window: what is charged a tick late

#: Quota (None: none), period and burst, us.
Value: TypeAlias = tuple[int | None, int, int]


class CpuQuota(Limit):
    """The CPU bandwidth of one service."""

    name, controller = NAME, CONTROLLER

    def value(self, level: str) -> Value:
        """Quota, period and burst of a level, us."""
        return value_of(level)

    def level(self, value: Value) -> str:
        """As it would be typed, burst left out where there is none."""
        quota, period, burst = value
        if quota is None:
            return NONE
        if period == PERIOD_US and not burst:
            return f"{100 * quota / period:.6g}%"
        return f"{quota}us/{period}us" + (f"+{burst}us" if burst else "")

    def read_back(self, group: Group) -> Value:
        """What the group's files say."""
        if group.version == 1:
            quota, period, burst = (
                group.text(f"cpu.cfs_{n}_us") for n in ("quota", "period", "burst")
            )
        else:
            quota, _, period = group.text("cpu.max").partition(" ")
            burst = group.text("cpu.max.burst")
        is_free = quota in {"", "-1", "max"}
        return None if is_free else int(quota), int(period or PERIOD_US), int(burst or 0)

    def files(self, value: Value, group: Group) -> Sequence[tuple[str, str]]:
        """Without quota and burst first: every step on the way must be one the kernel allows."""
        quota, period, burst = value
        has_burst = bool(group.text(_burst(group)))
        if group.version == 1:
            steps = [
                *([("cpu.cfs_burst_us", "0")] if has_burst else []),
                ("cpu.cfs_quota_us", "-1"),
                ("cpu.cfs_period_us", str(period)),
                ("cpu.cfs_quota_us", "-1" if quota is None else str(quota)),
            ]
        else:
            steps = [
                *([("cpu.max.burst", "0")] if has_burst else []),
                ("cpu.max", f"{'max' if quota is None else quota} {period}"),
            ]
        return [*steps, (_burst(group), str(burst))] if burst else steps

    def bites(self, value: Value, group: Group) -> Felt:
        """Let burners want more than the quota, and see what they get."""
        quota, period, burst = value
        cpus = self.cpus()
        if quota is None or quota >= period * len(cpus):
            why = f"it reads back; on {len(cpus)} CPUs it limits nothing that could be measured"
            return Felt(holds=None, why=why)
        width = quota // period + 1
        periods = max(1, round(WINDOW_S * 1e6 / period))
        held_up, own = _throttled(group), proc.cpu_ns(self._on.leader)
        with Probe(BURN, width, periods * period / 1e6) as probe:
            groups.put(group.tree, group.folder, probe.on(cpus).pid)
            got = probe.go().hear()
        used = got.get("cpu_s", 0.0) + (proc.cpu_ns(self._on.leader) - own) / 1e9
        held_up = _throttled(group) - held_up
        wall = got.get("wall_s", 0.0)
        most = at_most(value, wall * 1e6, width) / 1e6 + SLACK * width * wall + burst / 1e6
        share = quota / period
        text = f"a burner used {used / wall if wall else 0:.2f} CPUs where {share:.2f} are allowed"
        if used > most:
            return no_effect(text)
        if not held_up:
            return Felt(holds=None, why=f"it reads back; {text}, and was not held up")
        return Felt(holds=True, why=f"{text}, held up in {held_up} periods")


def value_of(level: str) -> Value:
    """Quota, period and burst of a level, us."""
    if level == NONE:
        return None, PERIOD_US, 0
    if level.endswith("%"):
        return round(float(level[:-1]) / 100 * PERIOD_US), PERIOD_US, 0
    quota, period, burst = re.split(r"[/+]", f"{level}+0s" if "+" not in level else level)
    return _us(quota), _us(period), _us(burst)


def refuses(level: str) -> str:
    """Why the kernel takes no such quota (kernel/sched/core.c, tg_set_cfs_bandwidth).

    >>> refuses("0.5%"), refuses("1%"), refuses("20ms/50ms+30ms")
    ('a quota is 1 ms at least: 1% of 100 ms', '', 'a burst is no longer than its quota')
    """
    quota, period, burst = value_of(level)
    if quota is None:
        return ""
    if not LEAST_US <= period <= PERIOD_MOST_US:
        return "a period is 1 ms to 1 s"
    if quota > MOST_US:
        return f"a quota is {MOST_US // 1_000_000} s at most"
    if quota < LEAST_US:
        return f"a quota is 1 ms at least: {100 * LEAST_US / period:.3g}% of {period / 1000:.3g} ms"
    return "a burst is no longer than its quota" if burst > quota else ""


def at_most(value: Value, window_us: float, width: int) -> float:
    """Most CPU time that `width` threads get in any window, burst left out, us.

    Whole periods have the quota each; what is cut off at both ends may be the quotas of two others,
    if it is long enough.

    >>> at_most((50_000, 100_000, 0), 500_000, 1), at_most((95_000, 100_000, 0), 500_000, 1)
    (300000.0, 480000.0)
    """
    quota, period, _ = value
    inner = max(0, int(window_us // period) - 1)
    ends = min(2 * (quota or 0), width * (window_us - inner * period))
    return float(inner * (quota or 0) + ends)


def _throttled(group: Group) -> int:
    """Periods in which the group was held up."""
    lines = (line.split() for line in group.text("cpu.stat").splitlines())
    return next((int(words[1]) for words in lines if words[0] == "nr_throttled"), 0)


def _burst(group: Group) -> str:
    return "cpu.cfs_burst_us" if group.version == 1 else "cpu.max.burst"


def _us(text: str) -> int:
    return round(units.parse_ns(text) / 1000)


KIND = KnobKind(
    name=NAME,
    about="CPU time that a service may use in every period (CFS bandwidth)",
    level='"50%" of one CPU, "20ms/50ms" (quota and period), "20ms/50ms+10ms" (burst) or "none"',
    pattern=rf"none|\d+(\.\d+)?%|{TIME}/{TIME}(\+{TIME})?",
    needs=("root or a delegated subtree", "the control-group controller cpu, version 1 or 2"),
    source="PARTIES, and M23",
    orders=True,
    refuses=refuses,
    lacks=lambda asked: groups.lacking(asked, CONTROLLER),
    build=CpuQuota,
    undo=UNDO,
)
