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
from contextlib import ExitStack
from functools import partial
from typing import Any

from sojourn.errors import HostFault
from sojourn.install import vm as parts
from sojourn.places import netns, network, remains
from sojourn.places.guest import pins, qemu, starting, trial
from sojourn.places.guest.guest import BOOT_S_MAX, Guest
from sojourn.places.guest.qemu import Disk
from sojourn.places.guest.starting import RESTORED, Ask
from sojourn.places.guest.trial import Verdict
from sojourn.places.launch import Launch
from sojourn.places.ledger import Book, Made, Undone
from sojourn.places.network import Link
from sojourn.places.pinning import Pinned, Workers
from sojourn.places.place import EMULATED, GuestLinks, Place, PlaceKind
from sojourn.places.platform import ceph, libvirt, nbd
from sojourn.places.platform import storage as storages
from sojourn.places.platform import switch as switches
from sojourn.places.platform.daemons import files
from sojourn.places.platform.libvirt import Libvirt
from sojourn.places.platform.storage import Storage
from sojourn.places.platform.switch import Switch
from sojourn.places.process import Process
from sojourn.places.remains import Remains

NAME = "vm"
ENTRY = "vm"  # kind of entry in the book
PORTS = (20_000, 30_000)  # below those that a kernel gives away by itself
NEED_BYTES = 256 << 20  # of a service that does not say
STORES: tuple[type[Storage], ...] = (nbd.Nbd, ceph.Ceph)
SETTLE_S = 30.0  # for the service, when its guest is up


class Vm(Place):
    """A virtual machine for one life of a service."""

    kind = NAME

    def __init__(self, options: frozenset[str] = frozenset()) -> None:
        """Nothing is made before it is entered; `options`: names of those it is to have."""
        self._options = options
        self._why_booted = ""
        self._switch: Switch | None = None
        self._storage: Storage | None = None
        self._libvirt: Libvirt | None = None
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
    def guest_links(self) -> GuestLinks | None:
        """Its tap, and the link of its storage node where it has one."""
        node = self._storage.link if self._storage is not None else ""
        return GuestLinks(tap=self._tap, storage=node) if self._tap else None

    @property
    def start_s_max(self) -> float:
        """Longer than elsewhere: a guest boots first."""
        return BOOT_S_MAX + SETTLE_S

    @property
    def start_notes(self) -> tuple[tuple[str, str], ...]:
        """Whether the guest was restored, and that its clock was set."""
        if RESTORED not in self._options or self._guest is None:
            return ()
        return (("guest", starting.report(self._guest, self._why_booted)),)

    @property
    def start_doubt(self) -> str:
        """That a restored guest has another time."""
        guest = self._guest if RESTORED in self._options else None
        return starting.clock_doubt(guest) if guest is not None else ""

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
        """Make folder, switch and tap, storage node, and find out what runs guests here."""
        kernel = parts.PART.ready()
        if switches.DPDK in self._options:
            raise switches.refuse_dpdk()
        self._name, self._made = remains.name(), Made(book)
        left = Remains(self._name, parts.QEMU)
        folder = remains.folder(self._name)
        try:
            self._made.step(ENTRY, left.facts, partial(folder.mkdir, mode=0o700), left.clear)
            self._link(self._made, book)
            if libvirt.NAME in self._options:
                self._libvirt = Libvirt(self._name, folder, book)
                self._libvirt.enter()
            with files("the trial of KVM", folder):
                self._verdict = trial.verdict(kernel, folder / "trial", book)
        except OSError as error:
            self.leave()
            raise HostFault(
                f"no virtual machine with a link can be made: {error.strerror or error}",
                at=f'place = "{NAME}"',
                fix="run as root, on a kernel with bridge and tun; `sojourn doctor` says more",
            ) from None
        except BaseException:
            self.leave()
            raise

    def _link(self, made: Made, book: Book) -> None:
        tag = self._name.removeprefix(netns.PREFIX)[:6]
        block = network.free_block(network.routed(), int(tag, 16))
        if block is None:
            raise OSError(errno.EADDRNOTAVAIL, "every private address is routed to somewhere")
        outside, inside, third = map(str, list(block.hosts())[:3])
        bridge, tap, node, inner = (
            Link(name=name, mac=netns.mac())
            for name in (*(f"{netns.PREFIX}{tag}{end}" for end in "bts"), netns.INNER)
        )
        self._switch = switch = switches.build(
            self._options, bridge, remains.folder(self._name), book
        )
        add, delete = partial(network.add_tap, tap), partial(network.delete, tap)
        for link, make, unmake in ((bridge, switch.add, switch.remove), (tap, add, delete)):
            made.step("link", {"name": link.name, "mac": link.mac}, make, unmake)
        switch.join(tap)
        network.bring_up(bridge.name, outside)
        self._tap, self._host = tap.name, inside
        for kind in STORES:
            if kind.name in self._options:
                self._storage = kind(self._name, node, third, book)
                self._storage.enter(switch, inner)

    def leave(self) -> None:
        """Remove what is left of it; what cannot be is left to `restore`."""
        guest, own = self._guest, (self._storage, self._libvirt)
        self._guest = self._storage = self._libvirt = None
        self._host, self._tap = netns.UNKNOWN, ""
        with ExitStack() as every:  # the last first, and each whatever became of the others
            if self._made is not None:
                every.callback(self._made.unmake)
            for part in own:
                if part is not None:
                    every.callback(part.leave)
            if guest is not None:
                every.callback(guest.stop, term_s=0.0)

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
            data=self._disk(launch),
            by=self._libvirt.start if self._libvirt is not None else None,
        )
        if RESTORED in self._options:
            self._guest, self._why_booted = starting.restored(ask)
        else:
            self._guest = starting.booted(ask)
        return self._guest

    def _disk(self, launch: Launch) -> Disk | None:
        """A new disk with the working folder; None: that is in the guest's memory."""
        if self._storage is None:
            return None
        return self._storage.disk(launch.cwd, launch.user, launch.cpus)

    def pin(self, process: Process, workers: Workers, cpus: Sequence[int]) -> Pinned:
        """Each CPU of the guest on one of the server's, and inside each worker on one of those."""
        assert self._guest is not None  # noqa: S101  # it answered
        return pins.pin(self._guest, process.pid, workers, cpus)

    @property
    def notes(self) -> tuple[tuple[str, str], ...]:
        """What runs the guest, how it is reached, and what that does to its times."""
        if self._verdict is None:
            return ()
        under = f" under {self._libvirt.note}" if self._libvirt is not None else ""
        by = f"virtual machine by {qemu.version()}{under}, Linux {parts.VERSION}"
        how = "on KVM" if not self._verdict.is_emulated else f"{EMULATED} (TCG)"
        switch = self._switch.note if self._switch else "a bridge"
        results = [("place", f"{by}, {how}; reached over a tap and {switch}")]
        if self._storage is not None:
            results += [("disk", self._storage.note)]
        if self._verdict.is_emulated:
            why = f"instructions are translated, because {self._verdict.why}"
            results += [(EMULATED, why)]
        return tuple(results)


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
        "egress": "what it sends goes over its tap, and the limit is on loopback",
        "rps": "its queues are the guest's",
        "napi": "its network card is the guest's",
    },
    options=(starting.OPTION, libvirt.OPTION, nbd.OPTION, ceph.OPTION, *switches.OPTIONS),
    undo={
        ENTRY: undo,
        storages.ENTRY: storages.undo,
        switches.ENTRY: switches.undo,
        "link": netns.undo_link,
    },
)
