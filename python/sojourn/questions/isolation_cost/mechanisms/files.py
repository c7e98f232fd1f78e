"""Mechanisms that are files of the kernel, for the whole machine: what a knob of it writes."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

from sojourn import knobs
from sojourn.host.capacity import CPU_DIR
from sojourn.host.tree import cpu_list, cpu_text
from sojourn.knobs import Asked, Lack, cstates, settings
from sojourn.knobs.machine import Machine
from sojourn.knobs.settings import Setting
from sojourn.questions.isolation_cost.mechanisms.mechanism import (
    Mechanism,
    MechanismInputs,
    MechanismKind,
    taken,
)
from sojourn.questions.isolation_cost.mechanisms.settled import Settled
from sojourn.questions.isolation_cost.mechanisms.threads import TWO_CPUS

Levels: TypeAlias = Callable[[MechanismInputs], tuple[str, str] | Lack]


class Files(Settled):
    """What a knob of the whole machine writes: `wanted` of `knobs.machine`."""

    def __init__(self, inputs: MechanismInputs, name: str, levels: tuple[str, str]) -> None:
        super().__init__(inputs, levels)
        knob = knobs.kind(name).build(inputs.on)
        assert isinstance(knob, Machine)  # noqa: S101  # only such kinds are asked
        self._knob, self.knob = knob, name

    def current(self, level: str) -> Sequence[Setting]:
        """All files that the level writes and that are there."""
        rows = ((path, self._knob.kind(path), text) for path, text in self._knob.wanted(level))
        every = (
            Setting(kind=kind, what=path, path=path, old="", new=text) for path, kind, text in rows
        )
        results = ((s, settings.read(s, self._on.tree)) for s in every)
        return [
            Setting.from_json({**s.as_json(), "old": old}) for s, old in results if old is not None
        ]

    def takes_part(self, both: tuple[Setting, Setting]) -> bool:
        """Its levels differ, and the file takes what it says already, where some need not."""
        return super().takes_part(both) and (not self._knob.spares or self._takes(both[0]))

    def _takes(self, setting: Setting) -> bool:
        try:
            self._raw(setting.path, self._text(setting, setting.old))()
        except OSError:
            return False
        return True

    def call(self, setting: Setting) -> Callable[[], None]:
        """Open the file, write, close, as the knob does."""
        return self._raw(setting.path, self._text(setting, setting.new))

    @staticmethod
    def _text(setting: Setting, level: str) -> str:
        if setting.kind != settings.FILE:
            return level
        return settings.file_text(setting.path, cpu_list(level))

    def _raw(self, path: str, text: str) -> Callable[[], None]:
        file, data = str(self._on.tree.path(path)), text.encode("ascii")

        def write() -> None:
            handle = os.open(file, os.O_WRONLY | os.O_TRUNC)
            try:
                os.write(handle, data)
            finally:
                os.close(handle)

        return write

    def counted(self, count: int) -> str:
        """A write for each file."""
        first = self._of[0][0].path
        return f"open, write and close of {first}" if count == 1 else f"writes to {count} files"


class Latency(Mechanism):
    """The kernel is asked for idle states that wake in time, by the file that is held open.

    It goes with the file, so there is nothing to note.
    """

    levels = ("pm_qos:100us", "pm_qos:0us")
    one = f"a write to {cstates.DEVICE}, which is held open"
    knob = "cstates"

    def __init__(self, inputs: MechanismInputs) -> None:
        self._file = inputs.on.tree.path(cstates.DEVICE)
        self._held = -1
        self._data = struct.pack("=i", 100), struct.pack("=i", 0)

    def prepare(self) -> None:
        """Open it, and ask for the first level."""
        self._held = os.open(self._file, os.O_RDWR)
        self.act(0)

    def act(self, which: int) -> None:
        """Ask the kernel for a level."""
        os.write(self._held, self._data[which])

    def amiss(self, which: int) -> str:
        """What all who ask get together: no more than this level."""
        text = struct.unpack("=i", os.pread(self._held, 4, 0))[0]
        wanted = struct.unpack("=i", self._data[which])[0]
        return "" if text <= wanted else f"the kernel says {text} us"

    def put_back(self) -> None:
        """Let the file go, and the wish with it."""
        if self._held >= 0:
            os.close(self._held)
            self._held = -1


def _lacks(inputs: MechanismInputs, name: str, levels: Levels) -> Lack | None:
    if lack := taken(inputs, name):
        return lack
    both = levels(inputs)
    if isinstance(both, Lack):
        return both
    asked = (Asked(level=level, tree=inputs.on.tree, place=inputs.place) for level in both)
    lack = next(filter(None, map(knobs.kind(name).lacks, asked)), None)
    if lack is None and inputs.on.tree.is_live and os.geteuid() != 0:
        return Lack(missing="the right to write the kernel's files", fix="run as root (sudo)")
    return lack


def _files(name: str, about: str, levels: Levels) -> MechanismKind:
    def build(inputs: MechanismInputs) -> Files:
        both = levels(inputs)
        assert not isinstance(both, Lack)  # noqa: S101  # `lacks` has reported so
        return Files(inputs, name, both)

    return MechanismKind(
        name=name,
        about=about,
        lacks=lambda the_inputs: _lacks(the_inputs, name, levels),
        build=build,
    )


def _rps(inputs: MechanismInputs) -> tuple[str, str]:
    return "none", cpu_text(inputs.usable)


def _irq(inputs: MechanismInputs) -> tuple[str, str] | Lack:
    every = inputs.usable
    return (cpu_text(every), cpu_text(every[:1])) if len(every) > 1 else TWO_CPUS


def _cstates(inputs: MechanismInputs) -> tuple[str, str]:
    is_deaf = inputs.on.tree.text(cstates.GOVERNOR) in cstates.DEAF
    return Latency.levels if is_deaf else (cstates.ALL, "0us")


def _thp(inputs: MechanismInputs) -> tuple[str, str]:
    del inputs
    return "madvise", "never"


def _frequency(inputs: MechanismInputs) -> tuple[str, str] | Lack:
    folder = f"{CPU_DIR}/cpu{inputs.usable[0]}/cpufreq"
    if not inputs.on.tree.exists(folder):
        return Lack(missing="cpufreq", fix="bare metal: hypervisors keep it for themselves")
    names = (inputs.on.tree.text(f"{folder}/scaling_available_governors") or "").split()
    if len(names) < 2:  # to change between
        return Lack(missing="a second frequency governor", fix="modprobe cpufreq_powersave")
    return f"governor:{names[0]}", f"governor:{names[1]}"


def _idle(inputs: MechanismInputs) -> Mechanism:
    both = _cstates(inputs)
    return Latency(inputs) if both == Latency.levels else Files(inputs, "cstates", both)


IRQ = _files("irq", "CPUs of every movable interrupt", _irq)
RPS = _files("rps", "CPUs that take in what arrives over loopback", _rps)
FREQUENCY = _files("frequency", "frequency governor of every CPU", _frequency)
THP = _files("thp", "transparent huge pages", _thp)
CSTATES = MechanismKind(
    name="cstates",
    about="idle states of every CPU",
    lacks=lambda inputs: _lacks(inputs, "cstates", _cstates),
    build=_idle,
)
