"""Small files of the kernel, whole or not at all, for frequent readers.

Opened by number and without a path object, one read takes a third of what `Tree.text` takes.
"""

from __future__ import annotations

import os
from contextlib import suppress

from sojourn.host.tree import Tree

PART_BYTES = 1 << 16
MOST_BYTES = 1 << 16  # of a file, unless another bound is named


def whole(tree: Tree, path: str, most: int = MOST_BYTES) -> bytes | None:
    """All bytes of a file; None: it cannot be read, or has more than `most`.

    Args:
        tree: of the machine.
        path: as on the machine.
        most: bytes.
    """
    parts, size = [], 0
    try:
        handle = os.open(tree.name(path), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        while part := os.read(handle, PART_BYTES):  # the kernel hands over a page at a time
            parts.append(part)
            size += len(part)
            if size > most:
                return None
    except OSError:
        return None
    finally:
        os.close(handle)
    return b"".join(parts)


def number(tree: Tree, path: str) -> int | None:
    """A file that is one whole number of at least 0; None: it is anything else."""
    return count(whole(tree, path) or b"")


def count(word: bytes) -> int | None:
    r"""A word that is a whole number of at least 0 and below 2^64; None: it is anything else.

    >>> count(b" 12\n"), count(b"-1"), count(b"Unavailable"), count(b"1_0"), count(b"9" * 30)
    (12, None, None, None, None)
    """
    word = word.strip()
    return int(word) if word.isdigit() and len(word) <= 20 and int(word) < 1 << 64 else None


def inode(tree: Tree, path: str) -> int | None:
    """The inode of a file; None: there is none, or it is hidden."""
    with suppress(OSError):
        return os.stat(tree.name(path)).st_ino  # noqa: PTH116  # at each look
    return None
