"""How fast the CPUs of a best-effort group may run at most, Hz (cpufreq).

`scaling_max_freq` is of a CPU and not of a group. So it is set on the CPUs that the group has for
itself by `cores`, follows when these change, and is put back where there are none. CPUs that share
one clock with others are refused. The effect is the frequency that the kernel reports for them
(`scaling_cur_freq`). No machine with cpufreq was at hand: it is tested on a made-up tree.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Any

from sojourn.controllers.look import Level
from sojourn.errors import HostFault
from sojourn.host.capacity import CPU_DIR
from sojourn.host.tree import cpu_list, cpu_text
from sojourn.knobs import Asked, Lack, frequency
from sojourn.knobs.frequency import Frequency
from sojourn.manage import locks
from sojourn.manage.actuators.actuator import READ, Actuator, Member

LEVEL = "max:1GHz"  # to ask whether this machine can be told any upper bound
OVER = 1.05  # a governor overshoots, and the kernel's number is a mean
KHZ = 1000


class OfCpus(Frequency):
    """The upper bound of some CPUs' frequency."""

    cpus: tuple[int, ...] = ()

    def wanted(self, level: str) -> Sequence[tuple[str, str]]:
        """Files of these CPUs alone."""
        own = tuple(f"{CPU_DIR}/cpu{cpu}/cpufreq/" for cpu in self.cpus)
        return [step for step in super().wanted(level) if step[0].startswith(own)]

    def _probed(self) -> Any:
        return READ

    @property
    def left(self) -> str:
        """Files that could not be put back."""
        return ", ".join(self._inputs)


class CpuFrequency(Actuator):
    """The upper bound of the frequency of a group's own CPUs."""

    knob = "frequency"

    def __init__(self, member: Member) -> None:
        super().__init__(member)
        self._frequency = OfCpus(member.on)
        self._locks: list[int] = []

    def lack(self) -> Lack | None:
        """CPU frequencies that can be bounded."""
        return frequency.lacks(Asked(level=LEVEL, tree=self.member.on.tree))

    def put(self, level: Level) -> None:
        """Bound its own CPUs; where it has none now, as soon as it has some."""
        self._bound(float(level or 0), self.member.cpus())

    def _bound(self, hz: float, cpus: tuple[int, ...]) -> None:
        if cpus != self._frequency.cpus and (why := self.take_off()):
            raise OSError(0, why)
        if not cpus:
            return
        for cpu in cpus:
            self._check(cpu, cpus, hz)
        self._lock(cpus)
        self._frequency.cpus = cpus
        self._frequency.apply(f"max:{round(hz / KHZ) / 1000:.3f}MHz")

    def _check(self, cpu: int, own: tuple[int, ...], hz: float) -> None:
        """ValueError where this CPU takes no such bound, or others would have it as well."""
        tree, at = self.member.on.tree, f"{CPU_DIR}/cpu{cpu}/cpufreq"
        least, most = (tree.number(f"{at}/cpuinfo_{end}_freq") for end in ("min", "max"))
        if least and most and not least <= round(hz / KHZ) <= most:
            raise ValueError(f"CPU {cpu} runs at {least / 1e6:g} to {most / 1e6:g} GHz")
        sharing = {*cpu_list((tree.text(f"{at}/related_cpus") or "").replace(" ", ","))}
        if others := sharing - {*own}:
            raise ValueError(f"CPU {cpu} shares its clock with {cpu_text(tuple(sorted(others)))}")

    def _lock(self, cpus: tuple[int, ...]) -> None:
        """Each for this group alone: two that note each other's bound could not put it back.

        CPUs with one clock may have one folder, by links.
        """
        if self._locks:
            return
        tree = self.member.on.tree
        folders = {cpu: f"{CPU_DIR}/cpu{cpu}/cpufreq" for cpu in cpus}
        for cpu in {locks.identity(tree, at): cpu for cpu, at in folders.items()}.values():
            try:
                self._locks.append(locks.locked(tree, folders[cpu], self.knob))
            except HostFault:
                self._unlock()
                raise OSError(0, f"another group has the frequency of CPU {cpu}") from None
            except OSError:
                self._unlock()
                raise

    def _unlock(self) -> None:
        for handle in self._locks:
            with contextlib.suppress(OSError):
                os.close(handle)
        self._locks.clear()

    def differs(self) -> str:
        """Where a bound does not read back; it is set anew where the group's CPUs have changed."""
        cpus = self.member.cpus()
        if cpus != self._frequency.cpus:
            self._bound(float(self.level or 0), cpus)
        result = self._frequency.verify()
        return result.why if result.holds is False else ""

    def over(self, t_s: float) -> str:
        """Whether one of its CPUs runs faster."""
        del t_s
        if self.level is None:
            return ""
        hz = float(self.level)
        for cpu in self._frequency.cpus:
            now = self.member.on.tree.number(f"{CPU_DIR}/cpu{cpu}/cpufreq/scaling_cur_freq")
            if now is not None and now * KHZ > hz * OVER:
                return f"CPU {cpu} runs at {now / 1e6:.3g} GHz where {hz / 1e9:.3g} are allowed"
        return ""

    def take_off(self) -> str:
        """Put the bounds back, and let other groups have them."""
        self._frequency.restore()
        self._frequency.cpus = ()
        self._unlock()
        left = self._frequency.left
        return f"not put back: {left}" if left else ""
