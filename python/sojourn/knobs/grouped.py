"""A nice value for a service that is in a control group of its own: the weight of the group.

Tasks of other groups do not feel what order a thread has within its group. So what a nice value is
to a thread is given to the group as well, as it is to a session where the kernel groups by those.
"""

from __future__ import annotations

from sojourn.knobs import groups, settings
from sojourn.knobs.groups import Group
from sojourn.knobs.knob import Turned
from sojourn.knobs.settings import TEXT, Setting

USER = "groups"  # who holds a service's group for the sake of its own grouping
OTHERS = {"cpu_weight", "cpu_idle"}  # knobs that give the group a weight themselves
USUAL, STEP = 1024, 1.25  # of version 1, and of a nice value (kernel/sched/core.c)


def weight(on: Turned, nice: int) -> Setting | None:
    """The file of the group's weight and what it is to say; None: the service has no such group."""
    hierarchy = groups.find(on.tree, "cpu")
    held = on.shared.get(hierarchy.mount) if hierarchy else None
    if not isinstance(held, Group) or USER not in held.users or held.users & OTHERS:
        return None
    name = "cpu.weight.nice" if held.version == 2 else "cpu.shares"
    new = str(nice) if held.version == 2 else str(round(USUAL / STEP**nice))
    path = f"{held.folder}/{name}"
    asked = Setting(kind=TEXT, what=f"control group of {on.label}", path=path, old="", new=new)
    now = settings.read(asked, on.tree)
    if now is None or now == new:
        return None
    return Setting(kind=TEXT, what=asked.what, path=path, old=now, new=new)
