"""Files of /proc as bytes, read with as few steps as can be: a sampler reads dozens each second."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TypeAlias

from sojourn.host.tree import Tree
from sojourn.host.usage.recorded import Recorded

_BYTES = 65536


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a machine; `prefix` is "" or the folder of a fake one."""

    prefix: str

    def read(self, path: str) -> bytes:
        """Contents; empty if it cannot be read: what it told of has ended, or is not there."""
        try:
            number = os.open(self.prefix + path, os.O_RDONLY)
        except OSError:
            return b""
        try:
            text = part = os.read(number, _BYTES)
            while len(part) == _BYTES:
                part = os.read(number, _BYTES)
                text += part
        except OSError:  # a process that ends just now
            return b""
        finally:
            os.close(number)
        return text

    def names(self, path: str) -> list[str]:
        """Names in a folder, in no order; none if it cannot be read."""
        try:
            return os.listdir(self.prefix + path)  # noqa: PTH208 - names alone, and quickly
        except OSError:
            return []

    def fields(self, path: str) -> list[bytes]:
        """The fields of a `stat` after the name, which may hold blanks and brackets (proc(5))."""
        return self.read(path).rpartition(b")")[2].split()


Source: TypeAlias = Files | Recorded


def of(tree: Tree | Recorded) -> Source:
    """The files of a tree; those of a record are its own."""
    if isinstance(tree, Recorded):
        return tree
    return Files("" if tree.is_live else str(tree.root))


def after(text: bytes, name: bytes) -> int | None:
    r"""The number after a name and a colon, as in `status` and `io`.

    >>> after(b"rchar: 12\nread_bytes: 4096\n", b"\nread_bytes:")
    4096
    """
    parts = text.partition(name)[2].split(None, 1)
    return int(parts[0]) if parts and parts[0].isdigit() else None
