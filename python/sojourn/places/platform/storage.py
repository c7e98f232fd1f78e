"""The storage node of a guest's disk: a namespace with a block server.

enter: folder below /var/tmp, namespace and link are noted and made, the server starts
disk:  an image of the working folder is written and put there; QEMU reads and writes it
leave: the server is ended, namespace, link and folder are removed
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from sojourn import disk
from sojourn.places import network, remains
from sojourn.places.guest.qemu import Disk
from sojourn.places.ledger import Book, Made, Undone
from sojourn.places.network import Link
from sojourn.places.platform import image
from sojourn.places.platform.daemons import Daemons, files
from sojourn.places.platform.switch import Switch
from sojourn.places.users import User

ENTRY = "storage"  # kind of entry in the book
ROOT = Path("/var/tmp")  # noqa: S108  # on a disk, as a node's would be; made for the lab alone
INNER = "eth0"


class Storage(ABC):
    """One storage node, for one life of a service."""

    name: ClassVar[str]

    def __init__(self, name: str, node: Link, address: str, book: Book) -> None:
        """Of the virtual machine of this name; nothing is made yet.

        Args:
            name: of the virtual machine.
            node: its link's end at the switch.
            address: of its other end.
            book: where all is noted.
        """
        self._made = Made(book)
        self._folder, self._node, self._address = ROOT / name, node, address
        self._netns = network.RUN / node.name
        self._daemons = Daemons(f"storage node ({self.name})", self._folder, book, self._netns)
        self._count = 0

    @property
    def link(self) -> str:
        """Its link's end at the switch, over which all goes that is read or written."""
        return self._node.name

    def enter(self, switch: Switch, inner: Link) -> None:
        """Make folder and namespace, and start the server.

        Raises:
            HostFault, RunFault, OSError: it cannot be; what was made is left to `leave`.
        """
        made, path = self._made, self._netns
        folder = {"name": self._folder.name}
        remove = partial(disk.tree.remove, self._folder)
        with files(self._daemons.what, self._folder):
            made.step(ENTRY, folder, partial(self._folder.mkdir, mode=0o700), remove)
        make, unmake = partial(network.make, path), partial(network.remove, path)
        made.step("netns", {"name": path.name}, make, unmake)
        facts = {"name": self._node.name, "mac": self._node.mac}
        pair = partial(network.add_pair, self._node, inner, path)
        made.step("link", facts, pair, partial(network.delete, self._node))
        switch.join(self._node)
        network.inside(path, partial(network.bring_up, "lo"))
        network.inside(path, partial(network.bring_up, inner.name, self._address))
        self._serve()

    def disk(self, folder: Path, user: User | None, cpus: Sequence[int]) -> Disk:
        """A new disk with a copy of a folder.

        Args:
            folder: what is to be on it.
            user: who owns its root.
            cpus: of the service, which the server keeps off.
        """
        self._count += 1
        at = self._folder / f"disk{self._count}.raw"
        with files(self._daemons.what, at):
            size = image.write(at, folder, user, self._daemons)
        words = self._put(at, f"disk{self._count}")
        self._daemons.keep_off(cpus)
        return Disk(words=words, bytes=size)

    def leave(self) -> None:
        """End the server and remove all; what cannot be is left to `restore`."""
        self._daemons.stop()
        self._made.unmake()

    @abstractmethod
    def _serve(self) -> None:
        """Start what must run before there is a disk."""

    @abstractmethod
    def _put(self, at: Path, name: str) -> str:
        """Serve an image under a name; QEMU's words for it."""

    @property
    @abstractmethod
    def note(self) -> str:
        """What it is, for people."""


def undo(facts: Mapping[str, Any]) -> Undone | None:
    """Remove the folder of a storage node that a lab noted, if it is there."""
    name = str(facts["name"])
    path = ROOT / name
    if not re.fullmatch(remains.NAME, name) or path.is_symlink() or not path.is_dir():
        return None
    what = f"storage node's files {path}"
    try:
        disk.tree.remove(path)
    except OSError as error:
        return Undone(what=what, how=f"cannot be removed: {error.strerror}", is_done=False)
    return Undone(what=what, how="removed", is_done=True)
