"""Control groups of the lab's own: made for a service, entered by all of it, left and removed.

    find the hierarchy → note → make sojourn-TAG → move in … → move back → remove → cross out

A group is made once for a service and hierarchy; its knobs share it. In version 1 it is made below
the group that the service is in, so that whatever limits that one goes on to. Version 2 allows no
group with processes of its own to hand on controllers, so there it is made below the nearest parent
that hands the controller on already, or below the root.

Nothing is changed outside of `sojourn-TAG` but, on version 2, a controller that the root does not
hand on yet: that is noted and taken back as well (`handed`). TAG is drawn by lot, so what bears it
is the lab's. Each process goes back to the group that it was in itself (`homes`).
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.host import hierarchy as hierarchies
from sojourn.host.tree import Tree
from sojourn.knobs import handed, homes, known
from sojourn.knobs.homes import Homes
from sojourn.knobs.knob import Asked, Lack, Turned
from sojourn.places import proc
from sojourn.places.ledger import Undone

PREFIX = handed.PREFIX  # `restore` removes no group without it
ENTRY = handed.ENTRY
PASSES_MAX = 20  # who starts processes faster than they are moved is not finished starting
GONE_S_MAX = 5.0
#: By these names too, for those who make groups and would import both modules.
Hierarchy = hierarchies.Hierarchy
find = hierarchies.find


@dataclass(slots=True, kw_only=True)
class Group:
    """A group that the lab has made for one service.

    Attributes:
        folder: as on the machine.
        home: the group that the service came from.
        entry: of the book.
        users: knobs that hold it.
        homes: where those that were moved in go back to.
    """

    tree: Tree
    hierarchy: Hierarchy
    folder: str
    home: str
    entry: int
    users: set[str] = field(default_factory=set)
    homes: Homes = field(default_factory=Homes)

    @property
    def version(self) -> int:
        """Of control groups: 1 or 2."""
        return self.hierarchy.version

    def text(self, name: str) -> str:
        """What a file of it says; "" if there is none."""
        return self.tree.text(f"{self.folder}/{name}") or ""

    def write(self, name: str, text: str) -> None:
        """Write one of its files; OSError if the kernel refuses."""
        write(self.tree, f"{self.folder}/{name}", text)

    def outside(self, leader: int) -> tuple[int, ...]:
        """Processes of a session that are not in it or below."""
        return tuple(self.elsewhere(one.pid for one in proc.session(leader)))

    def elsewhere(self, pids: Iterable[int]) -> dict[int, str]:
        """Those of some processes that are not in it or below, with the folder that each is in."""
        where = {pid: self.hierarchy.folder(self.tree, pid) for pid in pids}
        inside = f"{self.folder}/"
        return {pid: at for pid, at in where.items() if at and not f"{at}/".startswith(inside)}


def lacking(asked: Asked, controller: str) -> Lack | None:
    """What a knob of this controller lacks here."""
    no = hierarchies.refusal(asked.tree, controller)
    return Lack(missing=no.missing, fix=no.fix) if no else None


def join(on: Turned, controller: str, user: str) -> Group:
    """Make the service's group, if it has none yet, and move all of it in; as `hold`."""
    held = hold(on, controller, user)
    try:
        move_in(on, held, lambda: [one.pid for one in proc.session(on.leader)])
    except OSError:
        leave(on, held, user)
        raise
    return held


def hold(
    on: Turned, controller: str, user: str, prepare: Callable[[Group], None] | None = None
) -> Group:
    """Make a service's group, if it has none yet; nothing is moved.

    Args:
        on: whose group it is; below that of its leader, where the hierarchy wants that.
        controller: such as "cpu".
        user: the knob that holds it from now on.
        prepare: sets up a group that is made here.

    Raises:
        OSError: the kernel refuses; nothing is left of it.
    """
    hierarchy = find(on.tree, controller)
    if hierarchy is None:
        raise OSError(0, f"no control groups with the controller {controller}")
    held: Group | None = on.shared.get(hierarchy.mount)
    is_new = held is None
    if held is None:
        try:
            held = _made(on, hierarchy)
        except OSError:
            handed.take_back(on, write)
            raise
        on.shared[hierarchy.mount] = held
    elif hierarchy.version == 2:  # it was made for another controller
        handed.hand_on(on, posixpath.dirname(held.folder), controller, write)
    held.users.add(user)
    try:
        if prepare and is_new:
            prepare(held)
    except OSError:
        leave(on, held, user)
        raise
    return held


def leave(on: Turned, group: Group, user: str) -> None:
    """A knob lets go of it; with the last one all go back to where they were and it is removed."""
    group.users.discard(user)
    if group.users:
        return
    on.shared.pop(group.hierarchy.mount, None)
    if remove(group.tree, group.folder, group.home, group.homes):
        for entry in filter(None, (group.homes.entry, group.entry)):
            on.book.undone(entry)
        handed.take_back(on, write)


def move_in(
    on: Turned,
    group: Group,
    pids: Callable[[], Iterable[int]],
    first: Callable[[Iterable[str]], object] = lambda _: None,
) -> None:
    """Move processes in, with all their threads, until each that is listed is in it or below.

    Args:
        on: in its book is noted where they go back to.
        group: that they are moved into.
        pids: lists them, anew before each pass, because they may start others meanwhile.
        first: is called before each pass with the folders that they are in; it may refuse.

    Raises:
        OSError: the kernel refuses, or they start others faster than they are moved.
    """
    facts = {"folder": group.folder, "home": group.home, "root": str(on.tree.root)}
    for _ in range(PASSES_MAX):
        outside = group.elsewhere(pids())
        if not outside:
            return
        first({*outside.values()})
        group.homes.note(on.book, ENTRY, outside, **facts)
        for pid in outside:
            with contextlib.suppress(ProcessLookupError):
                put(group.tree, group.folder, pid)
    raise OSError(0, "it starts processes faster than they can be moved")


@contextlib.contextmanager
def beside(on: Turned, group: Group) -> Iterator[str]:
    """A second group beside a service's, as the kernel makes them, for a while; its folder."""
    folder = f"{group.folder}-ref"
    entry = on.book.note(ENTRY, folder=folder, home=group.home, root=str(on.tree.root))
    _mkdir(on.tree, folder)
    try:
        yield folder
    finally:
        if remove(on.tree, folder, group.home):
            on.book.undone(entry)


def _made(on: Turned, hierarchy: Hierarchy) -> Group:
    tree, home = on.tree, hierarchy.folder(on.tree, on.leader)
    if not home:
        raise OSError(0, "the service had ended")
    parent = hierarchies.parent(tree, hierarchy, home)
    if hierarchy.version == 2:
        handed.hand_on(on, parent, hierarchy.controller, write)
    folder = posixpath.join(parent, f"{PREFIX}{on.shared.get('tag') or secrets.token_hex(3)}")
    entry = on.book.note(ENTRY, folder=folder, home=home, root=str(tree.root))
    try:
        _mkdir(tree, folder)
        _inherit(tree, hierarchy, folder)
    except OSError:
        remove(tree, folder, home)
        on.book.undone(entry)
        raise
    return Group(tree=tree, hierarchy=hierarchy, folder=folder, home=home, entry=entry)


def _inherit(tree: Tree, hierarchy: Hierarchy, folder: str) -> None:
    """Version 1: a group of the controller cpuset has no CPUs and no memory before it is told."""
    if hierarchy.version == 1 and hierarchy.controller == "cpuset":
        for name in ("cpuset.cpus", "cpuset.mems"):
            write(tree, f"{folder}/{name}", tree.text(f"{posixpath.dirname(folder)}/{name}") or "")


def put(tree: Tree, folder: str, pid: int) -> None:
    """Put a process with all its threads into a group; OSError if the kernel refuses."""
    write(tree, f"{folder}/cgroup.procs", str(pid))


def write(tree: Tree, path: str, text: str) -> None:
    """Write a file of the kernel with one call; OSError if it refuses."""
    handle = os.open(tree.path(path), os.O_WRONLY)
    try:
        os.write(handle, text.encode("ascii"))
    finally:
        os.close(handle)


def _mkdir(tree: Tree, folder: str) -> None:
    tree.path(folder).mkdir()


def _rmdir(tree: Tree, folder: str) -> None:
    tree.path(folder).rmdir()


def remove(tree: Tree, folder: str, home: str, own: Homes | None = None) -> bool:
    """Move all that is in a group home and remove it; whether it is gone.

    Those that have just been killed hold it for a moment, so it is tried again for some seconds.

    Args:
        tree: of the machine.
        folder: of the group.
        home: where its first process was.
        own: where others were.
    """
    until = time.monotonic() + GONE_S_MAX
    while tree.exists(folder):
        to = home if tree.exists(home) else posixpath.dirname(folder)
        for pid in filter(None, map(int, (tree.text(f"{folder}/cgroup.procs") or "").split())):
            for place in dict.fromkeys((own.of(pid, to) if own else to, to)):
                with contextlib.suppress(OSError):
                    put(tree, place, pid)
                    break
        try:
            _rmdir(tree, folder)
        except FileNotFoundError:
            break
        except OSError:
            if time.monotonic() > until:
                return False
            time.sleep(0.005)
    return True


def undo(facts: Mapping[str, Any]) -> Undone | None:
    """Remove a group that a lab noted, or take back a controller, if it was made."""
    tree = Tree(Path(str(facts["root"])))
    if handed.KEY in facts:
        return handed.undo(facts, tree, write)
    folder, home = str(facts["folder"]), str(facts["home"])
    if not posixpath.basename(folder).startswith(PREFIX) or not tree.exists(folder):
        return None
    own = Homes.of_json(facts.get(homes.KEY, ()))
    for path in (folder, home, *sorted(own.places)):
        known.check(path, tree)
    is_done = remove(tree, folder, home, own)
    how = "removed" if is_done else "cannot be removed: something runs in it; run as root"
    return Undone(what=f"control group {folder}", how=how, is_done=is_done)
