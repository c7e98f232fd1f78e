"""Whether the kernel's files can be written here, and if not, why and what would change that.

That a file is there says nothing: in a container /sys, /proc/sys and the control groups are usually
mounted read-only, for root as well. Then "run as root" is no advice.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from sojourn.disk import mounts, tables
from sojourn.host.tree import Tree

AS_ROOT = "run as root (sudo)"
#: A privileged container still has a namespace of its own for control groups of version 2.
ON_HOST = (
    "run on the host itself, or in a container that is started with --privileged --cgroupns=host"
)
#: Where the knobs write.
GROUPS = "/sys/fs/cgroup"
PATHS = ("/proc/irq", "/proc/sys", "/sys", "/sys/fs/cgroup", "/sys/fs/resctrl")


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is missing to write a file, and what would change that."""

    missing: str
    fix: str


def fix(*, is_inner: bool, is_root: bool) -> str:
    """What would give more rights: root of a user namespace, or of a container, has all it can."""
    return ON_HOST if is_inner or is_root else AS_ROOT


def refusal(tree: Tree, path: str) -> Refusal | None:
    """What keeps `path` from being written; None: nothing does, or it is not there.

    Of a fake only its mounts are looked at: its files are the tester's own.
    """
    if not tree.exists(path):
        return None
    if mount := read_only(tree, path):
        return Refusal(
            f"write access to {path} ({mount} is mounted read-only)",
            f"{ON_HOST}; or, if that is allowed, mount -o remount,rw {mount}",
        )
    if not tree.is_live or os.access(path, os.W_OK, effective_ids=True):
        return None
    if os.geteuid() == 0:
        why = "root is of a user namespace here, or lacks rights"
        return Refusal(f"write access to {path} ({why})", ON_HOST)
    return Refusal(f"write access to {path}", AS_ROOT)


def read_only(tree: Tree, path: str) -> str:
    """The mount that keeps `path` from being written; "" if it is none."""
    mount = mounts.innermost(tables.mounts(tree.text("/proc/self/mountinfo")), path)
    if mount is not None and "ro" in mount.options | mount.whole:
        return mount.point
    return _asked(tree, path, mount.point if mount else "")


def occupied(tree: Tree, group: str) -> Refusal | None:
    """What keeps a control group of version 2 from having limited ones below; None: nothing does.

    Only the root of all may hold processes beside them. What a container has as its root is none:
    the kernel has a file `cgroup.type` there.
    """
    if not tree.exists(f"{group}/cgroup.type") or not tree.text(f"{group}/cgroup.procs"):
        return None
    inner = f"{group}/init"
    return Refusal(
        f"a control group that can hand controllers on ({group} holds processes itself)",
        f"first move these into a group below it: mkdir {inner}; "
        f"xargs -rn1 <{group}/cgroup.procs >{inner}/cgroup.procs; "
        "or start the container with --cgroupns=host",
    )


def closed(tree: Tree) -> tuple[str, ...]:
    """Which of `PATHS` are there and on a mount that is read-only, ascending.

    Control groups of version 1 are mounts of their own below a folder that says nothing of them.
    """
    results = {path for path in PATHS if tree.exists(path) and read_only(tree, path)}
    groups = _mounts_of_groups(tree)
    if groups and all(read_only(tree, mount) for mount in groups):
        results.add(GROUPS)
    return tuple(sorted(results))


def _mounts_of_groups(tree: Tree) -> list[str]:
    every = tables.mounts(tree.text("/proc/self/mountinfo"))
    return [mount.point for mount in every if mount.kind in {"cgroup", "cgroup2"}]


def _asked(tree: Tree, path: str, mount: str) -> str:
    """What the kernel says of the file system itself, where it is the machine's."""
    if not tree.is_live:
        return ""
    try:
        flags = os.statvfs(path).f_flag
    except OSError:
        return ""
    return (mount or path) if flags & os.ST_RDONLY else ""
