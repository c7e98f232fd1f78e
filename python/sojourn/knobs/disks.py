"""The disk that a path is on, if the kernel can limit it: "MAJOR:MINOR".

The kernel limits whole disks, not partitions. A file system in memory is on none. ZFS and overlay
number their devices themselves and name no disk. btrfs does so too, but the kernel lists its
devices: on one disk that is the one, and on several there is no one limit for all.
"""

from __future__ import annotations

import os
from pathlib import Path

from sojourn.disk import mounts, tables
from sojourn.host.tree import Tree

BTRFS = "/sys/fs/btrfs"


def disk_below(tree: Tree, path: Path) -> tuple[str, str]:
    """The whole disk that a path is on, and why there is none.

    Args:
        tree: the machine, or a fake of it.
        path: a file or folder of this machine.

    Returns:
        (disk, "") or ("", why).

    Raises:
        OSError: there is no such path.
    """
    if disk := disk_of(tree, path.stat().st_dev):
        return disk, ""
    every = tables.mounts(tree.text("/proc/self/mountinfo"))
    mount = mounts.innermost(every, str(path.resolve()))
    none = f"{mount.kind if mount else 'its file system'} names none"
    if mount is None or mount.kind != "btrfs":
        return "", none
    disks = {_whole(tree, number) for number in _of_btrfs(tree, mount.source)}
    if not disks or "" in disks:
        return "", none
    if len(disks) > 1:
        return "", f"btrfs has {len(disks)} disks here, and a limit is of one"
    return disks.pop(), ""


def disk_of(tree: Tree, device: int) -> str:
    """The whole disk that a device is or is a part of; "": it is on none."""
    return _whole(tree, f"{os.major(device)}:{os.minor(device)}")


def _whole(tree: Tree, number: str) -> str:
    at = tree.path(f"/sys/dev/block/{number}")
    if not number or not at.exists():
        return ""
    if (at / "partition").exists():
        return (at.resolve().parent / "dev").read_text(encoding="ascii").strip()
    return number


def _of_btrfs(tree: Tree, source: str) -> tuple[str, ...]:
    """Devices of the btrfs that was mounted by one of them; ("",), or (): they are not known.

    Args:
        tree: the machine, or a fake of it.
        source: the device's file. In a container it may be missing, and that of the root may be
            /dev/root; then the device is known if there is one btrfs alone.
    """
    name = tree.path(source).resolve().name
    devices = {at: tree.names(f"{BTRFS}/{at}/devices") for at in tree.names(BTRFS)}
    known = {at: names for at, names in devices.items() if names}
    own = [at for at, names in known.items() if name in names] or list(known)
    if len(own) != 1:
        return ()
    numbers = (tree.text(f"{BTRFS}/{own[0]}/devices/{one}/dev") for one in known[own[0]])
    return tuple(number or "" for number in numbers)
