"""What of a group changes seldom, and where its leading signals are read.

A port is the service's where one of its processes has a socket open that listens on it. To know
that takes the right to read /proc/PID/fd. Where it is missing, and the network namespace is neither
the manager's nor the machine's, all that listens there counts as the service's.

A namespace is known by the inode of /proc/PID/net/dev, which is another one in each. Unlike the
link /proc/PID/ns/net, anybody may look at it.
"""

from __future__ import annotations

import os
import posixpath
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from sojourn.host import reading, sockets
from sojourn.host.sockets import LISTEN, PORTS_MAX, Diag, Queue
from sojourn.host.tree import Tree
from sojourn.knobs import groups as knob_groups
from sojourn.manage import accounts, monitors
from sojourn.manage.groups import Managed

FILES_MAX = 4096  # open files of one process that are looked at: it listens before it is connected
PIDS_MAX = 64  # processes by which a network namespace is known
WITHIN_S = 0.05  # of CPU time, for all open files: reading /proc never waits
SOCKET = "socket:["
QUEUES = ("accept_queue", "receive_queue_bytes")
PRESSURES = ("psi_cpu", "psi_io", "psi_memory")
NO_PORT = "it listens on no TCP port"
NO_PROCESS = "none of its processes is there"
HID = "its processes are hidden"
MONITORED = ("memory_bandwidth", "cache_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Of one group.

    Attributes:
        pid: a process in its network namespace; 0: it has none, or several namespaces.
        namespace: inode by which its network namespace is known; 0: not known.
        at: sockets are read in the namespace of this process; 0: in the manager's own.
        ports: on which it listens.
        others: inodes of sockets of others that listen on these ports.
        pressure: its folder of version 2; "": it has none.
        disk: its folder with the account of disks; "": it has none.
        version: of that folder.
        monitor: its folder below /sys/fs/resctrl; "": nothing counts its cache.
        missing: why a signal is not known, by its name.
    """

    pid: int = 0
    namespace: int = 0
    at: int = 0
    ports: frozenset[int] = frozenset()
    others: frozenset[int] = frozenset()
    pressure: str = ""
    disk: str = ""
    version: int = 2
    monitor: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)


def of(group: Managed, tree: Tree, diag: Diag | None) -> Facts:
    """Look at a group; what is missing is named.

    Args:
        group: that is there.
        tree: of the machine.
        diag: lists sockets of the manager's own network namespace; None: nothing does.
    """
    missing: dict[str, str] = {}
    pids = group.pids()
    pid, namespace, why = _namespace(tree, pids)
    is_here = namespace == reading.inode(tree, links("self"))
    first = reading.inode(tree, links(1))
    is_own = bool(pid) and not is_here and first not in {namespace, None}
    if not is_own:
        missing["network"] = why or "its network namespace is the machine's or the manager's"
    ports, others = frozenset[int](), frozenset[int]()
    at = 0 if is_here and diag else pid
    if not group.is_best_effort:
        if pid:
            queues = sockets.of_process(tree, at) if at or not diag else diag.queues(LISTEN, ())
            ports, others, why = _listening(tree, queues, pids, is_own=is_own)
        missing |= dict.fromkeys(QUEUES, why) if why else {}
    pressure = next((one.folder for one in _folders(group) if one.version == 2), "")
    if not pressure:
        missing |= dict.fromkeys(PRESSURES, "it has no control group of version 2")
    disk, version = _disk(group, tree)
    if not disk:
        missing["disk"] = "no controller counts its bytes (io, blkio)"
    monitor, why = monitors.find(tree, pids)
    missing |= dict.fromkeys(MONITORED, why) if why else {}
    return Facts(
        pid=pid,
        namespace=namespace,
        at=at,
        ports=ports,
        others=others,
        pressure=pressure,
        disk=disk,
        version=version,
        monitor=monitor,
        missing=missing,
    )


def links(pid: int | str) -> str:
    """The file with a process's links: its inode is another one in each network namespace."""
    return f"/proc/{pid}/net/dev"


def _namespace(tree: Tree, pids: Iterable[int]) -> tuple[int, int, str]:
    """A process, the inode that its network namespace is known by, and why there is none."""
    inodes = {reading.inode(tree, links(pid)): pid for pid in islice(pids, PIDS_MAX)}
    known = {inode: pid for inode, pid in inodes.items() if inode is not None}
    if not known:
        have_ended = all(_has_ended(tree, pid) for pid in inodes.values())
        return 0, 0, NO_PROCESS if have_ended else HID
    if len(known) != 1:
        return 0, 0, "its processes are in several network namespaces"
    ((namespace, pid),) = known.items()
    return pid, namespace, ""


def _has_ended(tree: Tree, pid: int) -> bool:
    """Whether there is no such process; one that /proc hides is there."""
    if not tree.is_live:
        return not tree.exists(f"/proc/{pid}")
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    return False


def _listening(
    tree: Tree, queues: list[Queue] | None, pids: Iterable[int], *, is_own: bool
) -> tuple[frozenset[int], frozenset[int], str]:
    """Ports of a service, inodes of others that listen on them, and why there are none."""
    if queues is None:
        return frozenset(), frozenset(), "the kernel does not list its sockets"
    listening = [one for one in queues if one.state == LISTEN]
    inodes, why = _inodes(tree, pids)
    if inodes is None and not is_own:
        return frozenset(), frozenset(), why
    own = [one for one in listening if inodes is None or one.inode in inodes]
    ports = frozenset(one.port for one in own)
    if not 0 < len(ports) <= PORTS_MAX:
        why = f"it listens on more than {PORTS_MAX} ports" if ports else NO_PORT
        return frozenset(), frozenset(), why
    own_inodes = {one.inode for one in own}
    others = (one.inode for one in listening if one.port in ports and one.inode not in own_inodes)
    return ports, frozenset(others), ""


def _inodes(tree: Tree, pids: Iterable[int]) -> tuple[set[int] | None, str]:
    """Sockets that these processes have open; None, and why: they cannot be looked through."""
    inodes: set[int] = set()
    until_s = time.thread_time() + WITHIN_S
    for pid in pids:
        if time.thread_time() > until_s:
            return None, "it has too many open files to look through"
        try:
            with os.scandir(tree.path(f"/proc/{pid}/fd")) as entries:
                for entry in islice(entries, FILES_MAX):
                    inodes |= _inode(entry.path)
        except PermissionError:
            return None, "its open files are hidden: run as its user, or as root with all rights"
        except OSError:  # it has ended
            continue
    return inodes, ""


def _inode(path: str) -> set[int]:
    """The socket that an open file is; PermissionError where the kernel hides it."""
    try:
        target = str(Path(path).readlink())
    except PermissionError:
        raise
    except OSError:  # it was closed
        return set()
    number = target.removeprefix(SOCKET).removesuffix("]")
    return {int(number)} if target.startswith(SOCKET) and number.isdecimal() else set()


def _folders(group: Managed) -> tuple[knob_groups.Group, ...]:
    """Its folders, that of the controller cpu first."""
    return tuple(one for one in (group.cpu, group.cpuset, *group.others.values()) if one)


def _disk(group: Managed, tree: Tree) -> tuple[str, int]:
    """The folder that counts its bytes, with its version; "": none does."""
    if group.spec.pid:  # in a group of the lab's own, which may have the controller
        at = group.cpu.folder if group.cpu is not None and group.cpu.version == 2 else ""
        return (at, 2) if at and tree.exists(f"{at}/io.stat") else ("", 2)
    for controller in ("blkio", "io"):
        if one := knob_groups.find(tree, controller):
            folder = posixpath.join(one.mount, group.spec.cgroup.lstrip("/"))
            name = "io.stat" if one.version == 2 else accounts.COUNTED
            if tree.exists(f"{folder}/{name}"):
                return folder, one.version
    return "", 2
