"""For tests of knobs: a book in memory, and made-up kernels of which files are stored in a folder.

What a kernel of control groups version 2 or of resctrl does when its files are written is modelled
after its documentation (cgroup-v2.rst, resctrl.rst): no machine with them was at hand.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.host.tree import Tree

MOUNT = "/sys/fs/cgroup"
FILES = {
    "cpu": {"cpu.max": "max 100000", "cpu.max.burst": "0", "cpu.weight": "100", "cpu.stat": ""},
    "memory": {"memory.max": "max", "memory.current": "0", "memory.events": "oom_kill 0"},
    "io": {"io.max": ""},
    "cpuset": {"cpuset.mems": "", "cpuset.mems.effective": "0-1"},
}


class MemoryBook:
    """A book in memory: what is open in it is what would be undone."""

    def __init__(self) -> None:
        self.open: dict[int, tuple[str, Mapping[str, Any]]] = {}
        self.count = 0

    def started(self, what: str, pid: int, start_ticks: int) -> int:
        """Note a process; the entry's number."""
        return self.note("process", what=what, pid=pid, start_ticks=start_ticks)

    def note(self, kind: str, /, **facts: object) -> int:
        """Note something; the entry's number."""
        self.count += 1
        self.open[self.count] = kind, facts
        return self.count

    def undone(self, entry: int) -> None:
        """Cross it out; KeyError if it is not open."""
        del self.open[entry]


def put(root: Path, path: str, text: str) -> None:
    """Write a file of a made-up machine, with its folders."""
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n", encoding="ascii")


@dataclass
class FakeV2:
    """A kernel with control groups version 2 only, below `root`; a fake.

    Attributes:
        home: the group that every known process is in at first.
        handed: controllers that the root hands on at first.
    """

    root: Path
    pids: Collection[int]
    home: str = "/user.slice/shell.scope"
    handed: str = ""
    controllers: str = "cpuset cpu io memory"
    refuses: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Make the tree, with everybody at home."""
        put(self.root, "/proc/self/mountinfo", f"30 23 0:26 / {MOUNT} rw - cgroup2 cgroup2 rw")
        self.tree = Tree(self.root)
        self._fill(MOUNT, self.controllers)
        put(self.root, f"{MOUNT}/cgroup.subtree_control", self.handed)
        at = MOUNT
        for name in self.home.strip("/").split("/"):
            at = f"{at}/{name}"
            self._fill(at, self.handed)
        put(self.root, f"{at}/cgroup.procs", "\n".join(map(str, self.pids)))
        for pid in self.pids:
            put(self.root, f"/proc/{pid}/cgroup", f"0::{self.home}")

    def _fill(self, folder: str, controllers: str) -> None:
        put(self.root, f"{folder}/cgroup.procs", "")
        put(self.root, f"{folder}/cgroup.controllers", controllers)
        put(self.root, f"{folder}/cgroup.subtree_control", "")
        if folder != MOUNT:
            self._files(folder, controllers)

    def _files(self, folder: str, controllers: str) -> None:
        for controller in controllers.split():
            for name, text in FILES[controller].items():
                put(self.root, f"{folder}/{name}", text)

    def mkdir(self, tree: Tree, folder: str) -> None:
        """A new group has the controllers that its parent hands on."""
        tree.path(folder).mkdir()
        self._fill(folder, tree.text(f"{os.path.dirname(folder)}/cgroup.subtree_control") or "")  # noqa: PTH120

    def rmdir(self, tree: Tree, folder: str) -> None:
        """A group goes only when no one and nothing is in it."""
        path = tree.path(folder)
        if not path.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if tree.text(f"{folder}/cgroup.procs") or any(one.is_dir() for one in path.iterdir()):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        shutil.rmtree(path)

    def write(self, tree: Tree, path: str, text: str) -> None:
        """What the kernel makes of a write."""
        folder, _, name = path.rpartition("/")
        if not tree.exists(path) or name in self.refuses:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        if name == "cgroup.procs":
            self._move(tree, folder, text)
        elif name == "cgroup.subtree_control":
            self._hand_on(tree, folder, text)
        else:
            put(self.root, path, self._stored(tree, path, text))

    def _stored(self, tree: Tree, path: str, text: str) -> str:
        """The file's own form of what was written."""
        if path.endswith("io.max"):
            disk, *limits = text.split()
            every = dict(word.split("=") for word in limits)
            lines = [
                line for line in (tree.text(path) or "").splitlines() if line.split()[0] != disk
            ]
            if any(value != "max" for value in every.values()):
                lines.append(" ".join([disk, *limits, "riops=max", "wiops=max"]))
            return "\n".join(lines)
        return text

    def _move(self, tree: Tree, folder: str, pid: str) -> None:
        if tree.text(f"{folder}/cgroup.subtree_control") and folder != MOUNT:
            raise OSError(errno.EBUSY, "no process beside groups")
        for file in tree.path(MOUNT).rglob("cgroup.procs"):
            left = [one for one in file.read_text(encoding="ascii").split() if one != pid]
            file.write_text("\n".join(left), encoding="ascii")
        own = tree.path(f"{folder}/cgroup.procs")
        own.write_text("\n".join([*own.read_text(encoding="ascii").split(), pid]), encoding="ascii")
        put(self.root, f"/proc/{pid}/cgroup", f"0::{folder.removeprefix(MOUNT) or '/'}")

    def _hand_on(self, tree: Tree, folder: str, text: str) -> None:
        name, path = text[1:], f"{folder}/cgroup.subtree_control"
        handed = (tree.text(path) or "").split()
        if text[0] == "+":
            if tree.text(f"{folder}/cgroup.procs") and folder != MOUNT:
                raise OSError(errno.EBUSY, "no groups beside processes")
            put(self.root, path, " ".join(dict.fromkeys([*handed, name])))
        else:
            put(self.root, path, " ".join(one for one in handed if one != name))
        for below in (one for one in tree.path(folder).iterdir() if one.is_dir()):
            at = f"{folder}/{below.name}"
            put(self.root, f"{at}/cgroup.controllers", tree.text(path) or "")
            if text[0] == "+":
                self._files(at, name)
            else:
                for file in FILES[name]:
                    (below / file).unlink(missing_ok=True)

    def snapshot(self) -> dict[str, str]:
        """Every file of the tree, and what it says."""
        files = (path for path in self.root.rglob("*") if path.is_file())
        return {str(path): path.read_text(encoding="ascii").strip() for path in files}
