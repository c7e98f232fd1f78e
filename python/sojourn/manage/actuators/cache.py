"""Cache ways and memory bandwidth of a best-effort group (resctrl).

`ways` are so many, from the lowest on; services may fill all of them. `bandwidth` is a percentage
of memory bandwidth (Intel MBA, Arm MPAM). AMD and resctrl mounted with mba_MBps count in bytes/s,
which is not moved. Both share a resource group of the lab's own, which all threads of the group
enter, those that come later as well. The effect of `ways` is what the kernel counts as occupied.
Bandwidth is only read back, because a percentage is no rate. No machine with resctrl was at hand:
it is tested on a made-up tree.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sojourn.controllers.look import Level
from sojourn.knobs import Asked, Lack, llc_ways, memory_bandwidth, resctrl
from sojourn.knobs.groups import PREFIX
from sojourn.knobs.llc_ways import OCCUPIED, SLACK, LlcWays
from sojourn.knobs.memory_bandwidth import MemoryBandwidth
from sojourn.knobs.resctrl import MOUNT, Resource
from sojourn.manage.actuators.actuator import READ, Actuator, Member

READINGS = 5  # of a line, before it counts as changed by somebody else
GROWTH = 1.02  # of what is occupied from look to look: what is left from before only shrinks


class OfWays(LlcWays):
    """Cache ways, read back only."""

    def _probed(self, folder: str) -> Any:
        del folder
        return READ


class OfBandwidth(MemoryBandwidth):
    """Memory bandwidth, read back only."""

    def _probed(self, folder: str) -> Any:
        del folder
        return READ


class Shared(Actuator):
    """One line of the schemata of a group's resource group."""

    resource: ClassVar[type[Resource]]

    def __init__(self, member: Member) -> None:
        super().__init__(member)
        self._resource = self.resource(member.on)

    def _foreign(self) -> Lack | None:
        """A resource group of somebody else, who has put its threads there."""
        tree, tids = self.member.on.tree, {str(task.tid) for task in self.member.on.tasks()}
        for name in tree.names(MOUNT):
            inside = {*(tree.text(f"{MOUNT}/{name}/tasks") or "").split()}
            if not name.startswith(PREFIX) and inside & tids:
                fix = f"take its threads out of {MOUNT}/{name}"
                return Lack(missing="threads that no other resource group has", fix=fix)
        return None

    def differs(self) -> str:
        """Where its line does not read back; threads that came since are put in first.

        It is read again where it differs, because a thread may come between the two.
        """
        for _ in range(READINGS):
            resctrl.join(self.member.on, self._resource.name)
            result = self._resource.verify()
            if result.holds is not False:
                return ""
        return result.why

    @property
    def folder(self) -> str:
        """Of its resource group; "": there is none."""
        return str(self.member.on.shared.get(resctrl.ENTRY, {}).get("folder", ""))

    def take_off(self) -> str:
        """Write the line as it was; the last one leaves the resource group, which is removed."""
        folder = self.folder
        self._resource.restore()
        is_left = folder and not self.folder and self.member.on.tree.exists(folder)
        return f"the resource group {folder} cannot be removed" if is_left else ""


class Ways(Shared):
    """Cache ways that a group may fill."""

    knob = "ways"
    resource = OfWays

    def __init__(self, member: Member) -> None:
        super().__init__(member)
        self._occupied = 0

    def lack(self) -> Lack | None:
        """Control of the cache, in this CPU and by the group alone."""
        tree = self.member.on.tree
        return resctrl.lacking(Asked(level="", tree=tree), llc_ways.resource(tree)) or (
            self._foreign()
        )

    def check(self, level: Level) -> None:
        """ValueError where the cache has fewer, or gives no group so few."""
        llc_ways.mask(self.member.on.tree, str(level))

    def put(self, level: Level) -> None:
        """So many ways, the lowest."""
        self._resource.apply(str(level))
        self._occupied = 0

    def over(self, t_s: float) -> str:
        """Whether the group holds more of the cache than its ways, and still takes more."""
        del t_s
        tree = self.member.on.tree
        now = resctrl.counted(tree, self.folder, OCCUPIED) if self.folder else None
        if self.level is None or now is None:
            return ""
        before, self._occupied = self._occupied, now
        if not before or now < before * GROWTH:
            return ""
        caches = sum(one.startswith("mon_L3_") for one in tree.names(f"{self.folder}/mon_data"))
        size = caches * llc_ways.cache_bytes(tree, llc_ways.probed(tree)[0])
        share = size * int(self.level) / max(1, llc_ways.whole(tree).bit_count())
        if not share or now <= share * SLACK:
            return ""
        return f"it holds {now >> 20} MiB of the cache where {round(share) >> 20} are allowed"


class Bandwidth(Shared):
    """Memory bandwidth that a group may use, %."""

    knob = "bandwidth"
    resource = OfBandwidth

    def lack(self) -> Lack | None:
        """Control of bandwidth, in percent."""
        asked = Asked(level="100%", tree=self.member.on.tree)
        return memory_bandwidth.lacks(asked) or self._foreign()

    def put(self, level: Level) -> None:
        """So many percent of memory bandwidth."""
        self._resource.apply(f"{level}%")
