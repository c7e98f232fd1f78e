"""Limits that do not bite: a group uses more of something than it was allowed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from sojourn.controllers.look import Look
from sojourn.manage.groups import Managed

BITES_S = 2.0  # how long a limit may be exceeded before it does not bite
BITES_OVER, BITES_MORE = 1.25, 0.05  # CPU use above quota · BITES_OVER + BITES_MORE
IO_MORE = 1e6  # the same of bytes/s


class Bites:
    """Since when each group uses more than a limit of it allows."""

    def __init__(self) -> None:
        """No group was seen yet above a limit."""
        self._since_s: dict[tuple[str, str], float] = {}

    def only(self, names: Collection[str]) -> None:
        """Groups that are gone have exceeded nothing: one of such a name is another."""
        self._since_s = {key: at for key, at in self._since_s.items() if key[0] in names}

    def exceeded(self, one: Managed, look: Look) -> str:
        """Why a limit does not bite; "": they do, or that is not sure yet."""
        known = dict(_over(one, look))
        for what in ("quota", "io", "frozen", *one.actuators):
            if what not in known:
                self._since_s.pop((one.name, what), None)
            elif look.t_s - self._since_s.setdefault((one.name, what), look.t_s) >= BITES_S:
                return known[what]
        return ""


def _over(one: Managed, look: Look) -> Iterator[tuple[str, str]]:
    """Limits that are exceeded now, and by how much."""
    allowed, group = one.allocation, look.groups[one.name]
    use, moved = group.signal("cpu"), group.signal("io")
    lasts = f"for {BITES_S:g} s"
    quota = math.inf if one.quota_in_force is None else one.quota_in_force
    both = math.inf if allowed.io is None else 2 * allowed.io  # reading and writing each
    if use is not None and use > quota * BITES_OVER + BITES_MORE:
        yield "quota", f"it used {use:.2f} CPUs {lasts} where {quota:.2f} are allowed"
    if use is not None and allowed.frozen and use > BITES_MORE:
        yield "frozen", f"it used {use:.2f} CPUs {lasts} while it was to be stopped"
    if moved is not None and moved > both * BITES_OVER + IO_MORE:
        yield "io", f"it moved {moved / 1e6:.3g} MB/s {lasts} where {both / 1e6:.3g} are allowed"
    for knob, actuator in one.actuators.items():
        if why := actuator.over(look.t_s):
            yield knob, f"{why}, {lasts}"
