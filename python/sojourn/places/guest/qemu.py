"""QEMU's words for a guest: no display; kernel, memory, one link, disks.

Kernel and root folder are given to QEMU directly. The guest's devices are virtio's: a network card
on a tap, and two ports, one to speak with its agent and one for what the service says. Some have a
disk for data, and some a small one that brings the service to a guest that runs already.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sojourn import programs
from sojourn.install.vm import QEMU
from sojourn.places.guest.qmp import SOCKET
from sojourn.places.task import Task
from sojourn.places.users import User

KVM, TCG = "kvm", "tcg"
CONSOLE = "console.log"
CONSOLE_BYTES = 8_000  # of its end, which are looked at
RUN_WITH = (9, 1)  # release from which `-run-with user=` replaces `-runas`
#: What QEMU calls the threads that run a guest's CPUs, where it is told to name them.
VCPU = re.compile(r"CPU (\d+)/(KVM|TCG)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """A disk that is served by a storage node.

    Attributes:
        words: QEMU's, for where it is.
        bytes: its size.
    """

    words: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A guest as QEMU is to make it.

    Attributes:
        at: folder with its files; its console goes to a file there.
        accelerator: KVM or TCG.
        channel: pipes to its agent, and `log`: its service's words go to QEMU's stdout; None: no
            agent.
        tap, mac: its link's other end, and the link's hardware address; "": it has no link.
        user: whom QEMU becomes once all is open; None: it stays as it is.
        job: file with the service for a guest that runs already; its state can then be saved.
        data: the disk with the working folder; None: it has none.
        awaits_state: it does not boot but waits for a state.
    """

    at: Path
    kernel: Path
    initrd: Path
    accelerator: str
    cpus: int
    memory_mb: int
    channel: Path | None = None
    tap: str = ""
    mac: str = ""
    user: User | None = None
    job: Path | None = None
    data: Disk | None = None
    awaits_state: bool = False


def command(machine: Machine) -> Sequence[str | Path]:
    """QEMU's arguments, the program left out."""
    return (
        *("-name", f"{machine.at.parent.name},debug-threads=on"),
        *("-machine", "q35", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *_accelerated(machine.accelerator),
        *("-smp", str(machine.cpus), "-m", str(machine.memory_mb)),
        *("-kernel", machine.kernel, "-initrd", machine.initrd),
        *("-append", kernel_words(machine.accelerator)),
        *devices(machine),
    )


def devices(machine: Machine) -> Sequence[str | Path]:
    """The part of them for its console, ports, link and disks, and whom QEMU becomes."""
    return (
        *("-serial", f"file:{machine.at / CONSOLE}"),
        *(_ports(machine.channel) if machine.channel else ()),
        *(_link(machine) if machine.tap else ()),
        *(_disk("data", machine.data.words) if machine.data else ()),
        *(_movable(machine, machine.job) if machine.job else ()),
        *(_become(machine.user) if machine.user else ()),
    )


def form(machine: Machine) -> tuple[str, ...]:
    """The same without what differs from start to start: what a saved state must fit.

    Other numbers of files, links and users make no other guest.
    """
    at = Path("/AT/1")
    plain = replace(
        machine,
        at=at,
        kernel=at / "kernel",
        initrd=at / "initrd",
        channel=at / "agent" if machine.channel else None,
        tap="TAP" if machine.tap else "",
        mac="MAC",
        user=None,
        job=at / "job" if machine.job else None,
        data=replace(machine.data, words=f"{machine.data.bytes} bytes") if machine.data else None,
        awaits_state=False,
    )
    return tuple(map(str, command(plain)))


def cpu(accelerator: str) -> str:
    """What QEMU calls the guest's CPU."""
    return "host" if accelerator == KVM else "max"


def _accelerated(accelerator: str) -> tuple[str, ...]:
    how = KVM if accelerator == KVM else "tcg,thread=multi"
    return ("-accel", how, "-cpu", cpu(accelerator))


def kernel_words(accelerator: str) -> str:
    """The guest kernel's command line.

    A translated CPU needs no defence against speculation, and its clock is the machine's own; what
    watches for clocks and CPUs that stand still would report a busy machine.
    """
    words = "console=ttyS0 quiet rdinit=/init panic=-1 oops=panic random.trust_cpu=on"
    return words if accelerator == KVM else f"{words} mitigations=off tsc=reliable nowatchdog"


def _ports(channel: Path) -> tuple[str, ...]:
    return (
        *("-device", "virtio-serial-pci"),
        *("-chardev", f"pipe,id=agent,path={channel}"),
        *("-device", "virtserialport,chardev=agent,name=agent"),
        *("-chardev", "file,id=log,path=/dev/fd/1,append=on"),
        *("-device", "virtserialport,chardev=log,name=log"),
    )


def _link(machine: Machine) -> tuple[str, ...]:
    tap = f"tap,id=net,ifname={machine.tap},script=no,downscript=no"
    return ("-netdev", tap, "-device", f"virtio-net-pci,netdev=net,mac={machine.mac},romfile=")


def _disk(name: str, words: str) -> tuple[str, ...]:
    where = f"virtio-blk-pci,drive={name},serial={name}"
    return ("-blockdev", f"node-name={name},{words}", "-device", where)


def _movable(machine: Machine, job: Path) -> tuple[str, ...]:
    """A disk with the job, a monitor, and a number that changes when it is restored."""
    words = f"driver=raw,read-only=on,file.driver=file,file.locking=off,file.filename={job}"
    return (
        *_disk("job", words),
        *("-qmp", f"unix:{machine.at / SOCKET},server=on,wait=off"),
        *("-device", "vmgenid,guid=auto"),
        *(("-incoming", "defer") if machine.awaits_state else ()),
    )


def _become(user: User) -> tuple[str, ...]:
    who = f"{user.uid}:{user.gid}"
    return ("-run-with", f"user={who}") if release() >= RUN_WITH else ("-runas", who)


def vcpus(tasks: Iterable[Task]) -> tuple[int, ...]:
    """Threads of QEMU that run its guest's CPUs, in order."""
    results = ((VCPU.match(task.name), task.tid) for task in tasks)
    return tuple(tid for _, tid in sorted((int(m[1]), tid) for m, tid in results if m))


def version() -> str:
    """`QEMU 7.2.22`; "QEMU" if it does not say."""
    return f"QEMU {'.'.join(map(str, release()))}".strip()


def release() -> tuple[int, ...]:
    """The numbers of its release; empty if it does not say."""
    path = programs.maybe(QEMU)
    match = (
        re.search(r"version (\d+(?:\.\d+)+)", programs.says(path, "--version")) if path else None
    )
    return tuple(map(int, match[1].split("."))) if match else ()


def last_words(console: Path, *, lines: int = 12) -> str:
    """The end of a guest's console, without control sequences; "" if it is empty."""
    try:
        with console.open("rb") as file:  # the guest may have filled it
            file.seek(max(0, os.fstat(file.fileno()).st_size - CONSOLE_BYTES))
            text = file.read(CONSOLE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1bc|[\x00-\x08\x0b-\x1f]", "", text)
    return "\n".join([line.strip() for line in plain.splitlines() if line.strip()][-lines:])


def panic(console: Path) -> str:
    """Why the guest's kernel gave up, by its console; "" if it did not."""
    match = re.search(r"Kernel panic - not syncing: (.*)", last_words(console, lines=200))
    return match[1].strip() if match else ""
