"""A guest's state after boot: saved once, then loaded instead of booting (P2).

    first start: boot ─► ready: state saved with its facts ─► job     later: load the state ─► job

The job is the service with all it needs, on a small disk that the guest reads when it is given the
time. Its facts show whether it fits a guest; where it does not, the guest boots anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sojourn.install.part import cache_folder, doubt, hashed
from sojourn.places.guest import qemu
from sojourn.places.guest.qemu import KVM, Machine

STATE, FACTS = "state", "facts.json"
FACTS_BYTES_MAX = 65_536
JOB_BYTES = 1 << 30  # of the job's disk, most of which takes no room
NAME = "vm-state-"
STATES_MAX = 8  # of one cache, because a state is as large as the guest's memory
MEMORY_STEP_MB = 64  # so that guests of nearly the same size have the same state
CPUINFO = Path("/proc/cpuinfo")
CPU_LINES = ("model name", "flags", "microcode")


@dataclass(frozen=True, slots=True)
class Saved:
    """A place for the state of one form of guest.

    Attributes:
        at: its folder, in the lab's cache.
        facts: of the guest that is to be started, by what they are called.
    """

    at: Path
    facts: Mapping[str, str]

    @property
    def state(self) -> Path:
        """The file with the state."""
        return self.at / STATE

    def misfit(self) -> str:
        """Why the state cannot be loaded for this guest; "" if it can."""
        if why := doubt(self.at):
            return f"its state is not used: {why}"
        try:
            with (self.at / FACTS).open("rb") as file:
                table = json.loads(file.read(FACTS_BYTES_MAX))
            stored = {str(name): str(value) for name, value in table.items()}
        except (OSError, ValueError, AttributeError):
            return "no state has been saved yet"
        sha256 = stored.pop("state", "")
        for name, value in self.facts.items():
            if stored.get(name) != value:
                return f"the saved state has another {name}: {_both(stored.get(name), value)}"
        return "" if hashed(self.state) == sha256 else "the saved state is not what was saved"

    def begin(self) -> Path:
        """A new file for the state, in a folder that is no state yet; OSError."""
        part = self._part
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(mode=0o700, parents=True)
        return part / STATE

    def keep(self) -> None:
        """The file that was begun is the state from now on; OSError if it cannot be."""
        part = self._part
        table = {**self.facts, "state": hashed(part / STATE)}
        (part / FACTS).write_text(json.dumps(table, indent=2), encoding="utf-8")
        shutil.rmtree(self.at, ignore_errors=True)
        part.rename(self.at)
        remove_oldest(self.at.parent)

    def used(self) -> None:
        """Note that the state was loaded now, because the one used last is removed last."""
        with contextlib.suppress(OSError):  # a state that cannot be noted can still be used
            os.utime(self.at)

    def drop(self) -> None:
        """Remove the state that was begun."""
        shutil.rmtree(self._part, ignore_errors=True)

    @property
    def _part(self) -> Path:
        return self.at.with_name(f"{self.at.name}.part")


def of(machine: Machine) -> Saved:
    """Where the state of such a guest is, and its facts."""
    facts = {
        "QEMU": qemu.version(),
        "accelerator": machine.accelerator,
        "CPU model": cpu_model(machine.accelerator),
        "number of CPUs": str(machine.cpus),
        "memory size": f"{machine.memory_mb} MiB",
        "kernel": hashed(machine.kernel),
        "root folder": hashed(machine.initrd),
        "devices": " ".join(qemu.form(machine)),
    }
    form = hashlib.sha256(facts["devices"].encode()).hexdigest()[:8]
    name = f"{NAME}{machine.cpus}-{machine.memory_mb}-{form}"
    return Saved(cache_folder() / name, facts)


def remove_oldest(cache: Path) -> None:
    """Remove the states beyond `STATES_MAX` that were used least recently.

    A guest that loads one of them now has its file open. One that looks for it boots instead.
    """
    with contextlib.suppress(OSError):  # another start may remove the same
        states = [one for one in cache.glob(f"{NAME}*") if one.suffix != ".part"]
        for one in sorted(states, key=lambda at: at.stat().st_mtime)[:-STATES_MAX]:
            shutil.rmtree(one, ignore_errors=True)


def memory_mb(wanted: int) -> int:
    """Memory of a guest that has at least so much, MiB.

    >>> memory_mb(192), memory_mb(193)
    (192, 256)
    """
    return -(-wanted // MEMORY_STEP_MB) * MEMORY_STEP_MB


def cpu_model(accelerator: str) -> str:
    """The CPU that a guest sees: QEMU's own, or this machine's."""
    if accelerator != KVM:
        return qemu.cpu(accelerator)
    lines = CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    first = {line.partition("\t")[0]: line for line in reversed(lines)}
    text = "\n".join(first.get(name, "") for name in CPU_LINES)
    name = first.get(CPU_LINES[0], "").partition(":")[2].strip() or "unknown"
    return f"{name} ({hashlib.sha256(text.encode()).hexdigest()[:12]})"


def _both(stored: str | None, wanted: str) -> str:
    return f"{_short(stored or 'none')}, not {_short(wanted)}"


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:12]}…"
