"""A container: what its runtimes have in common, and how nothing of one is left.

    enter: /run/sojourn-TAG is noted and made, the network entered
    start: warden ── runtime (runc, lxc-start, systemd-nspawn) ── first process of the container
                                                                  └ workers
    leave: what is left of groups and files is removed

The runtime is started like any program, in the network of the place and on the server's CPUs. The
service is the first process of its namespace of processes; the lab finds it as the machine numbers
it, and pins, weighs, traces and signals it there like one on bare metal. Its user is the one that
it has on bare metal. A runtime is told a name with TAG in it, drawn by lot, and puts it on all that
it makes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from sojourn import programs
from sojourn.errors import HostFault
from sojourn.places import cgroups, process, remains, rootfs
from sojourn.places.image import Image
from sojourn.places.inside import Inside, await_first, hold
from sojourn.places.launch import Launch
from sojourn.places.ledger import Book, Made
from sojourn.places.local import Local
from sojourn.places.place import Place
from sojourn.places.process import Process
from sojourn.places.remains import Remains
from sojourn.places.rootfs import Bind
from sojourn.places.users import User

ENTRY = "container"  # kind of entry in the book
_NEW: set[Path] = set()  # shared folders of runtimes that were not there before this lab


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One program that is to run in a container.

    Attributes:
        name: of the container; has the place's tag in it.
        at: a folder for the runtime, the lab's own.
        root: skeleton of the container's root folder.
        binds: what is bound onto it, in order.
        open_files: how many it may have; 0: as the lab.
        image: the container's own root and configuration, of which `argv` leaves out the runtime's
            name; None: a program of this machine.
        environment: beside what each program has, or the image's own.
    """

    name: str
    at: Path
    root: Path
    binds: tuple[Bind, ...]
    argv: tuple[str, ...]
    cwd: Path
    user: User | None
    open_files: int = 0
    image: Image | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


class Contained(Place):
    """A container for one life of a service.

    Attributes:
        program: the runtime.
        has_own_groups: whether it makes control groups; else the lab does, and starts it there.
        traces: folders in which it leaves files of its own, as `Remains` finds them.
        shared: folders that it makes for all its containers and does not remove, innermost first.
    """

    program: ClassVar[str]
    has_own_groups: ClassVar[bool] = True
    traces: ClassVar[tuple[Path, ...]] = ()
    shared: ClassVar[tuple[Path, ...]] = ()

    def __init__(self, within: Place | None = None) -> None:
        """`within`: the place whose network it is in; None: the machine's own."""
        self._within = within or Local()
        self._name = ""
        self._made: Made | None = None
        self._count = 0
        self._image: Image | None = None

    def furnish(self, image: Image) -> None:
        """From now on programs are the container's own."""
        self._image = image

    @abstractmethod
    def command(self, job: Job) -> Sequence[str | Path]:
        """The runtime's words, in the foreground; what they name is written into `job.at`."""

    @property
    def host(self) -> str:
        """As of the network that it is in."""
        return self._within.host

    @property
    def netns(self) -> Path | None:
        """As of the network that it is in."""
        return self._within.netns

    def enter(self, book: Book) -> None:
        """Make a folder for the runtime, and enter the network."""
        self._within.enter(book)
        self._name, self._made = remains.name(), Made(book)
        # Of two containers the second finds what the first has made, and may be left last.
        _NEW.update(path for path in self.shared if not path.exists())
        shared = tuple(path for path in self.shared if path in _NEW)
        left = Remains(self._name, self.program, self.traces, shared)
        try:
            self._made.step(
                ENTRY,
                left.facts,
                partial(remains.folder(self._name).mkdir, mode=0o755),
                left.clear,
            )
        except OSError as error:
            self.leave()
            raise HostFault(
                f"no folder can be made for a container: {error.strerror}",
                at=str(remains.folder(self._name)),
                fix="run as root, where that folder can be written",
            ) from None

    def leave(self) -> None:
        """Remove what is left of the container; what cannot be is left to `restore`."""
        if self._made is not None:
            self._made.unmake()
        self._within.leave()

    def free_port(self) -> int:
        """As of the network that it is in."""
        return self._within.free_port()

    def is_free(self, port: int) -> bool:
        """As of the network that it is in."""
        return self._within.is_free(port)

    def holder(self, port: int) -> str:
        """As of the network that it is in."""
        return self._within.holder(port)

    def owner(self, port: int, pids: Iterable[int]) -> int | None:
        """As of the network that it is in."""
        return self._within.owner(port, pids)

    def start(self, launch: Launch) -> Process:
        """Start a program in a container of its own.

        Raises:
            RunFault: the runtime refuses; its last words say why.
        """
        job = self._job(launch)
        groups = () if self.has_own_groups else cgroups.make(job.name)
        outer = process.start(
            launch.what,
            [programs.find(self.program), *self.command(job)],
            cwd=job.at,
            ledger=launch.ledger,
            log=launch.log,
            cpus=launch.cpus,
            open_files=launch.open_files,
            netns=self.netns,
            groups=groups,
        )
        try:
            inside = Inside(outer, await_first(outer, launch.log), launch.ledger)
            hold(inside.pid, launch.cpus)
            cgroups.allow_realtime(job.name, inside.pid)
        except BaseException:
            outer.stop()
            raise
        return inside

    def _job(self, launch: Launch) -> Job:
        self._count += 1
        at = remains.folder(self._name) / str(self._count)
        at.mkdir(mode=0o755)
        root = at / "root"
        return Job(
            name=f"{self._name}-{self._count}",
            at=at,
            root=root,
            binds=() if self._image else rootfs.make(root, launch.cwd),
            argv=tuple(map(str, launch.argv)),
            cwd=launch.cwd,
            user=launch.user,
            open_files=launch.open_files,
            image=self._image,
            environment=launch.variables,
        )

    @property
    def notes(self) -> tuple[tuple[str, str], ...]:
        """Which runtime, and whose network."""
        text = programs.says(programs.find(self.program), "--version").partition("\n")[0]
        runtime = text if self.program in text else f"{self.program} ({text})"
        if self._within.netns is None:
            return (("place", f"container by {runtime}, in the machine's own network"),)
        return (("place", f"container by {runtime}"), *self._within.notes)
