"""How a guest is started: files, QEMU, and then a boot or a saved state.

booted(ask)                 the service is in the root folder
restored(ask)               the state after boot is loaded if one fits, else saved on the way
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sojourn import programs
from sojourn.errors import HostFault
from sojourn.install import vm as parts
from sojourn.install.part import Made
from sojourn.places import netns, process, remains
from sojourn.places.guest import initrd, qemu, saved
from sojourn.places.guest.channel import NAME as NAME_OF_CHANNEL
from sojourn.places.guest.channel import Channel
from sojourn.places.guest.guest import Guest
from sojourn.places.guest.initrd import Job
from sojourn.places.guest.qemu import Disk, Machine
from sojourn.places.guest.qmp import Monitor, MonitorError
from sojourn.places.guest.saved import Saved
from sojourn.places.launch import Launch
from sojourn.places.place import PlaceOption
from sojourn.places.process import Process

BASE_MB = 192  # a kernel, a shell, sockets
SETTINGS = ("net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog")  # as on this machine
JOB = "job"
RESTORED = "restored"
CLOCK_S = 2  # to which a guest's clock is set


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A guest that is wanted.

    Attributes:
        at: a folder that is not there yet, for its files.
        made: kernel and busybox of guests.
        address: of the guest, with the length of the prefix.
        need_bytes: memory that its service may take.
        data: the disk with the working folder; None: that is in memory.
        by: what starts QEMU for a guest; None: the lab does.
    """

    launch: Launch
    at: Path
    made: Made
    accelerator: str
    tap: str
    address: str
    need_bytes: int
    data: Disk | None = None
    by: Callable[[Machine, Launch], Process] | None = None

    @property
    def job(self) -> Job:
        """What it is to run."""
        launch = self.launch
        return Job(
            argv=tuple(map(str, launch.argv)),
            cwd=launch.cwd,
            leave_out=(launch.log,),
            user=launch.user,
            open_files=launch.open_files,
            environment={**process.environment(), **launch.variables},
            address=self.address,
            settings=settings(),
            mac=netns.mac(),
            has_disk=self.data is not None,
            carries=launch.carries,
        )

    def machine(self, job: Job, memory: int) -> Machine:
        """The guest as QEMU is to make it."""
        return Machine(
            at=self.at,
            kernel=self.made.at / parts.KERNEL,
            initrd=self.at / "initrd",
            accelerator=self.accelerator,
            cpus=len(self.launch.cpus) or 1,
            memory_mb=memory,
            channel=self.at / NAME_OF_CHANNEL,
            tap=self.tap,
            mac=job.mac,
            user=job.user,
            data=self.data,
        )


def booted(ask: Ask) -> Guest:
    """Start a guest that boots and then starts the service; it returns at once.

    Raises:
        RunFault: the program cannot be carried over, or QEMU refuses.
        HostFault: its files cannot be written.
    """
    job = ask.job
    try:
        ask.at.mkdir(mode=0o700)
        size = initrd.write(ask.at / "initrd", ask.made, job)
    except OSError as error:
        raise _unwritten(error, ask) from None
    return _started(ask, ask.machine(job, memory_mb(size, ask.need_bytes)))


def restored(ask: Ask) -> tuple[Guest, str]:
    """Start a guest from its state after boot; it waits until the state is loaded.

    Returns:
        The guest, and why it boots instead; "" if it was restored. The state of one that boots is
        saved, and the next start finds it. Errors are those of `booted`.
    """
    job = ask.job
    try:
        ask.at.mkdir(mode=0o700)
        initrd.write_bare(ask.at / "initrd", ask.made)
        size = initrd.write_job(ask.at / JOB, job)
        if size <= saved.JOB_BYTES:
            os.truncate(ask.at / JOB, saved.JOB_BYTES)
    except OSError as error:
        raise _unwritten(error, ask) from None
    if size > saved.JOB_BYTES:
        anew = replace(ask, at=ask.at.with_name(f"{ask.at.name}-booted"))
        return booted(anew), f"its files take {size >> 20} MiB, {saved.JOB_BYTES >> 20} at most"
    memory = saved.memory_mb(memory_mb(size, ask.need_bytes))
    machine = replace(ask.machine(job, memory), job=ask.at / JOB)
    state = saved.of(machine)
    if why := state.misfit():
        return _saving(ask, machine, state), why
    guest = _started(ask, replace(machine, awaits_state=True))
    try:
        with Monitor(ask.at) as monitor:
            monitor.load(state.state)
    except (MonitorError, OSError) as error:
        guest.stop(term_s=0.0)
        again = ask.at.with_name(f"{ask.at.name}-booted")
        ask.at.rename(again)
        for end in (again / f"{NAME_OF_CHANNEL}.in", again / f"{NAME_OF_CHANNEL}.out"):
            end.unlink()
        ask, paths = replace(ask, at=again), {"job": again / JOB, "initrd": again / "initrd"}
        machine = replace(machine, at=again, channel=again / NAME_OF_CHANNEL, **paths)  # type: ignore[arg-type]
        return _saving(ask, machine, state), f"the saved state cannot be loaded: {error}"
    state.used()
    _give_job(guest)
    return guest, ""


def _saving(ask: Ask, machine: Machine, state: Saved) -> Guest:
    """Start a guest whose state is saved when it has booted."""
    guest = _started(ask, machine)
    guest.verbs["ready"] = partial(_save, guest, ask.at, state)
    return guest


def _save(guest: Guest, at: Path, state: Saved, _: str) -> None:
    try:
        with Monitor(at) as monitor:
            monitor.save(state.begin())
        state.keep()
    except (MonitorError, OSError) as error:
        guest.unsaved = f"its state was not saved: {error}"
    finally:
        state.drop()
    _give_job(guest)


def _give_job(guest: Guest) -> None:
    guest.verbs["clock"] = partial(_check_clock, guest)
    guest.channel.say(f"{JOB} {time.time() + 0.5:.0f}")


def _check_clock(guest: Guest, seconds: str) -> None:
    if seconds.isascii() and seconds.isdigit() and len(seconds) < 12:
        guest.clock_off_s = int(seconds) + 0.5 - time.time()


def _started(ask: Ask, machine: Machine) -> Guest:
    launch, channel = ask.launch, Channel(ask.at)
    try:
        outer = (ask.by or _by_lab)(machine, launch)
    except BaseException:
        channel.close()
        raise
    return Guest(outer, channel, at=ask.at, work=launch.cwd, log=launch.log)


def _by_lab(machine: Machine, launch: Launch) -> Process:
    return process.start(
        launch.what,
        [programs.find(parts.QEMU), *qemu.command(machine)],
        cwd=machine.at,
        ledger=launch.ledger,
        log=launch.log,
        cpus=launch.cpus,
    )


def _unwritten(error: OSError, ask: Ask) -> HostFault:
    return HostFault(
        f"the guest's files cannot be gathered: {error.strerror or error}",
        at=str(error.filename or ask.at),
        fix=f"see whether {remains.RUN} has room for the service's working folder",
    )


def memory_mb(image_bytes: int, need_bytes: int) -> int:
    """Memory of a guest, MiB: its root folder twice while it is unpacked, and half of all it has.

    >>> memory_mb(0, 0), memory_mb(64 << 20, 256 << 20)
    (192, 592)
    """
    mib = BASE_MB + (9 * image_bytes // 4 + need_bytes + (1 << 20) - 1 >> 20)
    return -(-mib // 16) * 16


def settings() -> Mapping[str, str]:
    """Settings of this machine that the guest is to have as well."""
    results = {}
    for name in SETTINGS:
        path = Path("/proc/sys", *name.split("."))
        if path.is_file():
            results[name] = path.read_text(encoding="ascii").strip()
    return results


def report(guest: Guest, why: str) -> str:
    """How a guest was started that was to be restored, and how its clock is."""
    time = clock_doubt(guest) or f"its clock was set, within {CLOCK_S} s"
    if not why:
        return f"restored from its state after boot; {time}"
    return f"booted, because {why}; {guest.unsaved or 'its state was saved'}; {time}"


def clock_doubt(guest: Guest) -> str:
    """What is wrong with the clock of a guest that was told the time; "" if nothing is."""
    off_s = guest.clock_off_s
    if off_s is None:
        return "its clock was not set"
    return f"its clock is off by {off_s:+.0f} s" if abs(off_s) > CLOCK_S else ""


OPTION = PlaceOption(
    name=RESTORED,
    part="start",
    about="restored from its state after boot, which its first start saves (P2)",
    label="restored",
)
