"""Totals that the kernel has of a group: pressure, disk and network bytes.

Each is None where it cannot be read, or where a line is not as the kernel writes it.
"""

from __future__ import annotations

from functools import lru_cache

from sojourn.host import reading
from sojourn.host.tree import Tree

US = 1e-6
COUNTED = "blkio.throttle.io_service_bytes"
NET_WORDS = 16  # numbers behind a link's name: 8 of what it received, 8 of what it sent
RECEIVED, SENT = 0, 8  # bytes, among these
WAYS = {b"Read", b"Write"}


def pressure_s(tree: Tree, folder: str, what: str) -> float | None:
    """How long some task of a group has waited for it, s; `what` is cpu, io or memory."""
    return some_s(reading.whole(tree, f"{folder}/{what}.pressure"))


def some_s(text: bytes | None) -> float | None:
    """The total of a pressure file's line "some", s.

    >>> some_s(b"some avg10=0.00 total=2500000"), some_s(b"some total=x"), some_s(b"full total=1")
    (2.5, None, None)
    """
    for line in (text or b"").split(b"\n"):
        if line.startswith(b"some "):
            total_us = reading.count(line.rpartition(b"total=")[2])
            return None if total_us is None else total_us * US
    return None


def disk_bytes(tree: Tree, folder: str, version: int, disk: str) -> int | None:
    """Bytes that a group has read and written.

    Version 1 counts what passes its limit: reads, and writes past the page cache. A device that
    lies on others (dm, md) is left out, because its bytes are counted again below it.

    Args:
        tree: of the machine.
        folder: of the group.
        version: of control groups.
        disk: the only one that counts, "MAJOR:MINOR"; "": all of them.
    """
    if version == 2:
        text = reading.whole(tree, f"{folder}/io.stat")
        return None if text is None else _summed(tree, text, disk)
    name = f"{folder}/{COUNTED}"
    text = reading.whole(tree, f"{name}_recursive")
    text = reading.whole(tree, name) if text is None else text
    return None if text is None else _summed_v1(tree, text, disk)


def _summed(tree: Tree, text: bytes, disk: str) -> int | None:
    """Of io.stat. A disk without a count yet has a line of its number alone."""
    total = 0
    for device, words in _lines(text):
        if not words or not _counts(tree, device, disk):
            continue
        counts = dict(word.partition(b"=")[::2] for word in words)
        moved = [reading.count(counts.get(way, b"")) for way in (b"rbytes", b"wbytes")]
        if None in moved:
            return None
        total += sum(one for one in moved if one is not None)
    return total


def _summed_v1(tree: Tree, text: bytes, disk: str) -> int | None:
    """Of lines such as "8:0 Read 4096"; the last one, "Total 4096", has two words."""
    total = 0
    for device, words in _lines(text):
        if len(words) != 2 or words[0] not in WAYS or not _counts(tree, device, disk):
            continue
        count = reading.count(words[1])
        if count is None:
            return None
        total += count
    return total


def _lines(text: bytes) -> list[tuple[str, list[bytes]]]:
    lines = [line.split() for line in text.split(b"\n") if line.strip()]
    return [(words[0].decode("ascii", "replace"), words[1:]) for words in lines]


def _counts(tree: Tree, device: str, disk: str) -> bool:
    """Whether this device's bytes count."""
    return device == disk if disk else _is_lowest(tree, device)


@lru_cache(256)
def _is_lowest(tree: Tree, device: str) -> bool:
    """Whether a device lies on no other."""
    return not tree.names(f"/sys/dev/block/{device}/slaves")


def network_bytes(tree: Tree, pid: int) -> int | None:
    """Bytes that all links of a process's network namespace have received and sent, but loopback.

    None too where there is no link but loopback.
    """
    text = reading.whole(tree, f"/proc/{pid}/net/dev")
    links = [line.rpartition(b":") for line in (text or b"").split(b"\n")[2:] if line.strip()]
    moved: list[int] = []
    for name, _, rest in links:
        counts = [reading.count(word) for word in rest.split()]
        if len(counts) != NET_WORDS or None in counts:
            return None
        if name.strip() != b"lo":
            moved.append((counts[RECEIVED] or 0) + (counts[SENT] or 0))
    return sum(moved) if moved else None
