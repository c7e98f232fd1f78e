"""A process and all that came of it, look by look."""

from __future__ import annotations

from sojourn.places import proc


class Kin:
    """The family of a process at each look.

    A look reads only processes that are new since the last one, because each read costs the CPUs
    that are being judged. So who was in the family stays in it, also when its parent has ended. A
    number that is given to another process between two looks goes unseen.
    """

    def __init__(self, first: int) -> None:
        self._first = first
        self._seen: frozenset[int] = frozenset()
        self._members: frozenset[int] = frozenset()

    def __call__(self) -> tuple[int, ...]:
        """Numbers of those who live, in order; () if there is none."""
        living = frozenset(proc.pids())
        parents = {pid: one.parent for pid in living - self._seen if (one := proc.stat(pid))}
        members = self._members | {self._first}
        while fresh := {pid for pid, parent in parents.items() if parent in members} - members:
            members |= fresh
        self._seen, self._members = living, members & living
        return tuple(sorted(self._members))
