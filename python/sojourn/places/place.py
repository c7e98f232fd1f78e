"""What a place is: where a service's programs run, and how a client outside reaches them.

    build → enter → free port, start, port's owner … → leave

A place is entered for one life of a service and left when that life is over. What it makes for it
is noted in the book before it is made, so that it is undone after `kill -9` as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from sojourn.places import pinning, ports, proc, process
from sojourn.places.image import Image
from sojourn.places.launch import Launch
from sojourn.places.ledger import Book, Undo
from sojourn.places.pinning import Pinned, Workers
from sojourn.places.ports import Address
from sojourn.places.process import Process

EMULATED = "emulated"  # what a place notes where instructions are translated: times are not real
ANSWER_S_MAX = 30.0  # of a program that is started on this machine


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestLinks:
    """Links of this machine that carry all that a guest moves.

    Attributes:
        tap: of its network card.
        storage: of the node that serves its disk; "": its files are in its memory.
    """

    tap: str
    storage: str = ""


class Place(ABC):
    """Where the programs of one life of a service run.

    Attributes:
        kind: its name, as `places.KINDS` has it.
    """

    kind: ClassVar[str]

    @property
    @abstractmethod
    def host(self) -> str:
        """IPv4 address at which clients reach what listens here; holds once it is entered."""

    @property
    def netns(self) -> Path | None:
        """The network namespace that programs are put into; None: the lab's own."""
        return None

    @property
    def guest_links(self) -> GuestLinks | None:
        """The links of its guest, once it is entered; None: what it starts is in no guest."""
        return None

    @property
    def start_s_max(self) -> float:
        """How long a service may take to answer, from its start, s."""
        return ANSWER_S_MAX

    @property
    def starting(self) -> str:
        """What its start waits for, for the line of progress; "": nothing worth a word."""
        return ""

    def fit(self, memory_bytes: int) -> None:  # noqa: B027  # most have the machine's memory
        """Be told, before it is entered, how much memory a service may take."""

    def furnish(self, image: Image) -> None:
        """Be told, before a start, that programs are those of a container with its own root.

        Only kinds with `bears_images` are told; programs are then started by the words after the
        first.
        """
        raise NotImplementedError

    def enter(self, book: Book) -> None:
        """Make it, noting every step in `book` before it is done.

        Raises:
            HostFault: this machine does not let the lab.
        """
        del book

    def leave(self) -> None:  # noqa: B027  # most have nothing to unmake
        """Unmake it; nothing of it is left. A place that was not entered is left as well."""

    def address(self, wanted_port: int) -> Address:
        """Where a server is to listen: on the port that is wanted, or (0) on a free one."""
        return Address(self.host, wanted_port or self.free_port())

    def free_port(self) -> int:
        """A port that was free a moment ago. Another program may take it: start, and try again."""
        return ports.free(self.host)

    def is_free(self, port: int) -> bool:
        """Whether a server could listen there now; before it is entered, whether it may then."""
        return ports.is_free(port, self.host)

    def holder(self, port: int) -> str:
        """Who listens on `port`, for an error message."""
        return ports.holder(port)

    def owner(self, port: int, pids: Iterable[int]) -> int | None:
        """Which of `pids` has a socket that listens on `port`; None if none has."""
        return ports.owner(port, pids)

    def start(self, launch: Launch) -> Process:
        """Start a program here; errors are those of `process.start`."""
        return process.start(
            launch.what,
            launch.argv,
            cwd=launch.cwd,
            ledger=launch.ledger,
            log=launch.log,
            user=launch.user,
            cpus=launch.cpus,
            open_files=launch.open_files,
            netns=self.netns,
            variables=launch.variables,
        )

    def pin(self, process: Process, workers: Workers, cpus: Sequence[int]) -> Pinned:
        """Put the workers of a service that was started here on CPUs, one each, in turn.

        Raises:
            RunFault: the kernel refuses.
        """
        return pinning.one_each(workers, proc.tasks(process.pid), cpus)

    @property
    def notes(self) -> tuple[tuple[str, str], ...]:
        """Facts for people, once it is entered: (what, how it is)."""
        return ()

    @property
    def start_notes(self) -> tuple[tuple[str, str], ...]:
        """Facts about the last start, once the program answers."""
        return ()

    @property
    def start_doubt(self) -> str:
        """What is wrong with the last start, once the program answers; "": nothing."""
        return ""

    @property
    def fell_back(self) -> str:
        """Why the last start was another than the one asked for; "": it was that one."""
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceOption:
    """A part of a place that can be another than usual, asked for as `KIND:NAME+NAME`.

    Attributes:
        part: of the place; of the options for one part at most one can be had.
        label: what it adds to the label of the place, for people.
        programs: it starts of the host → the Debian package that brings each.
    """

    name: str
    part: str
    about: str
    label: str
    programs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceKind:
    """One kind of place, as `sojourn kinds` shows it.

    Attributes:
        label: what it is to people, in two words; "": its name.
        needs: what it needs of the host, for people.
        abilities: the same by name, as `host.abilities` tells whether they are there.
        programs: it starts of the host → the Debian package that brings each.
        starts: whether programs can be started there at all.
        build: a place of this kind that is not entered yet.
        bears_images: whether it runs containers with a root of their own.
        networks: other kinds of place whose network it can be in, asked for as `KIND:NETWORK`;
            `build` is then given one.
        options: parts that can be others, in the order in which they are written; `build` is then
            given the names of those that are asked for.
        shows_environment: whether other users of this machine see the variables of a program there.
        unseen: why nothing that looks into this machine's kernel sees a service there, such as the
            tracer; "": it does.
        out_of_reach: knobs of this machine that do not reach a service there → why.
        undo: kinds of entries that it writes into the book → how each is undone.
    """

    name: str
    about: str
    label: str = ""
    needs: tuple[str, ...] = ()
    abilities: tuple[str, ...] = ()
    programs: Mapping[str, str] = field(default_factory=dict)
    starts: bool = True
    build: Callable[..., Place]
    bears_images: bool = False
    networks: tuple[str, ...] = ()
    options: tuple[PlaceOption, ...] = ()
    shows_environment: bool = False
    unseen: str = ""
    out_of_reach: Mapping[str, str] = field(default_factory=dict)
    undo: Mapping[str, Undo] = field(default_factory=dict)
