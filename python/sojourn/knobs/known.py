"""Which files of the kernel a journal may name: those that knobs set, and no others.

`restore` writes what a journal says. So a path in one must lie, after all links are followed, below
the kernel's own settings or a mounted control hierarchy, and none of the files that make the kernel
start a program is among them.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator

from sojourn.disk import tables
from sojourn.host.tree import Tree

FOLDERS = ("/proc/irq", "/proc/sys", "/sys")
MOUNTS = frozenset({"cgroup", "cgroup2", "resctrl"})
#: Below these the kernel is told which program to start, or what to load; no knob sets them.
NEVER = (
    "/proc/sys/fs/binfmt_misc",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hotplug",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/poweroff_cmd",
    "/proc/sys/kernel/usermodehelper",
    "/sys/firmware",
    "/sys/kernel/debug",
    "/sys/kernel/security",
    "/sys/kernel/tracing",
    "/sys/kernel/uevent_helper",
)


def check(path: str, tree: Tree) -> None:
    """Refuse a path that no knob sets.

    Raises:
        ValueError: it is none of the kernel's settings.
    """
    root = os.path.realpath(tree.root)
    real = os.path.realpath(tree.path(path))
    at = "/" + os.path.relpath(real, root)
    is_below = any(_lies_below(at, folder) for folder in (*FOLDERS, *_mounts(tree)))
    is_plain = path.startswith("/") and ".." not in path.split("/")
    if not is_plain or not is_below or any(_lies_below(at, one) for one in NEVER):
        raise ValueError(f"{path} is not a setting of the kernel that the lab changes")


def _lies_below(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/") and folder.rstrip("/") != ""


def _mounts(tree: Tree) -> Iterator[str]:
    """Where hierarchies of control groups and resctrl are mounted."""
    every = tables.mounts(tree.text("/proc/self/mountinfo"))
    yield from (mount.point for mount in every if mount.kind in MOUNTS)
