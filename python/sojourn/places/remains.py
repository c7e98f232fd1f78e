"""What is left of a container: its processes, groups, mounts and files, all found by its name.

The name was drawn by lot and noted before anything bore it, so what bears it is certainly the
lab's, and whatever a runtime left when it was killed is found without it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import disk
from sojourn.places import cgroups, network, proc, process
from sojourn.places.ledger import Undone

TAG_BYTES = 5
NAME = r"sojourn-[0-9a-f]{10}"  # `restore` removes nothing of another form
RUN = Path("/run")
GONE_S_MAX = 8.0


def name() -> str:
    """A name that nothing on this machine bears."""
    return f"sojourn-{secrets.token_hex(TAG_BYTES)}"


def folder(of: str) -> Path:
    """Of a container, for its runtime."""
    return RUN / of


@dataclass(frozen=True, slots=True)
class Remains:
    """A container that was noted.

    Attributes:
        name: of it; those of the programs in it begin with the same.
        program: its runtime.
        traces: folders in which the runtime leaves files of its own, with the name or with the
            number (inode) of a root folder.
        shared: folders that it makes for all its containers, which were not there before,
            innermost first.
    """

    name: str
    program: str
    traces: tuple[Path, ...] = ()
    shared: tuple[Path, ...] = ()

    @property
    def facts(self) -> Mapping[str, object]:
        """What is noted of it, so that `undo` finds it."""
        traces, shared = ([str(path) for path in paths] for paths in (self.traces, self.shared))
        return {"name": self.name, "program": self.program, "traces": traces, "shared": shared}

    @property
    def are_there(self) -> bool:
        """Whether anything is left of it."""
        groups = cgroups.named(self.name)
        return bool(folder(self.name).exists() or groups or any(self._members()) or self._files())

    def clear(self) -> None:
        """Kill what runs in it or for it, remove groups, mounts and files; OSError if refused."""
        end = time.monotonic() + GONE_S_MAX
        while stats := tuple(self._members()):
            if not proc.end(stats, within_s=max(0.0, end - time.monotonic())):
                raise OSError(errno.EBUSY, "its processes cannot be killed")
        if not cgroups.remove(self.name):
            raise OSError(errno.EBUSY, "its control groups are in use")
        for point in network.mount_points(folder(self.name)):
            network.unmount(point)
        for path in self._files():
            if path.is_dir() and not path.is_symlink():
                disk.tree.remove(path)
            else:
                path.unlink(missing_ok=True)
        self._leave_shared()
        if folder(self.name).exists():  # the last, so that an interrupted `clear` is done again
            disk.tree.remove(folder(self.name))

    def _leave_shared(self) -> None:
        """Remove what it has made for all its containers, where nothing and no one else uses it."""
        everybody = (proc.stat(pid) for pid in (proc.pids() if self.shared else ()))
        if any(one is not None and one.name == self.program for one in everybody):
            return
        for path in self.shared:
            with contextlib.suppress(OSError):  # another container's files are there
                path.rmdir()

    def _files(self) -> list[Path]:
        roots = (root.stat() for root in folder(self.name).glob("*/root"))
        locks = [f"inode-{root.st_dev}:{root.st_ino}" for root in roots]
        patterns = (f"*{self.name}*", *locks)
        return [path for at in self.traces for one in patterns for path in at.glob(one)]

    def _members(self) -> Iterator[proc.Stat]:
        """Processes in its groups; before there are any, wardens and runtimes told its name."""
        wanted = cgroups.pids(self.name)
        for pid in proc.pids():
            if pid != os.getpid() and (pid in wanted or self._is_addressed(pid)):
                member = proc.stat(pid)
                if member is not None and member.state != "Z":
                    yield member

    def _is_addressed(self, pid: int) -> bool:
        """Whether it is a warden or the runtime, by its program, and was told the folder."""
        try:
            words = Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace").split("\0")
            is_labs = Path(f"/proc/{pid}").stat().st_uid == os.geteuid()
        except OSError:
            return False
        heads = {Path(word).name for word in words[:4]}
        is_one = bool(heads & {process.WARDEN.name, self.program})
        return is_labs and is_one and any(str(folder(self.name)) in word for word in words)


def undo(facts: Mapping[str, Any]) -> Undone | None:
    """Remove a container that a lab noted, if there is anything of it."""
    name, program = str(facts["name"]), str(facts["program"])
    traces, shared = (tuple(map(Path, facts.get(key, ()))) for key in ("traces", "shared"))
    left = Remains(name, program, traces, shared)
    if not re.fullmatch(NAME, name):
        return None
    if any(RUN not in path.parents or ".." in path.parts for path in (*traces, *shared)):
        raise ValueError(f"no runtime of containers has its files in {(*traces, *shared)}")
    if not left.are_there:
        return None
    what = f"container {name}"
    try:
        left.clear()
    except OSError as error:
        return Undone(what=what, how=f"cannot be removed: {error.strerror}", is_done=False)
    return Undone(what=what, how="removed", is_done=True)
