"""What the scheduler counts of a thread, in the kernel's `schedstat`."""

from __future__ import annotations

from typing import NamedTuple


class Schedstat(NamedTuple):
    """What the scheduler has counted of a thread since it began.

    Attributes:
        ran_ns: time on a CPU.
        waited_ns: time in a run queue.
        turns: how often it was given a CPU.
    """

    ran_ns: int
    waited_ns: int
    turns: int


def parse(text: str | bytes | None) -> Schedstat | None:
    """The numbers; None where the thread has gone, or the kernel does not count.

    >>> parse("5 7 2"), parse(b"5 7 2").waited_ns, parse(""), parse(None), parse("a b c")
    (Schedstat(ran_ns=5, waited_ns=7, turns=2), 7, None, None, None)
    """
    try:
        ran, waited, turns = map(int, (text or "").split())
    except ValueError:
        return None
    return Schedstat(ran, waited, turns)


def path(pid: int | str, tid: int | str) -> str:
    """Name of the file of one thread."""
    return f"/proc/{pid}/task/{tid}/schedstat"
