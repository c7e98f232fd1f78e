"""Suspects: found on the stage and on the machine, stopped and let go.

Neighbours of the scene are stopped by their process groups, all at once. What the study names of
the machine's own is stopped process by process, and is in the journal before (`places.halt`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from typing import Protocol

from sojourn.actors.actor import Actor, Role, Stage
from sojourn.actors.neighbours import Neighbour
from sojourn.errors import RunFault
from sojourn.host.tree import Tree
from sojourn.host.usage import Members
from sojourn.places import halt, proc
from sojourn.places.halt import Held
from sojourn.places.ledger import Book
from sojourn.places.proc import Stat
from sojourn.questions.blame import asks
from sojourn.spec.words import parted

TREE = Tree()
NAMED = "name:"
OWN = "name:sojourn-"  # programs of the lab, such as the client, which starts when load does


class Suspect(Protocol):
    """Somebody who can be stopped for a while."""

    name: str

    def look(self) -> None:
        """Find the processes that are its now, before the first window."""

    @property
    def pids(self) -> tuple[int, ...]:
        """Those that were found last."""

    def living(self, every: Mapping[int, Stat]) -> tuple[int, ...]:
        """Those that live now, in a window; `every`: as `everybody` reads them."""

    def stop(self) -> None:
        """Stop all of them, until `go`."""

    def go(self) -> None:
        """Let all of them go on."""

    def release(self) -> None:
        """Let them go on for good."""


class Beside:
    """A neighbour of the scene."""

    def __init__(self, actor: Actor, tree: Tree = TREE) -> None:
        """`actor`: on the stage; one that has no processes is never stopped."""
        self._actor = actor if isinstance(actor, Neighbour) else None
        self.name = self._actor.text if self._actor else actor.name
        self.pids: tuple[int, ...] = ()
        leaders = self._actor.pids if self._actor else ()
        self._members = [Members(tree, leader) for leader in leaders]

    @property
    def has_processes(self) -> bool:
        """Whether it can be stopped at all."""
        return bool(self._members)

    def look(self) -> None:
        """All processes of the sessions that its tasks lead; all of /proc is read but rarely."""
        now_s = time.monotonic()
        self.pids = tuple(pid for members in self._members for pid in members.look(now_s))

    def living(self, every: Mapping[int, Stat]) -> tuple[int, ...]:
        """Those that it has now; `every` is not needed."""
        del every
        self.look()
        return self.pids

    def stop(self) -> None:
        """All at once, by their groups."""
        if self._actor:
            self._actor.stop()
            self.look()

    def go(self) -> None:
        """Let all of them go on, likewise."""
        if self._actor:
            self._actor.go()
            self.look()

    def release(self) -> None:
        """The scene ends them; until then they run."""
        self.go()


class Watched:
    """Somebody of the machine's own, whom no one stops."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pids: tuple[int, ...] = ()

    def look(self) -> None:
        """Those whom the name means now."""
        self.pids = tuple(member.pid for member in halt.members(self.name))

    def living(self, every: Mapping[int, Stat]) -> tuple[int, ...]:
        """Those that were found at first: no window asks."""
        del every
        return self.pids

    def stop(self) -> None:
        """Nothing is done to it."""

    def go(self) -> None:
        """Nothing is done to it."""

    def release(self) -> None:
        """Nothing was done to it."""


def suspects_at(stage: Stage, book: Book | None) -> tuple[Suspect, ...]:
    """Everybody who is suspected at a point, in the order of `plan.suspects`.

    Args:
        stage: with its neighbours.
        book: where it is noted who of the machine's own is stopped; None: no one of them will be.

    Raises:
        RunFault: a name means processes of the lab too, which have been started since it was
            checked: the service, a neighbour, a client.
    """
    beside = [Beside(actor) for actor in stage.entered if actor.role is Role.NEIGHBOUR]
    asked = asks.of(stage.spec)
    named = parted(asked.suspects) if asked else []
    others: list[Suspect] = [Held(book, name) if book else Watched(name) for name in named]
    try:
        for one in (*beside, *others):
            one.look()
        _refuse(others)
    except BaseException:
        for one in others:
            one.release()
        raise
    return (*beside, *others)


def everybody(suspects: Iterable[Suspect]) -> dict[int, Stat]:
    """All processes by number; none where no one of the machine's own is suspected."""
    return halt.everybody() if any(isinstance(one, Held) for one in suspects) else {}


def _refuse(named: Iterable[Suspect]) -> None:
    """RunFault where a name, which may mean anybody, means one that this lab has started."""
    pids = {member.pid for member in proc.family(os.getpid())}
    for one in named:
        both = sorted(pids.intersection(one.pids))
        if one.name.startswith(OWN) or (one.name.startswith(NAMED) and both):
            raise RunFault(
                f"suspect '{one.name}' means processes of the lab itself "
                f"({', '.join(map(str, both)) or 'which start later'})",
                at="blame.suspects",
                fix="name the processes that are meant more closely, such as pid:4711",
            )
