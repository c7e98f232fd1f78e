"""A virtual machine of the service's own, by QEMU; its clients are outside, as of a network host.

    client ── bridge sojourn-TAGb (.1) ── tap sojourn-TAGt ═ QEMU ═ eth0 (.2) ── service
                                                 └ vCPU threads, one for each CPU of the server

    enter: /run/sojourn-TAG, bridge and tap are noted and made; KVM is tried if it never was
    start: the root folder of the guest is written, QEMU starts, the guest boots, its agent starts
           the service
    leave: QEMU is ended, tap, bridge and folder are removed

The machine sees QEMU: its threads are pinned, weighed, shielded and counted like a service's. The
guest is a kernel of its own (`sojourn install vm`) with the service's program and working folder in
memory. Where KVM cannot run guests QEMU translates (TCG): all of it works, and its times are those
of a translator, which every result says.
"""

from __future__ import annotations

import errno
import secrets
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from sojourn.errors import HostFault
from sojourn.install import vm as parts
from sojourn.places import netns, network, proc, remains
from sojourn.places.guest import qemu, starting, trial
from sojourn.places.guest.guest import BOOT_S_MAX, Guest
from sojourn.places.guest.qemu import VCPU
from sojourn.places.guest.starting import Ask
from sojourn.places.guest.trial import Verdict
from sojourn.places.launch import Launch
from sojourn.places.ledger import Book, Made, Undone
from sojourn.places.network import Link
from sojourn.places.pinning import Pinned, Workers, put
from sojourn.places.place import EMULATED, Place, PlaceKind, PlaceOption
from sojourn.places.process import Process
from sojourn.places.remains import Remains

NAME = "vm"
ENTRY = "vm"  # kind of entry in the book
PORTS = (20_000, 30_000)  # below those that a kernel gives away by itself
NEED_BYTES = 256 << 20  # of a service that does not say
RESTORED = "restored"
CLOCK_S = 1  # to which a guest's clock is set
SETTLE_S = 30.0  # for the service, when its guest is up


class Vm(Place):
    """A virtual machine for one life of a service."""

    kind = NAME

    def __init__(self, options: frozenset[str] = frozenset()) -> None:
        """Nothing is made before it is entered; `options`: names of those it is to have."""
        self._options = options
        self._why_booted = ""
        self._host = netns.UNKNOWN
        self._name = self._tap = ""
        self._made: Made | None = None
        self._verdict: Verdict | None = None
        self._guest: Guest | None = None
        self._count = 0
        self._need_bytes = NEED_BYTES

    @property
    def host(self) -> str:
        """Address of the guest; 0.0.0.0 before it is entered."""
        return self._host

    @property
    def start_s_max(self) -> float:
        """Longer than elsewhere: a guest boots first."""
        return BOOT_S_MAX + SETTLE_S

    @property
    def start_notes(self) -> tuple[tuple[str, str], ...]:
        """Whether the guest was restored, and that its clock was set."""
        if RESTORED not in self._options or self._guest is None:
            return ()
        return (("guest", _restored(self._guest, self._why_booted)),)

    @property
    def fell_back(self) -> str:
        """Why the guest booted although it was to be restored."""
        return self._why_booted

    @property
    def starting(self) -> str:
        """That a guest boots first, and on what."""
        how = "emulated" if self._verdict and self._verdict.is_emulated else "on KVM"
        return f" in a virtual machine, {how}, which boots first (up to {BOOT_S_MAX:.0f} s)"

    def fit(self, memory_bytes: int) -> None:
        """The guest's memory is sized by it."""
        self._need_bytes = memory_bytes

    def enter(self, book: Book) -> None:
        """Make folder, bridge and tap, and find out what runs guests here."""
        kernel = parts.PART.ready()
        self._name, self._made = remains.name(), Made(book)
        left = Remains(self._name, parts.QEMU)
        folder = remains.folder(self._name)
        try:
            self._made.step(ENTRY, left.facts, partial(folder.mkdir, mode=0o700), left.clear)
            self._link(self._made)
            self._verdict = trial.verdict(kernel, folder / "trial", book)
        except OSError as error:
            self.leave()
            raise HostFault(
                f"no virtual machine with a link can be made: {error.strerror or error}",
                at=f'place = "{NAME}"',
                fix="run as root, on a kernel with bridge and tun; `sojourn doctor` says more",
            ) from None

    def _link(self, made: Made) -> None:
        tag = self._name.removeprefix(netns.PREFIX)[:6]
        block = network.free_block(network.routed(), int(tag, 16))
        if block is None:
            raise OSError(errno.EADDRNOTAVAIL, "every private address is routed to somewhere")
        outside, inside = map(str, list(block.hosts())[:2])
        bridge, tap = (Link(name=f"{netns.PREFIX}{tag}{end}", mac=netns.mac()) for end in "bt")
        for link, make in ((bridge, network.add_bridge), (tap, network.add_tap)):
            facts = {"name": link.name, "mac": link.mac}
            made.step("link", facts, partial(make, link), partial(network.delete, link))
        network.join(bridge, tap)
        network.bring_up(bridge.name, outside)
        self._tap, self._host = tap.name, inside

    def leave(self) -> None:
        """Remove what is left of it; what cannot be is left to `restore`."""
        if self._guest is not None:
            self._guest.stop(term_s=0.0)
            self._guest = None
        if self._made is not None:
            self._made.unmake()
        self._host = netns.UNKNOWN

    def free_port(self) -> int:
        """Any: no one else is in the guest, which is not there yet."""
        first, last = PORTS
        return first + secrets.randbelow(last - first)

    def is_free(self, port: int) -> bool:
        """Always: no one else is in the guest."""
        del port
        return True

    def holder(self, port: int) -> str:
        """Who listens on `port` inside: no one but the service can."""
        del port
        return "the service"

    def owner(self, port: int, pids: Iterable[int]) -> int | None:
        """QEMU, if it is among `pids` and the service listens on `port` inside."""
        guest = self._guest
        if guest is None or guest.pid not in set(pids):
            return None
        return guest.pid if guest.owner(port) else None

    def start(self, launch: Launch) -> Process:
        """Start a guest that starts the program.

        It returns at once, or when a saved state is loaded: the guest has not answered yet.

        Raises:
            RunFault: the program cannot be carried over, or QEMU refuses.
            HostFault: the guest's files or its disk cannot be made.
        """
        assert self._verdict is not None  # noqa: S101  # it was entered
        if self._guest is not None:
            self._guest.stop(term_s=0.0)
        self._count += 1
        at = remains.folder(self._name) / str(self._count)
        ask = Ask(
            launch=launch,
            at=at,
            made=parts.PART.ready(),
            accelerator=self._verdict.accelerator,
            tap=self._tap,
            address=f"{self._host}/{network.PREFIX_BITS}",
            need_bytes=self._need_bytes,
        )
        if RESTORED in self._options:
            self._guest, self._why_booted = starting.restored(ask)
        else:
            self._guest = starting.booted(ask)
        return self._guest

    def pin(self, process: Process, workers: Workers, cpus: Sequence[int]) -> Pinned:
        """Each CPU of the guest on one of the server's, and inside each worker on one of those."""
        assert self._guest is not None  # noqa: S101  # it answered
        tids = vcpus(process.pid)
        pins = put(workers.label, tids, cpus)
        outside = f"{len(pins)} CPUs of the guest, one to a CPU, read back"
        tasks = self._guest.tasks()
        listed, crew = workers.choose(tasks), workers.crew(tasks)
        if len(listed) < workers.count or not tids:
            report = f"{len(listed)} of {workers.count} workers can be recognised by name"
            return Pinned(pins=pins, text=f"{outside}; inside as the guest schedules: {report}")
        where = [(tid, n % len(tids)) for n, tid in enumerate(listed)]
        done = sum(
            all(self._guest.pin(each, vcpu) for each in (tid, *crew.get(tid, ())))
            for tid, vcpu in where
        )
        inside = f"inside {done} of {len(listed)} workers, one to a CPU of the guest in turn"
        return Pinned(pins=pins, text=f"{outside}; {inside}, read back (L23)")

    @property
    def notes(self) -> tuple[tuple[str, str], ...]:
        """What runs the guest, how it is reached, and what that does to its times."""
        if self._verdict is None:
            return ()
        by = f"virtual machine by {qemu.version()}, Linux {parts.VERSION}"
        if not self._verdict.is_emulated:
            return (("place", f"{by}, on KVM; reached over a tap and a bridge"),)
        return (
            ("place", f"{by}, {EMULATED} (TCG); reached over a tap and a bridge"),
            (EMULATED, f"instructions are translated, because {self._verdict.why}"),
        )


def _restored(guest: Guest, why: str) -> str:
    """How a guest was started that was to be restored, and what was done about its clock."""
    clock = guest.clock_off_s
    time = "its clock was not set" if clock is None else f"its clock was set, within {CLOCK_S} s"
    if clock is not None and abs(clock) > CLOCK_S:
        time = f"its clock is off by {clock:+.0f} s"
    if not why:
        return f"restored from its state after boot; {time}"
    return f"booted, because {why}; {guest.unsaved or 'its state was saved'}; {time}"


def vcpus(leader: int) -> tuple[int, ...]:
    """Threads of QEMU that run its guest's CPUs, in order."""
    results = ((VCPU.match(task.name), task.tid) for task in proc.tasks(leader))
    return tuple(tid for _, tid in sorted((int(m[1]), tid) for m, tid in results if m))


def undo(facts: Mapping[str, Any]) -> Undone | None:
    """Remove a virtual machine that a lab noted, if there is anything of it."""
    result = remains.undo(facts)
    if result is None:
        return None
    return Undone(what=f"virtual machine {facts['name']}", how=result.how, is_done=result.is_done)


KIND = PlaceKind(
    name=NAME,
    label="virtual machine",
    about="a virtual machine by QEMU, on KVM where a guest boots under it, else emulated (TCG)",
    needs=("root (CAP_NET_ADMIN)", "a kernel with bridge and tun", f"{parts.PART.command}"),
    abilities=("virtual machines",),
    programs=parts.PART.needs,
    build=Vm,
    unseen="it sees this machine's kernel only, and the service's is the guest's",
    out_of_reach={
        "thp": "pages of a service in a guest are its guest's to choose",
        "io_limit": "a service in a guest writes to the guest's memory",
        "busy_poll": "its sockets are the guest's",
        "rps": "its queues are the guest's",
        "napi": "its network card is the guest's",
    },
    options=(
        PlaceOption(
            name=RESTORED,
            part="start",
            about="restored from its state after boot, which its first start saves (P2)",
        ),
    ),
    undo={ENTRY: undo, "link": netns.undo_link},
)
