"""Whether KVM can run guests here: only one that has booted under it proves that.

A machine that is virtual itself may have a /dev/kvm that opens, makes a machine and never runs it.
So a guest without a service is booted once on this boot of the machine. If it boots, that is
stored beside the guest's kernel. If none does, that may be due to a busy moment, so it holds for
this process only: all points of a study are of one kind.
"""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from sojourn import programs
from sojourn.errors import RunFault
from sojourn.install.part import Made
from sojourn.install.vm import KERNEL, QEMU
from sojourn.places import process, process_end
from sojourn.places.guest import initrd, qemu
from sojourn.places.guest.qemu import KVM, TCG, Machine
from sojourn.places.process import Ledger

DEVICE = Path("/dev/kvm")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
STORE = "kvm.json"
TRIAL_S_MAX = 15.0  # a guest under KVM is up in two; one on a very busy machine waits for a CPU
MEMORY_MB = 128
MESSAGE_MAX = 90  # letters of what QEMU reported, in every report
SOURCE = re.compile(r"^qemu\S+: (\.\./\S+ )?")  # where in QEMU's own source that was
UP = "sojourn: up"
_REFUSED: dict[tuple[str, ...], Verdict] = {}  # by the guests' files, the boot and QEMU
SCRIPT = f"#!/bin/busybox sh\n/bin/busybox echo '{UP}'\n/bin/busybox poweroff -f\n"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What runs a guest's instructions here, and why it is that."""

    accelerator: str
    why: str

    @property
    def is_emulated(self) -> bool:
        """Whether instructions are translated: times are the translator's, not a guest's."""
        return self.accelerator == TCG


def verdict(made: Made, at: Path, ledger: Ledger) -> Verdict:
    """KVM if a guest has booted under it on this boot of the machine, else TCG for this process.

    Args:
        made: kernel and busybox of guests.
        at: a folder for the trial's files.
        ledger: where its process is noted.
    """
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        there = "may not be opened" if DEVICE.exists() else "is not there"
        return Verdict(TCG, f"{DEVICE} {there}")
    asked = _asked()
    key = (str(made.at), *asked.values())
    if (known := _REFUSED.get(key) or _stored_verdict(made, asked)) is not None:
        return known
    result = _tried(made, at, ledger)
    if result.is_emulated:
        _REFUSED[key] = result
    else:
        _keep(made, asked, result)
    return result


def _tried(made: Made, at: Path, ledger: Ledger) -> Verdict:
    at.mkdir(mode=0o700)
    initrd.write_bare(at / "initrd", made, SCRIPT)
    machine = Machine(
        at=at,
        kernel=made.at / KERNEL,
        initrd=at / "initrd",
        accelerator=KVM,
        cpus=1,
        memory_mb=MEMORY_MB,
    )
    try:
        guest = process.start(
            "a trial of KVM",
            [programs.find(QEMU), *qemu.command(machine)],
            cwd=at,
            ledger=ledger,
            log=at / "qemu.log",
        )
    except RunFault as fault:
        return Verdict(TCG, f"no guest could be tried under KVM: {fault.what}")
    ended = guest.poll(TRIAL_S_MAX)
    guest.stop(term_s=0.0)
    if UP in qemu.last_words(at / qemu.CONSOLE):
        return Verdict(KVM, "a guest has booted under it")
    how = ended.text if ended else f"printed nothing in {TRIAL_S_MAX:.0f} s"
    text = SOURCE.sub("", process_end.last_words(at / "qemu.log", lines=1))
    text = textwrap.shorten(text, MESSAGE_MAX, placeholder=" …")
    return Verdict(
        TCG, f"{DEVICE} is there, but a guest under it {how}" + (f": {text}" if text else "")
    )


def _asked() -> Mapping[str, str]:
    """What a verdict holds for: this boot, and this QEMU."""
    try:
        boot = BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        boot = ""
    return {"boot": boot, "qemu": qemu.version()}


def _stored_verdict(made: Made, asked: Mapping[str, str]) -> Verdict | None:
    try:
        table = json.loads((made.at / STORE).read_text(encoding="utf-8"))
        stored = Verdict(**table["verdict"]) if table["for"] == asked else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None if stored is None or stored.is_emulated else stored  # an older lab stored both


def _keep(made: Made, asked: Mapping[str, str], result: Verdict) -> None:
    part = made.at / f"{STORE}.{os.getpid()}"
    try:
        part.write_text(json.dumps({"for": asked, "verdict": asdict(result)}), encoding="utf-8")
        part.replace(made.at / STORE)
    except OSError:
        return  # it is tried again
