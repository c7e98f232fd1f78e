"""What a knob is: something of a running service that is set, and put back.

    lacks → build → read → apply(level) → felt … apply(level) → felt → restore

A level is text, as in the study. What this machine lacks for a level is said before anything runs.
Whether a level bites is felt once after it was applied, within about a second, by what it does to a
probe; from then on it is read back (M23). What a knob changes is noted in the book before it is
changed, with what it was; so it is put back after `kill -9` as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.host.tree import Tree, cpu_list, cpu_text
from sojourn.places import proc
from sojourn.places.ledger import Book, Undo
from sojourn.places.task import Task

ONLINE = "/sys/devices/system/cpu/online"


@dataclass(frozen=True, slots=True, kw_only=True)
class Felt:
    """Whether what was set is in force, by reading back and by measuring (M23).

    Attributes:
        holds: None: it cannot be known.
        why: what was read back and measured, in words.
    """

    holds: bool | None
    why: str

    @property
    def verdict(self) -> str:
        """The same as "holds", "violated" or "unknown"."""
        return {True: "holds", False: "violated", None: "unknown"}[self.holds]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of this machine, before anything runs.

    Attributes:
        level: of the knob.
        place: of the service, by name.
        tree: the machine, or a fake of it.
        work: where the service's working folder is made; None: who it runs as is not known yet.
    """

    level: str
    place: str = "local"
    tree: Tree = field(default_factory=Tree)
    work: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """What this machine lacks for a level, and what would fix that ("": nothing here)."""

    missing: str
    fix: str = ""


def nothing(asked: Asked) -> Lack | None:
    """None: a knob that needs nothing of the machine."""
    del asked
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """What a service on the stage is offered at a point.

    Attributes:
        load: share of its max RPS.
        rps: the same, requests/s; None where a closed loop asks.
    """

    load: float
    rps: float | None = None

    @property
    def service_rps(self) -> float:
        """How many requests a second it could serve at most; 0 where that is not known."""
        return self.rps / self.load if self.rps and self.load else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """What a knob is on.

    Attributes:
        label: of the service.
        leader: first process of its session.
        book: where it is noted what is changed.
        tree: the machine, or a fake of it.
        host, port: where the service listens; 0: nowhere.
        netns: its network namespace, where it is mounted; None: the lab's own.
        work: its working folder.
        shared: what several knobs of one service have in common, such as a control group.
        pids: lists its processes; None: they are those of the leader's session.
    """

    label: str
    leader: int
    book: Book
    tree: Tree = field(default_factory=Tree)
    host: str = "127.0.0.1"
    port: int = 0
    netns: Path | None = None
    work: Path = Path("/")
    shared: dict[str, Any] = field(default_factory=dict)
    pids: Callable[[], Iterable[int]] | None = None

    def tasks(self) -> tuple[Task, ...]:
        """All threads of its processes."""
        if self.pids is None:
            return proc.tasks(self.leader)
        return proc.tasks_of(one for pid in self.pids() if (one := proc.stat(pid)) is not None)

    def at(self, knob: str) -> str:
        """Where a knob of this service is in the study, for errors."""
        return f"services.{self.label}.knobs.{knob}"


class Knob(ABC):
    """One knob of one running service."""

    @property
    @abstractmethod
    def by(self) -> str:
        """What of the machine does it, for people."""

    @abstractmethod
    def read(self) -> str:
        """The level that is in force now."""

    @abstractmethod
    def apply(self, level: str) -> None:
        """Set a level; what it was is in the book before.

        Raises:
            HostFault: the machine refuses.
        """

    @abstractmethod
    def verify(self) -> Felt:
        """Whether the level that was applied last is in force, read back and measured.

        The first call after an `apply` takes up to about a second; later ones read back.
        """

    def among(self, label: str, offered: Mapping[str, Offered]) -> None:
        """Before each point: what those on the stage are offered, for levels that follow from it.

        Args:
            label: of its own service.
            offered: by label; empty after a point, when no one is offered anything.

        Raises:
            HostFault: the machine refuses what follows.
        """
        del label, offered

    @abstractmethod
    def restore(self) -> None:
        """Put back what it was before the first `apply`; one that was never turned stays."""


def takes_all(level: str) -> str:
    """Refuse no level, where `pattern` says all that there is to say."""
    del level
    return ""


def backwards(level: str) -> str:
    """Why a list of CPUs or nodes is none: a range of it; "" of a list, and of a word for one.

    >>> backwards("0,3-1"), backwards("0-1,4"), backwards("server"), backwards("0-99999")
    ('3-1 ends before it begins', '', '', 'no kernel counts that far')
    """
    ranges = (part.partition("-") for part in level.split(",") if "-" in part)
    wrong = next((f"{lo}-{hi}" for lo, _, hi in ranges if int(hi) < int(lo)), "")
    if wrong:
        return f"{wrong} ends before it begins"
    # Such a list reads as an empty one, which a file of the kernel takes for no CPU at all.
    return "no kernel counts that far" if level[0].isdigit() and not cpu_list(level) else ""


def offline(tree: Tree, level: str) -> Lack | None:
    """That a level lists CPUs which are not online here; None: all are, or it lists none."""
    online = cpu_list(tree.text(ONLINE))
    strays = {*cpu_list(level)} - {*online} if online else set()
    if not strays:
        return None
    fix = f"give some of CPUs {cpu_text(online)}"
    return Lack(missing=f"CPU {cpu_text(tuple(strays))}", fix=fix)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobKind:
    """One kind of knob, as `sojourn kinds` shows it.

    Attributes:
        level: what a level is, for people, with an example.
        pattern: regular expression that the whole text of a level matches.
        needs: what it needs of the host, for people.
        source: where it comes from.
        refuses: why no kernel takes a level that `pattern` matches; "": some kernel takes it.
        cpus: CPUs that a level leaves to the service, ascending, or ValueError if it makes no
            sense; None: it is not about CPUs.
        orders: it says how the kernel orders the service's threads, so that no shield may.
        lacks: what this machine lacks for a level; None: nothing.
        asks_folder: what it lacks depends on the service's working folder.
        label: of a level, what it is to people, in a few words; None: its name and the level.
        build: a knob that is not turned yet.
        undo: kinds of entries that it writes into the book, beside settings → how each is undone.
    """

    name: str
    about: str
    level: str
    pattern: str
    needs: tuple[str, ...] = ()
    source: str
    refuses: Callable[[str], str] = takes_all
    cpus: Callable[[str], tuple[int, ...]] | None = None
    orders: bool = False
    lacks: Callable[[Asked], Lack | None] = nothing
    asks_folder: bool = False
    label: Callable[[str], str] | None = None
    build: Callable[[Turned], Knob]
    undo: Mapping[str, Undo] = field(default_factory=dict)
