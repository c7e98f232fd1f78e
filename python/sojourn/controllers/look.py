"""What a controller sees, and what it decides: plain data.

It is the same in a run and in a replay.

A `Look` is the state of the machine at one moment. Each number has an age or a sample size, because
a controller must know how much a number is worth. What is not known is null, never 0. Looks are
recorded as JSON, one a line; `Look.model_validate_json` refuses unknown keys, NaN and infinity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

#: Of a knob; None: no limit.
Level: TypeAlias = bool | int | float | str | None
Knob: TypeAlias = Literal[
    "cores",
    "quota",
    "weight",
    "idle",
    "memory",
    "io",
    "frozen",
    "policy",
    "egress",
    "frequency",
    "ways",
    "bandwidth",
]
Share = Annotated[float, Field(ge=0)]
COUNT_MAX = 1 << 53  # counts and levels are below it: a float holds each whole number exactly
Count = Annotated[int, Field(ge=0, lt=COUNT_MAX)]
Amount = Annotated[float, Field(ge=0, lt=COUNT_MAX)]
CPUS_MAX = 1 << 16  # eight times what any kernel is built for (NR_CPUS)
Role: TypeAlias = Literal["latency-critical", "best-effort"]
CRITICAL: Literal["latency-critical"] = "latency-critical"
BEST_EFFORT: Literal["best-effort"] = "best-effort"
WAYS_MAX = 64  # of any cache: a mask of resctrl has 32 bits
#: What represents "off" where a group cannot be stopped: CPUs.
OFF_CPUS = 0.01
LOOKS_MAX = 50  # of a history: 5 s at 100 ms, which Captain needs
COVERS = 0.2  # of the length asked for, that a window has: 100 ms say nothing about 15 s
LONGER = 1.1  # of that length, at most: who asks each second gets windows of a little more
Q = 0.99  # of the target
MISSED = -1e-9  # slack where too many requests were late, and p99 does not say so
EARLY_S = 0.02  # before a rule is due: a look that is a little early is the one for it


class Part(BaseModel):
    """Frozen; unknown keys, silent conversions, NaN and infinity are refused."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
    )


def mistake(error: ValidationError) -> str:
    """What is wrong first, with its key."""
    first = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(map(str, first["loc"]))
    return f"{key + ': ' if key else ''}{first['msg'].removeprefix('Value error, ')}"


class Window(Part):
    """The requests of one service that ended in one stretch of time."""

    length_ms: Annotated[int, Field(gt=0, lt=COUNT_MAX)]
    n: Count
    """Requests in it."""
    p99_ns: Share | None = None
    """An estimate where a longer window was made of short ones; `above` is exact there too."""
    lo_ns: Share | None = None
    """Lower end of the 95 % interval of p99; null: n is too small."""
    hi_ns: Share | None = None
    """Upper end; null: n is too small."""
    above: Count | None = None
    """Requests that took longer than the group's target; null: not counted."""
    waiting: Count | None = None
    """Requests without a reply at its end; null: not counted."""
    age_ms: Share = 0.0


class Signal(Part):
    """One number, and how old it is."""

    value: float
    age_ms: Share = 0.0


class Allocation(Part):
    """What a group may use now."""

    cores: Annotated[int, Field(ge=0, le=CPUS_MAX)] | None = None
    """CPUs of its own; null: all."""
    quota: Amount | None = None
    """CPU time per second of wall time, in CPUs; null: no limit."""
    weight: Annotated[int, Field(ge=1, lt=COUNT_MAX)] = 100
    idle: bool = False
    memory: Amount | None = None
    """Memory from which the kernel slows it down and reclaims, bytes; null: no limit."""
    io: Amount | None = None
    """Bytes/s that it may read, and that it may write, on its disk; null: no limit."""
    frozen: bool = False
    """Whether none of its tasks runs."""
    policy: Annotated[str, Field(pattern=r"^(other|batch|idle|nice:1?[0-9])$")] | None = None
    """How the kernel orders its threads: "idle", "batch", "other", or a nice value such as
    "nice:5"; null: as before the manager, each thread by itself."""
    egress: Amount | None = None
    """Bytes/s that it may send; null: no limit."""
    frequency: Amount | None = None
    """Hz that its own CPUs may run at most; null: as before the manager."""
    ways: Annotated[int, Field(ge=1, le=WAYS_MAX)] | None = None
    """Ways of the last-level cache that it may fill; null: all."""
    bandwidth: Annotated[int, Field(ge=1, le=100)] | None = None
    """Memory bandwidth that it may use, %; null: all."""


class Group(Part):
    """A control group that the manager was given."""

    role: Role
    target_ns: Annotated[float, Field(gt=0)] | None = None
    windows: tuple[Window, ...] = ()
    signals: Mapping[str, Signal] = Field(default_factory=dict)
    """`cpu` (CPUs used), `runq_delay_ms`, `load` (share of peak), `throttled` (periods), `periods`
    (of its quota, in which it ran), `io` (bytes/s read and written on its disk; only where the knob
    `io` can be moved). Leading ones: `accept_queue` (connections), `receive_queue_bytes`,
    `psi_cpu`, `psi_io`, `psi_memory` (share of time), `disk`, `network`, `memory_bandwidth`
    (bytes/s), `cache_bytes`."""
    missing: Mapping[str, str] = Field(default_factory=dict)
    """Why a leading signal is not known, by its name."""
    allocation: Allocation = Field(default_factory=Allocation)
    traits: tuple[str, ...] = ()
    """Its class by the third paper, such as "non-scalable" (P12)."""

    def window(self, length_ms: int) -> Window | None:
        """The longest window of about this length at most that has a p99; None: there is none.

        A window of less than `COVERS` of the length is none: a rule must not take it for the other.
        """
        least, most = COVERS * length_ms, LONGER * length_ms
        fit = [w for w in self.windows if least <= w.length_ms <= most]
        known = [w for w in fit if w.p99_ns is not None]
        return max(known, key=lambda w: w.length_ms, default=None)

    def slack(self, length_ms: int) -> float | None:
        """1 − p99/target in that window; None where one of them is unknown.

        Late requests are counted, and p99 may be an estimate, so the count decides on the sign.
        """
        window = self.window(length_ms)
        if window is None or window.p99_ns is None or self.target_ns is None:
            return None
        slack = 1 - window.p99_ns / self.target_ns
        if window.above is None or not window.n:
            return slack
        is_missed = window.above > window.n - math.ceil(Q * window.n)
        return min(slack, MISSED) if is_missed else max(slack, 0.0)

    def signal(self, name: str) -> float | None:
        """A signal's value; None: not known."""
        result = self.signals.get(name)
        return result.value if result else None


class Look(Part):
    """All groups at one moment."""

    t_s: Share
    cpus: Annotated[int, Field(ge=1, le=CPUS_MAX)]
    """CPUs that are shared by the groups."""
    groups: Mapping[str, Group]
    signals: Mapping[str, Signal] = Field(default_factory=dict)
    """Of the machine: `cpu` (CPUs used by all, of those that groups share), `psi_cpu`, `psi_io`,
    `psi_memory` (share of time in which some task waited for it)."""

    def of(self, role: Role) -> dict[str, Group]:
        """Groups of one role, in their order."""
        return {name: group for name, group in self.groups.items() if group.role == role}

    @property
    def critical(self) -> dict[str, Group]:
        """Services with a target, in their order."""
        return self.of(CRITICAL)

    @property
    def best_effort(self) -> dict[str, Group]:
        """Groups that give way to services."""
        return self.of(BEST_EFFORT)

    def slack(self, length_ms: int) -> float | None:
        """The least slack of all services; None where one is unknown, or there is no service."""
        values = [group.slack(length_ms) for group in self.critical.values()]
        known = [slack for slack in values if slack is not None]
        return min(known) if known and len(known) == len(values) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One knob of one group gets a level, with the reason in words."""

    group: str
    knob: Knob
    level: Level
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What a controller decides from.

    Attributes:
        looks: the newest last, at most `LOOKS_MAX`; never empty.
        memory: what it noted at its last decision; plain JSON.
        constants: its numbers, by name.
    """

    looks: tuple[Look, ...]
    memory: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)

    @property
    def now(self) -> Look:
        """The newest look, which is decided on."""
        return self.looks[-1]

    def is_due(self, what: str, every_s: float) -> bool:
        """Whether so much time has passed since `what` was last noted in the memory.

        Looks do not come at even times. One that is early by less than half of the time between two
        looks counts, because the next would be later by more.
        """
        last = self.memory.get(what)
        if last is None:
            return True
        between_s = self.now.t_s - self.looks[-2].t_s if len(self.looks) > 1 else 0.0
        early_s = max(1e-6, min(between_s / 2, every_s / 5, EARLY_S))
        return self.now.t_s - float(last) >= every_s - early_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What changes now. `memory` is handed back at the next decision."""

    changes: tuple[Change, ...] = ()
    memory: Mapping[str, Any] = field(default_factory=dict)


def for_all(groups: Mapping[str, Group], knob: Knob, *, level: Level, why: str) -> list[Change]:
    """One level for several groups, left out where it is in force already."""
    return [
        Change(group=name, knob=knob, level=level, reason=why)
        for name, group in groups.items()
        if getattr(group.allocation, knob) != level
    ]


def parts(groups: Mapping[str, Group], budget: float | None, why: str) -> list[Change]:
    """One CPU quota for several groups together, in equal parts; None: no limit.

    Parts are rounded down, so that together they are never above the budget.
    """
    if budget is None or len(groups) <= 1:
        level = None if budget is None else round(budget, 4)
    else:
        level = math.floor(budget / len(groups) * 1e4 + 1e-6) / 1e4
    return for_all(groups, "quota", level=level, why=why)


def quotas(groups: Mapping[str, Group]) -> float | None:
    """CPU quota of several groups together; None: one has no limit, or there is no group."""
    known = [group.allocation.quota for group in groups.values()]
    limits = [one for one in known if one is not None]
    return round(sum(limits), 6) if limits and len(limits) == len(known) else None
