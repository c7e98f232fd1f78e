"""What a manager sees of its groups, as a look."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from sojourn.controllers.look import BEST_EFFORT, CRITICAL, Group, Look, Signal
from sojourn.errors import RunFault
from sojourn.manage.audit import Audit
from sojourn.manage.feed import Feed
from sojourn.manage.groups import Managed
from sojourn.manage.signals import Signals

GONE = "gone"


@dataclass(slots=True)
class Watch:
    """Looks at groups.

    Attributes:
        groups: that are there, by name; one that vanished is taken out, and that is reported.
    """

    groups: dict[str, Managed]
    signals: Signals
    audit: Audit
    began_s: float = field(default_factory=time.monotonic)

    def look(self, source: Feed | None) -> Look:
        """What is seen now; RunFault where a role has no group any more."""
        now_s = time.monotonic()
        for name in [name for name, one in self.groups.items() if not one.is_there]:
            self.audit.say(GONE, group=name)
            self.groups.pop(name).restore()  # a group that was made for its process is removed
        for role in (BEST_EFFORT, CRITICAL):
            if not any(one.spec.role == role for one in self.groups.values()):
                raise RunFault(
                    f"no {role} group is left", at="manage", fix="start it, then the manager again"
                )
        if source is not None:
            source.read(now_s)
        groups = {name: self._group(one, source, now_s) for name, one in self.groups.items()}
        return Look(
            t_s=round(now_s - self.began_s, 4),
            cpus=len(next(iter(self.groups.values())).cpus),
            groups=groups,
            signals=self.signals.of_host(now_s),
        )

    def _group(self, one: Managed, source: Feed | None, now_s: float) -> Group:
        signals = self.signals.of_group(one, now_s)
        windows = source.windows(one.name, now_s) if source else ()
        if windows and one.spec.peak_rps:
            rate = windows[0].n / windows[0].length_ms * 1000
            signals["load"] = Signal(value=rate / one.spec.peak_rps, age_ms=windows[0].age_ms)
        return Group(
            role=one.spec.role,
            target_ns=one.spec.target_ns or None,
            windows=windows,
            signals=signals,
            allocation=one.allocation,
            traits=one.spec.traits,
        )
