"""What a manager sees of its groups, as a look."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from sojourn.controllers.look import (
    BEST_EFFORT,
    CRITICAL,
    LONGER,
    Group,
    Look,
    Window,
)
from sojourn.controllers.made import made, signal
from sojourn.controllers.rule import OfKind, Rule
from sojourn.errors import RunFault
from sojourn.manage.absent import Absent
from sojourn.manage.audit import Audit
from sojourn.manage.feed import Feed
from sojourn.manage.groups import Managed
from sojourn.manage.leading import Leading
from sojourn.manage.signals import Signals
from sojourn.run.signals import deaf

GONE = "gone"
LOAD_MS = 1000  # of the window that the signal `load` is of


def of_load(windows: Sequence[Window]) -> Window:
    """The longest of about a second at most, as in the simulation; else the newest.

    100 ms have a few hundred requests, and their count scatters by more than a rule's dead band.
    """
    fit = [one for one in windows if one.length_ms <= LONGER * LOAD_MS]
    return max(fit, key=lambda one: one.length_ms, default=windows[0])


@dataclass(slots=True)
class Watch:
    """Looks at groups.

    Attributes:
        groups: that are there, by name; one that vanished is taken out, and that is reported.
        absent: that vanished; one that was made anew is put in again.
        has_returned: whether one was, at the last look.
        is_each: whether a foreign program may decide on a look, now or in a replay. Our own rules
            need no queue of sockets, so it is read less often for these, and says its age.
        has_p99: whether somebody may read the p99 of windows that are sums of others.
    """

    groups: dict[str, Managed]
    signals: Signals
    audit: Audit
    absent: Absent = field(default_factory=Absent)
    began_s: float = field(default_factory=time.monotonic)
    has_returned: bool = False
    is_each: bool = True
    has_p99: bool = True
    _leading: Leading = field(init=False)
    _names: tuple[str, ...] = ()
    _cpus: int = 0
    _refused: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._leading = Leading(self.signals.tree)
        self._names = tuple(self.groups)
        self._cpus = len(next(iter(self.groups.values())).cpus)

    def serve(self, rule: Rule, *, is_recorded: bool) -> None:
        """Read what this rule may need, or whoever reads a record."""
        kind = rule.kind if isinstance(rule, OfKind) else None
        self.is_each = is_recorded or kind is None
        self.has_p99 = is_recorded or kind is None or kind.reads_p99

    def look(self, source: Feed | None) -> Look:
        """What is seen now; RunFault where a role has no group any more, and none can come back."""
        now_s = time.monotonic()
        self._leading.is_each = self.is_each
        for name in [name for name, one in self.groups.items() if not one.is_there]:
            self.audit.say(GONE, group=name)
            self._leading.forget(name)
            self.signals.forget(name)
            with deaf():
                self.absent.add(self.groups.pop(name))
        self.has_returned = self._take_again(now_s)
        for role in (BEST_EFFORT, CRITICAL):
            every = (*self.groups.values(), *self.absent.groups.values())
            if not any(one.spec.role == role for one in every):
                raise RunFault(
                    f"no {role} group is left", at="manage", fix="start it, then the manager again"
                )
        if source is not None:
            source.read(now_s)
        groups = {name: self._group(one, source, now_s) for name, one in self.groups.items()}
        return made(
            Look,
            t_s=round(now_s - self.began_s, 4),
            cpus=self._cpus,
            groups=groups,
            signals=self.signals.of_host(now_s),
        )

    def _take_again(self, now_s: float) -> bool:
        """Manage groups that are back; whether there was one. One that is refused is reported."""
        is_back = False
        for one in self.absent.back(now_s):
            with deaf():  # who is stopped in between has it neither as absent nor as there
                if not (why := one.take_again()):
                    self.absent.remove(one.name)
                    self.groups[one.name] = one
            if why:
                if self._refused.get(one.name) != why:
                    self.audit.say("back refused", group=one.name, what=why)
                self._refused[one.name] = why
                self.absent.wait(one.name)
                continue
            self._refused.pop(one.name, None)
            self.audit.say("back", group=one.name)
            is_back = True
        if is_back:  # in the order of the configuration
            every = {name: self.groups[name] for name in self._names if name in self.groups}
            self.groups.clear()
            self.groups.update(every)
        return is_back

    def _group(self, one: Managed, source: Feed | None, now_s: float) -> Group:
        windows = source.windows(one.name, now_s, has_p99=self.has_p99) if source else ()
        is_quiet = bool(windows) and not windows[0].n
        leading, missing = self._leading.of_group(one, now_s, is_quiet=is_quiet)
        signals = {**self.signals.of_group(one, now_s), **leading}
        if windows and one.spec.peak_rps:
            window = of_load(windows)
            rate = window.n / window.length_ms * 1000
            signals["load"] = signal(rate / one.spec.peak_rps, window.age_ms)
        return made(
            Group,
            role=one.spec.role,
            target_ns=one.spec.target_ns or None,
            windows=windows,
            signals=signals,
            missing=missing,
            allocation=one.allocation,
            traits=one.spec.traits,
        )
