"""A storage node that serves images by NBD: one qemu-nbd for each disk."""

from __future__ import annotations

import socket
from pathlib import Path

from sojourn import programs
from sojourn.places.place import PlaceOption
from sojourn.places.platform.storage import Storage

NBD = "qemu-nbd"
PORT = 10_809  # the one that is registered for NBD
READY_S_MAX = 20.0


class Nbd(Storage):
    """A storage node of which each disk is one file."""

    name = "nbd"

    def _serve(self) -> None:
        """Nothing: there is a server for each disk."""

    def _put(self, at: Path, name: str) -> str:
        port = PORT + self._count
        where = ("-b", self._address, "-p", str(port), "-x", name)
        server = programs.find(NBD, fix="apt install qemu-utils")
        self._daemons.start(name, [server, "-f", "raw", "-t", *where, at])
        self._daemons.wait(lambda: answers(self._address, port), READY_S_MAX)
        host = f"server.type=inet,server.host={self._address},server.port={port}"
        return f"driver=nbd,{host},export={name}"

    @property
    def note(self) -> str:
        """What it is, for people."""
        return f"a file behind {NBD} in a network namespace of its own, ext4"


def answers(address: str, port: int) -> bool:
    """Whether somebody takes connections there."""
    try:
        with socket.create_connection((address, port), timeout=1.0):
            return True
    except OSError:
        return False


OPTION = PlaceOption(
    name=Nbd.name,
    part="disk",
    about="the working folder is on a storage node, by NBD",
    label="disk by NBD",
    programs={NBD: "qemu-utils", "mke2fs": "e2fsprogs"},
)
