"""The mounted trees of control groups, and where in them the lab can make its own.

`doctor`, `check` and the knobs ask here, so that none of them promises what another refuses.
"""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass

from sojourn.disk import tables
from sojourn.host import writable
from sojourn.host.tree import Tree
from sojourn.host.writable import AS_ROOT, Refusal

DELEGATED = ", or systemd-run --user --scope -p Delegate=yes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchy:
    """One mounted tree of groups.

    Attributes:
        version: 1 or 2; a hybrid machine has both.
        mount: where it is mounted.
        root: the group that is mounted there, as /proc/PID/cgroup would name it.
    """

    version: int
    mount: str
    root: str
    controller: str

    def folder(self, tree: Tree, pid: int) -> str:
        """The folder of the group that a process is in; "" if it cannot be known."""
        for line in tables.lines(tree.text(f"/proc/{pid}/cgroup") or ""):
            number, names, path = [*line.split(":", 2), "", ""][:3]
            is_own = self.controller in names.split(",") if self.version == 1 else number == "0"
            if path and is_own:
                below = posixpath.relpath(path, self.root) if self.root != "/" else path.lstrip("/")
                return posixpath.normpath(posixpath.join(self.mount, below))
        return ""


def find(tree: Tree, controller: str) -> Hierarchy | None:
    """The mounted hierarchy that a controller is in; None: there is none."""
    for mount in tables.mounts(tree.text("/proc/self/mountinfo")):
        at, root = mount.point, mount.root
        if mount.kind == "cgroup" and controller in mount.whole:
            return Hierarchy(version=1, mount=at, root=root, controller=controller)
        parts = (tree.text(f"{at}/cgroup.controllers") or "").split()
        if mount.kind == "cgroup2" and controller in parts:
            return Hierarchy(version=2, mount=at, root=root, controller=controller)
    return None


def parent(tree: Tree, hierarchy: Hierarchy, home: str) -> str:
    """Below which group the lab's can be made for what is in `home`."""
    if hierarchy.version == 1:
        return home
    at = posixpath.dirname(home) if home != hierarchy.mount else home
    while at.startswith(f"{hierarchy.mount}/"):
        handed = (tree.text(f"{at}/cgroup.subtree_control") or "").split()
        if hierarchy.controller in handed:
            return at
        at = posixpath.dirname(at)
    return hierarchy.mount


def refusal(tree: Tree, controller: str) -> Refusal | None:
    """What keeps the lab from making groups with this controller; None: nothing does."""
    if (hierarchy := find(tree, controller)) is None:
        fix = f"mount -t cgroup -o {controller} none /sys/fs/cgroup/{controller}"
        return Refusal(f"the control-group controller {controller}", fix)
    own = hierarchy.folder(tree, os.getpid()) or hierarchy.mount
    below = parent(tree, hierarchy, own)
    no = writable.refusal(tree, below if tree.exists(below) else hierarchy.mount)
    if no is None:
        return writable.occupied(tree, below)
    more = DELEGATED if no.fix == AS_ROOT else ""
    return Refusal(f"the right to make control groups: {no.missing}", f"{no.fix}{more}")
