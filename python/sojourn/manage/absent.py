"""Groups that vanished, and that somebody may make anew under the same name.

A container or unit that restarts has the path that it had before. Whoever makes the group sets its
limits then, so it is left alone for a second, and until a process is in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sojourn.manage.groups import Managed

BACK_S = 1.0


class Absent:
    """Those that are waited for."""

    def __init__(self) -> None:
        """No group has vanished yet."""
        self._ones: dict[str, Managed] = {}
        self._since_s: dict[str, float] = {}

    @property
    def groups(self) -> Mapping[str, Managed]:
        """By name; a process by its number never comes back."""
        return self._ones

    def add(self, one: Managed) -> None:
        """It has just vanished; what was taken of it is free for others."""
        one.lose()
        if not one.spec.pid:
            self._ones[one.name] = one

    def wait(self, name: str) -> None:
        """It could not be managed again, so it is tried later."""
        self._since_s.pop(name, None)

    def remove(self, name: str) -> None:
        """It is managed again, so it is not waited for."""
        del self._ones[name], self._since_s[name]

    def back(self, now_s: float) -> Iterator[Managed]:
        """Those that are there again for a second or more, with a process; each call says so anew.

        Args:
            now_s: by any clock that does not jump.
        """
        for name, one in [*self._ones.items()]:
            if not one.is_made_anew:
                self._since_s.pop(name, None)
            elif now_s - self._since_s.setdefault(name, now_s) >= BACK_S:
                yield one
