"""How the scheduler sees service, client and neighbours grouped (`groups`).

    own      a control group each, as production has it
    session  none of the lab's: each program has a session of its own (autogroup, sched(7))
    shared   one control group for all of them
    nested   service and client in one, each neighbour in one of its own

A service is put into its group once, when its life begins; clients and neighbours start in theirs.
What is in force is read back of every party and stored with the run. "own" is what a run has where
nothing else is asked for: if the machine refuses, the run goes on by session and says so.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sojourn.errors import HostFault
from sojourn.host import Facts, grouping
from sojourn.host.tree import Tree, as_int
from sojourn.knobs import Asked, Turned, groups
from sojourn.knobs.grouped import USER
from sojourn.knobs.groups import Group
from sojourn.places.foreign import Foreign
from sojourn.places.ledger import Book
from sojourn.places.process import Process
from sojourn.run.live import RunningService
from sojourn.spec import Study

OWN, SESSION, SHARED, NESTED = "own", "session", "shared", "nested"
CONTROLLER, CPUSET = "cpu", "cpuset"
KEY = "groups"  # of a study
CLIENT = "client"
#: A client goes before the lab on its CPU (nice -20): its group has the weight of that.
FIRST = {1: ("cpu.shares", "88761"), 2: ("cpu.weight", "8668")}
BUDGET = "cpu.rt_runtime_us"  # of version 1 with CONFIG_RT_GROUP_SCHED
#: Of a second, for the thread that logs the server's CPUs, the most first. It takes 1 to 2 % of a
#: CPU. One that has used up its budget sleeps until the second is over, as if the CPU had stopped.
CLIENT_BUDGETS_US = (40_000, 24_000, 10_000)
REAL_TIME = ("fifo", "rr", "deadline")
_OF_REAL_TIME = (
    "its threads have real-time priority, which no control group orders, and this kernel "
    "(CONFIG_RT_GROUP_SCHED) refuses it in a group without a budget of its own"
)


def check(study: Study, facts: Facts, *, is_varied: bool) -> None:
    """Refuse a grouping that this machine cannot have.

    Args:
        study: that asks for it.
        facts: of this machine.
        is_varied: it is a level of a factor, which a run by session would be no run of.

    Raises:
        HostFault: control groups cannot be made here. What is not asked for is not refused.
    """
    if study.groups == SESSION or (study.groups == OWN and not is_varied):
        return
    lack = groups.lacking(Asked(level=study.groups, tree=Tree(Path(facts.root))), CONTROLLER)
    if lack:
        raise HostFault(
            f"groups = {study.groups} is not possible here: {lack.missing} is missing",
            at="groups",
            fix=f'{lack.fix}; or give groups = "session"',
        )


def begin(live: RunningService) -> None:
    """Put a service that has just started into its group; what is refused is noted on it."""
    on = live.turned
    assert on is not None  # noqa: S101  # its knobs are about to be turned
    if live.groups == SESSION:
        return
    own, labs = (grouping.read(on.tree, pid) for pid in (on.leader, None))
    if own.cgroup != labs.cgroup:
        return  # its place gave it one, as a container has
    if _has_budgets(on.tree) and _is_of_real_time(live):
        live.ungrouped = _OF_REAL_TIME
        return
    try:
        group = groups.join(on, CONTROLLER, USER)
        live.ungroup = partial(groups.leave, on, group, USER)
    except OSError as error:
        live.ungrouped = error.strerror or str(error)


def facts(live: RunningService) -> dict[str, Any]:
    """How a service is grouped now, as `service.json` has it."""
    pid = live.process.pid if live.process else None
    result = grouping.read(Tree(), pid).as_json() if pid else {}
    why = live.ungrouped
    if isinstance(live.process, Foreign) and live.groups != SESSION:
        why = "it runs already, and stays where it is"
    return {"asked": live.groups, **result, "refused": why}


def grouping_text(grouped: Mapping[str, Any]) -> str:
    """The same in a line, for people."""
    asked, by, why = grouped["asked"], grouped.get("by"), grouped["refused"]
    if by is None:
        return f"{asked}; where the service is cannot be seen"
    text = f"{asked}; the scheduler groups the service by {by}"
    return f"{text}, because {why}" if why else text


def group_of(live: RunningService) -> Group | None:
    """The group that a service was put into; None: none."""
    hierarchy = groups.find(live.turned.tree, CONTROLLER) if live.turned else None
    held = live.turned.shared.get(hierarchy.mount) if live.turned and hierarchy else None
    return held if isinstance(held, Group) and USER in held.users else None


def _is_of_real_time(live: RunningService) -> bool:
    policy = live.levels.get("policy", "")
    return not live.wish.refused or policy.startswith(REAL_TIME) or "rt_quota" in live.levels


def _has_budgets(tree: Tree) -> bool:
    result = groups.find(tree, CONTROLLER)
    return result is not None and tree.exists(f"{result.mount}/{BUDGET}")


class Companions:
    """Clients and neighbours of one scene, and how each was grouped."""

    def __init__(
        self, how: str, book: Book, *, tree: Tree | None = None, is_managed: bool = False
    ) -> None:
        """No client or neighbour is there yet.

        Args:
            how: they are grouped.
            book: where it is noted what is made.
            tree: the machine, or a fake of it.
            is_managed: neighbours get CPUs of their own as well, which a manager can move.
        """
        self._how = how
        self._more = (CPUSET,) if is_managed else ()
        self._book = book
        self._tree = tree or Tree()
        self._made: dict[str, tuple[Turned, tuple[Group, ...]]] = {}
        self._seen: dict[str, dict[str, Any]] = {}
        self._refused: dict[str, str] = {}

    def place(self, party: str, live: RunningService | None) -> tuple[Path, ...]:
        """Folders of the groups in which a program is to start; () where it stays with the lab.

        Args:
            party: `CLIENT`, or a neighbour's name.
            live: the service that it is beside.
        """
        self._refused.pop(party, None)
        try:
            every = self._groups(party, group_of(live) if live else None)
        except OSError as error:
            self._refused[party] = error.strerror or str(error)
            return ()
        return tuple(dict.fromkeys(Path(group.folder) for group in every))

    def admit(self, party: str, started: Process) -> Mapping[str, Any]:
        """Note how a program is grouped, as it read that itself when it began.

        Returns:
            How every party is grouped now, as `host.json` has it.
        """
        result = grouping.of(self._tree, *started.grouped, started.pid).as_json()
        why = self._refused.get(party, "")
        self._seen[party] = {**result, **({"refused": why} if why else {})}
        return {"asked": self._how, **self._seen}

    def _groups(self, party: str, services: Group | None) -> tuple[Group, ...]:
        if self._how == SESSION:
            return ()
        if self._how == SHARED or (self._how == NESTED and party == CLIENT):
            if services is None:
                raise OSError(0, "the service has no group of the lab's to share")
            return (services,)
        if party not in self._made:
            on = Turned(label=party, leader=os.getpid(), book=self._book, tree=self._tree)
            on.shared["tag"] = secrets.token_hex(3)  # one name in every tree of groups
            prepare = _first if party == CLIENT else None
            self._made[party] = on, (groups.hold(on, CONTROLLER, USER, prepare),)
            for controller in self._more if party != CLIENT else ():
                with contextlib.suppress(OSError):  # a rule that needs it is refused before
                    held = groups.hold(on, controller, f"{USER} {controller}")
                    self._made[party] = on, (*self._made[party][1], held)
        return self._made[party][1]

    def leave(self) -> None:
        """Remove the groups that were made here; whoever was in them has ended."""
        for on, every in self._made.values():
            for group in reversed(every):
                for user in sorted(group.users):
                    groups.leave(on, group, user)
        self._made = {}


def _first(group: Group) -> None:
    """A client's group: before others on its CPU, and with a little real-time where it is counted.

    Raises:
        OSError: the kernel refuses.
    """
    group.write(*FIRST[group.version])
    path = Path(group.folder) / BUDGET
    if group.tree.exists(str(path)) and (as_int(group.text(BUDGET)) or 0) == 0:
        give_real_time(group)


def give_real_time(group: Group) -> None:
    """The largest budget that the kernel has left beside those of other groups."""
    *more, least = CLIENT_BUDGETS_US
    for budget_us in more:
        with contextlib.suppress(OSError):
            group.write(BUDGET, str(budget_us))
            return
    group.write(BUDGET, str(least))
