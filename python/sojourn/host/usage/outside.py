"""What a guest moves, counted at its tap and at its storage node's link.

Nothing in the guest is asked. What this machine sends into the tap arrives in the guest, so the two
ways change places. What it sends to the storage node is written. Headers of the protocol and
acknowledgements of the other way are counted as well.
"""

from __future__ import annotations

from dataclasses import dataclass

Bytes = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """Links of this machine by which a guest is reached.

    Attributes:
        tap: of its network card.
        storage: of the node that serves its disk; "": its files are in its memory.
    """

    tap: str
    storage: str = ""


def as_guest(counted: Bytes) -> Bytes:
    """(bytes received, packets received, bytes sent, packets sent) of the guest, by its tap's.

    >>> as_guest((1, 2, 3, 4))
    (3, 4, 1, 2)
    """
    received, packets_received, sent, packets_sent = counted
    return sent, packets_sent, received, packets_received


def as_disk(counted: Bytes) -> tuple[int, int]:
    """(bytes read, bytes written) of a disk, by the link of its node.

    >>> as_disk((1, 2, 3, 4))
    (1, 3)
    """
    received, _, sent, _ = counted
    return received, sent
