"""Quotas that do not bite: a group uses more CPU time than its quota allows."""

from __future__ import annotations

from sojourn.controllers.look import Look
from sojourn.manage.groups import Managed

BITES_S = 2.0  # how long a quota may be exceeded before it does not bite
BITES_OVER, BITES_MORE = 1.25, 0.05  # CPU use above quota · BITES_OVER + BITES_MORE


class Bites:
    """Since when each group uses more than its quota."""

    def __init__(self) -> None:
        """No group was seen yet above its quota."""
        self._since_s: dict[str, float] = {}

    def exceeded(self, one: Managed, look: Look) -> str:
        """Why its quota does not bite; "": it does, or that is not sure yet."""
        quota, use = one.allocation.quota, look.groups[one.name].signal("cpu")
        if quota is None or use is None or use <= quota * BITES_OVER + BITES_MORE:
            self._since_s.pop(one.name, None)
            return ""
        since_s = self._since_s.setdefault(one.name, look.t_s)
        if look.t_s - since_s < BITES_S:
            return ""
        return f"it used {use:.2f} CPUs for {BITES_S:g} s where {quota:.2f} are allowed"
