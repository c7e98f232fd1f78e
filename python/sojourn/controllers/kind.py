"""What a controller says of itself, and whether this machine has what it needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from sojourn.controllers.look import LONGER, Decision, History, Knob, Level
from sojourn.errors import HostFault, SpecFault
from sojourn.kinds import meant

#: What a controller may need: what it is, and how to get it.
NEEDS: Mapping[str, tuple[str, str]] = {
    "tail": ("p99 of a service with its target", "give the group a target and a window source"),
    "load": ("the service's load as a share of its peak", "give the group peak_rps"),
    "cpu": ("CPU time of each group", "use control groups with a CPU account"),
    "runq_delay": ("run-queue delay of the service", "a kernel with /proc/PID/schedstat"),
    "throttled": ("throttled periods of the service", "a control group with cpu.stat"),
    "traits": ("the class of a group", 'give a group traits, such as ["non-scalable"]'),
    "cores": ("CPUs of a group (cpuset)", "mount the cpuset controller, or run as root"),
    "quota": ("a CPU quota of a group", "mount the cpu controller, or run as root"),
    "idle": ("idle control groups (cpu.idle)", "Linux 5.15 or later"),
    "memory": ("memory.high of a group", "mount the memory controller as version 2"),
    "io": ("bytes/s of a group on its disk", "give the group disk, and mount the io controller"),
    "frozen": ("a group that can be stopped", "mount the freezer, or control groups version 2"),
    "policy": ("a scheduling policy of a group's threads", "run as root (sudo)"),
    "egress": ("a rate at which a group sends", "give the group link, and a network namespace"),
    "frequency": ("a bound on the frequency of a group's CPUs", "bare metal with cpufreq"),
    "ways": ("cache ways of a group", "bare metal with resctrl (Intel CAT, AMD L3 QoS, Arm MPAM)"),
    "bandwidth": ("memory bandwidth of a group", "bare metal with resctrl (Intel MBA, Arm MPAM)"),
}  # fmt: skip

Levels: TypeAlias = tuple[tuple[Knob, Level], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerKind:
    """One controller.

    Attributes:
        source: where the rule was published, and how it was read here.
        needs: names of `NEEDS`.
        on_services: knobs of services that it sets; no manager lets it set others of them.
        constants: its numbers by name; a configuration may set others.
        reads_p99: whether it may read p99 of windows that are sums of others, an estimate.
        window: the constant with the length of the windows that it reads, s; "": of any length.
        asks: further knobs, of `NEEDS`, that it will set with these constants.
        levels: of best-effort groups, that it may set with these constants and that may be refused.
        prepare: loads what the first decision needs; called once, before the manager starts.
        decide: pure; the same history gives the same decision.
    """

    name: str
    about: str
    source: str
    needs: tuple[str, ...] = ()
    on_services: tuple[Knob, ...] = ()
    constants: Mapping[str, float] = field(default_factory=dict)
    reads_p99: bool = True
    window: str = ""
    asks: Callable[[Mapping[str, float]], tuple[Knob, ...]] = lambda _constants: ()
    levels: Callable[[Mapping[str, float]], Levels] = lambda _constants: ()
    prepare: Callable[[], None] = lambda: None
    decide: Callable[[History], Decision]

    def settled(self, inputs: Mapping[str, float]) -> dict[str, float]:
        """Its constants, with those of a configuration; SpecFault for one that it cannot have."""
        for name, value in inputs.items():
            if name not in self.constants:
                raise SpecFault(
                    f"controller {self.name} has no constant {name}",
                    at=f"controller {self.name}, {name}",
                    fix=meant(name, self.constants)
                    or f"it has {', '.join(self.constants) or 'none'}",
                )
            if not math.isfinite(value) or (value < 0 and not self.is_signed(name)):
                raise SpecFault(
                    f"{value:g} is no value of the constant {name}",
                    at=f"controller {self.name}, {name}",
                    fix="write a number"
                    + ("" if self.is_signed(name) else " of 0 or more")
                    + f"; the published one is {self.constants[name]:g}",
                )
        return {**self.constants, **inputs}

    def is_signed(self, name: str) -> bool:
        """Whether a constant may be below 0, as its published value is."""
        return self.constants[name] < 0

    def check_windows(self, constants: Mapping[str, float], every_s: float) -> None:
        """Refuse it where every window is longer than those that it reads.

        Args:
            constants: all of its own, as they are settled.
            every_s: how often the source has a window, of about that length.

        Raises:
            SpecFault: it would never decide anything.
        """
        length_s = constants[self.window] if self.window else math.inf
        if every_s > LONGER * length_s:
            raise SpecFault(
                f"controller {self.name} reads windows of {length_s:g} s, and the source has one "
                f"each {every_s:g} s",
                at=f"controller {self.name}, windows.every_ms",
                fix=f"windows.every_ms = {1000 * length_s:.0f}, or constants = "
                f"{{{self.window} = {every_s:g}}}",
            )

    def check(
        self,
        present: Collection[str],
        asked: Collection[str] = (),
        reasons: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    ) -> None:
        """Refuse it where something that it needs is missing.

        Args:
            present: names of `NEEDS` that the machine and the configuration have.
            asked: more that is needed, by `asks`.
            reasons: of what is missing: which group lacks what, and how to get it.

        Raises:
            HostFault: it names all that is missing, and how to get each.
        """
        names = [name for name in (*self.needs, *asked) if name not in present]
        missing = [_missing(name, reasons.get(name)) for name in dict.fromkeys(names)]
        if missing:
            raise HostFault(
                f"controller {self.name} needs {', '.join(what for what, _ in missing)}",
                at=f"controller {self.name}",
                fix="; ".join(fix for _, fix in missing),
            )


def _missing(name: str, reason: tuple[str, str] | None) -> tuple[str, str]:
    """What is missing, and how to get it, as this machine says it."""
    what, fix = NEEDS[name]
    if reason is None:
        return what, fix
    lack, its_fix = reason
    return f"{what} ({lack})", its_fix or fix
