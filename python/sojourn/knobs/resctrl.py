"""A resource group of the lab's own below /sys/fs/resctrl, for the cache and its bandwidth.

    note → make sojourn-TAG → write the service's threads into `tasks` → write `schemata`
    → … → remove: the kernel puts its threads into the default group by itself

Intel, AMD and Arm (MPAM) speak the same files and differ in what a line of `schemata` may say;
`info` tells. What it does is measured by what the kernel counts for the group (`mon_data`), while a
probe in it reads as much as it can. No machine with any of this was at hand: it is tested on
made-up trees.
"""

from __future__ import annotations

import contextlib
import posixpath
import secrets
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sojourn.errors import HostFault
from sojourn.host import writable
from sojourn.host.tree import Tree, as_int
from sojourn.knobs import known
from sojourn.knobs.groups import PREFIX, write
from sojourn.knobs.knob import Asked, Felt, Knob, Lack, Turned
from sojourn.knobs.limit import NONE
from sojourn.places.ledger import Undone

MOUNT = "/sys/fs/resctrl"
ENTRY = "resctrl"
PASSES_MAX = 20
MOUNT_IT = f"sudo mount -t resctrl resctrl {MOUNT}"


class Resource(Knob):
    """One line of `schemata` of one running service; knobs of a service share its group."""

    name: ClassVar[str]
    resources: ClassVar[tuple[str, ...]]  # lines that it may be, such as L3 or L3CODE and L3DATA

    def __init__(self, on: Turned) -> None:
        self._on = on
        self._level = ""
        self._old: dict[str, dict[str, str]] = {}
        self._effect: Felt | None = None

    by = "resctrl"

    @abstractmethod
    def text(self, level: str) -> str:
        """What a level is in `schemata`, for one domain; ValueError if it cannot be had."""

    @abstractmethod
    def effect(self, folder: str) -> Felt:
        """Whether it is measured in a group; about half a second."""

    @property
    def _folder(self) -> str:
        return str(self._on.shared.get(ENTRY, {}).get("folder", ""))

    def read(self) -> str:
        """Its line as it is in force, the first domain's part; "" before it was turned."""
        result = schemata(self._on.tree, self._folder or MOUNT)
        lines = [result[name] for name in self.resources if name in result]
        return next(iter(lines[0].values()), "") if lines else ""

    def apply(self, level: str) -> None:
        """Put the service into its group, and write its line; at "none" leave it again."""
        if level == NONE:
            self.restore()
            return
        tree = self._on.tree
        try:
            text = self.text(level)
            folder = join(self._on, self.name)
            result = schemata(tree, folder)
            lines = {name: result[name] for name in self.resources if name in result}
            self._old = self._old or lines
            for name, domains in lines.items():
                parts = ";".join(f"{domain}={text}" for domain in domains)
                write(tree, f"{folder}/schemata", f"{name}:{parts}\n")
        except (OSError, ValueError) as error:
            message = tree.text(f"{MOUNT}/info/last_cmd_status") or ""
            why = getattr(error, "strerror", None) or str(error)
            raise HostFault(
                f"{self._on.label} cannot be given {self.name} {level}: {why}",
                at=self._on.at(self.name),
                fix=f"the kernel says: {message}"
                if message not in {"", "ok"}
                else "see `sojourn doctor`",
            ) from None
        self._level, self._effect = level, None

    def verify(self) -> Felt:
        """Whether all threads are in the group, its line reads back, and a probe felt it."""
        tree, folder = self._on.tree, self._folder
        if not self._level or not folder:
            return Felt(holds=None, why="it was not turned")
        inside = {*(tree.text(f"{folder}/tasks") or "").split()}
        strays = [t for t in self._on.tasks() if str(t.tid) not in inside]
        if strays:
            text = ", ".join(f"{task.name} ({task.tid})" for task in strays[:3])
            return Felt(holds=False, why=f"{len(strays)} threads are not in its group: {text}")
        result, wanted = schemata(tree, folder), self.text(self._level)
        for name in self.resources:
            off = {
                d: part for d, part in result.get(name, {}).items() if not _is_same(part, wanted)
            }
            if off:
                return Felt(holds=False, why=f"the kernel says {name}:{off}, not {wanted}")
        if self._effect is None:
            self._effect = self._probed(folder)
        return self._effect

    def _probed(self, folder: str) -> Felt:
        try:
            return self.effect(folder)
        except OSError as error:
            return Felt(holds=None, why=f"it reads back, but no probe could run: {error}")

    def restore(self) -> None:
        """Write its line as it was; the last knob of a group takes the service out of it."""
        if self._folder and self._level:
            with contextlib.suppress(OSError):  # it goes with the group anyway
                for name, domains in self._old.items():
                    parts = ";".join(f"{domain}={part}" for domain, part in domains.items())
                    write(self._on.tree, f"{self._folder}/schemata", f"{name}:{parts}\n")
        leave(self._on, self.name)  # also where its line was refused
        self._level = ""


def _is_same(part: str, wanted: str) -> bool:
    """Masks are hexadecimal with or without leading zeros, bandwidths decimal."""
    return part.strip().lstrip("0") == wanted.strip().lstrip("0")


def schemata(tree: Tree, folder: str) -> dict[str, dict[str, str]]:
    """A group's lines: resource → domain → part."""
    results = {}
    for line in (tree.text(f"{folder}/schemata") or "").splitlines():
        name, _, rest = line.strip().partition(":")
        pairs = (part.partition("=") for part in rest.split(";"))
        results[name] = {domain.strip(): text.strip() for domain, _, text in pairs}
    return results


def counted(tree: Tree, folder: str, what: str, domain: int | None = None) -> int | None:
    """A counter of a group's `mon_data`; None: the CPU has none.

    Args:
        tree: of the machine.
        folder: of the group.
        what: file of the counter.
        domain: of L3, as `schemata` numbers it; None: the sum over all.
    """
    base = f"{folder}/mon_data"
    every = tree.names(base) if domain is None else (f"mon_L3_{domain:02}",)
    numbers = [as_int(tree.text(f"{base}/{name}/{what}")) for name in every]
    known = [value for value in numbers if value is not None]
    return sum(known) if known else None


def join(on: Turned, user: str) -> str:
    """Make the service's group, if it has none yet, and put its threads in; its folder.

    Raises:
        OSError: the kernel refuses: no class of service is left, or no right.
    """
    held = on.shared.get(ENTRY)
    if held is None:
        folder = posixpath.join(MOUNT, f"{PREFIX}{secrets.token_hex(3)}")
        home = _home(on.tree, on.leader)
        facts = {"folder": folder, "home": home, "root": str(on.tree.root)}
        entry = on.book.note(ENTRY, **facts)
        try:
            make(on.tree, folder)
        except OSError:
            on.book.undone(entry)
            raise
        held = on.shared[ENTRY] = {**facts, "entry": entry, "users": set()}
    held["users"].add(user)
    for _ in range(PASSES_MAX):
        inside = {*(on.tree.text(f"{held['folder']}/tasks") or "").split()}
        outside = [t.tid for t in on.tasks() if str(t.tid) not in inside]
        for tid in outside:
            with contextlib.suppress(ProcessLookupError):
                write(on.tree, f"{held['folder']}/tasks", f"{tid}\n")
        if not outside:
            return str(held["folder"])
    raise OSError(0, "it starts threads faster than they can be moved")


def leave(on: Turned, user: str) -> None:
    """A knob lets go of the group; with the last one it is removed."""
    held = on.shared.get(ENTRY)
    if held is None:
        return
    held["users"].discard(user)
    if not held["users"]:
        del on.shared[ENTRY]
        if not remove(on.tree, held["folder"], held["home"]):
            on.book.undone(held["entry"])


def make(tree: Tree, folder: str) -> None:
    """Make a group; OSError if the kernel refuses."""
    tree.path(folder).mkdir()


def remove(tree: Tree, folder: str, home: str) -> str:
    """Remove a group, its threads back in the one they came from first; "" or why not."""
    if home != MOUNT and tree.exists(home):
        for tid in (tree.text(f"{folder}/tasks") or "").split():
            with contextlib.suppress(OSError):
                write(tree, f"{home}/tasks", f"{tid}\n")
    try:
        unmake(tree, folder)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return error.strerror or "refused"
    return ""


def unmake(tree: Tree, folder: str) -> None:
    """Remove an empty or full group: the kernel moves its threads; OSError if it refuses."""
    tree.path(folder).rmdir()


def _home(tree: Tree, pid: int) -> str:
    """The group that a process is in: the default one, unless another names it."""
    groups = [f"{MOUNT}/{name}" for name in tree.names(MOUNT)]
    named = (g for g in groups if str(pid) in (tree.text(f"{g}/tasks") or "").split())
    return next(named, MOUNT)


def undo(facts: Mapping[str, Any]) -> Undone | None:
    """Remove a group that a lab noted, if it was made."""
    tree, folder = Tree(Path(str(facts["root"]))), str(facts["folder"])
    if not posixpath.basename(folder).startswith(PREFIX) or not tree.exists(folder):
        return None
    home = str(facts["home"])
    known.check(folder, tree)
    known.check(home, tree)
    why = remove(tree, folder, home)
    how = f"cannot be removed: {why}" if why else "removed"
    return Undone(what=f"resource group {folder}", how=how, is_done=not why)


def lacking(asked: Asked, resource: str) -> Lack | None:
    """What a knob of this resource (of `info`) lacks here."""
    tree = asked.tree
    if not tree.exists(f"{MOUNT}/schemata"):
        known = (tree.text("/proc/filesystems") or "").split()
        if "resctrl" in known:
            return Lack(missing="the mount of resctrl", fix=MOUNT_IT)
        fix = "bare metal with Intel RDT, AMD QoS or Arm MPAM, and a kernel with resctrl"
        return Lack(missing="control of cache and memory bandwidth (resctrl)", fix=fix)
    if not tree.exists(f"{MOUNT}/info/{resource}"):
        return Lack(missing=f"control of {resource} in this CPU", fix="another CPU")
    no = writable.refusal(tree, MOUNT)
    return Lack(missing=no.missing, fix=no.fix) if no else None


UNDO = {ENTRY: undo}
