"""A manager's life: find groups, take them, look and decide, put everything back.

It fails safe. Where it is paused, loses its windows, meets a knob that does not do what it was set
to, or its controller fails, the best-effort groups get their safe caps. After a pause, or when
windows come again, it goes on from the caps with an empty memory. A fault ends it, the caps stay,
and `sojourn restore` or the next start undoes them. A signal ends it in order: all is put back.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from sojourn import disk
from sojourn.controllers.look import (
    CRITICAL,
    LOOKS_MAX,
    Change,
    Decision,
    Group,
    History,
    Look,
    Signal,
)
from sojourn.controllers.named import rule
from sojourn.controllers.posterior import CONSTANTS, probability
from sojourn.controllers.rule import OfKind, Rule
from sojourn.errors import Fault, HostFault, RunFault
from sojourn.host.tree import Tree
from sojourn.manage.audit import Audit
from sojourn.manage.config import Config
from sojourn.manage.groups import Managed
from sojourn.manage.guard import Guard
from sojourn.manage.signals import Signals
from sojourn.manage.source import Source
from sojourn.places.ledger import Book

MACHINE = Tree()
BITES_S = 2.0  # how long a quota may be exceeded before it does not bite
BITES_OVER, BITES_MORE = 1.25, 0.05  # CPU use above quota · BITES_OVER + BITES_MORE
GONE = "gone"
ASKED_S, BEATS = 0.5, 10  # between two heartbeats: at most, and at least so many in `paused_s`


@dataclass(slots=True)
class Manager:
    """One manager; `run` is its life.

    Attributes:
        book: where changes are noted; None: nothing is changed (a dry run).
        audit: the log of its decisions.
        groups: that are there.
    """

    config: Config
    audit: Audit
    book: Book | None
    tree: Tree = MACHINE
    groups: dict[str, Managed] = field(default_factory=dict)
    _guard: Guard | None = None
    _source: Source | None = None
    _record: IO[bytes] | None = None
    _began_s: float = 0.0
    _capped: str = ""
    _ask_s: float = 0.0
    _over_s: dict[str, float] = field(default_factory=dict)

    def run(self, rounds: Callable[[], Iterator[None]] | None = None) -> None:
        """Manage until a signal comes, `rounds` ends, or something fails.

        Raises:
            HostFault: a group, a window source or what the controller needs is not there.
            RunFault: something failed; best-effort groups have their safe caps.
        """
        with ExitStack() as stack:
            ready = self._prepared(stack)
            if self.book is None:
                self._rounds(ready, Signals(self.tree), rounds)
                return
            self._take()
            try:
                self._rounds(ready, Signals(self.tree), rounds)
            except Fault as fault:
                self._fail_safe(fault.what)
                if self._guard is not None:
                    self._guard.leave()
                raise
            except KeyboardInterrupt:
                self._end()
                raise
            self._end()

    def once(self) -> tuple[Look, Decision]:
        """One look, after two readings, and what would be decided; nothing is changed."""
        with ExitStack() as stack:
            ready, signals = self._prepared(stack), Signals(self.tree)
            self._look(signals)
            time.sleep(max(0.2, self.config.every_ms / 1000))
            look = self._look(signals)
            return look, ready.decide(History(looks=(look,), constants=ready.constants))

    def _prepared(self, stack: ExitStack) -> Rule:
        """Find everything, and refuse what is missing, before anything is changed."""
        self._began_s = time.monotonic()
        cpus = tuple(sorted(os.sched_getaffinity(0)))
        for name, spec in self.config.groups.items():
            self.groups[name] = Managed(name, spec, cpus, self.tree)
            self.groups[name].find()
        if self.config.windows.file:
            self._source = Source(Path(self.config.windows.file), self.config.service())
            self._source.open()
            stack.callback(self._source.close)
        ready = rule(self.config.controller, self.config.constants)
        if isinstance(ready, OfKind):
            ready.kind.check(self._present())
        if self.config.record:
            path = Path(self.config.record)
            try:
                self._record = stack.enter_context(disk.append(path))
            except OSError as error:
                raise disk.disk_fault(error, path) from None
        return stack.enter_context(ready)

    def _present(self) -> set[str]:
        """What controllers may need and is here."""
        best_effort = [one.can() for one in self.groups.values() if one.is_best_effort]
        services = [one for one in self.groups.values() if not one.is_best_effort]
        present = {"cpu"} | set.intersection(*best_effort)
        if self._source is not None:
            present.add("tail")
            if all(one.spec.peak_rps for one in services):
                present.add("load")
        if self.tree.exists(f"/proc/{os.getpid()}/schedstat"):
            present.add("runq_delay")
        if all(one.cpu is not None for one in services):
            present.add("throttled")
        if any(one.spec.traits for one in self.groups.values()):
            present.add("traits")
        return present

    def _take(self) -> None:
        """Take the groups, and start the warden; what was taken is given back if one is refused."""
        assert self.book is not None  # noqa: S101  # the caller asked
        with ExitStack() as undo:
            for group in self.groups.values():
                undo.callback(group.restore)
                group.take(self.book)
                group.note_cap()
            caps = [step for one in self.groups.values() for step in one.safe_cap()]
            self._guard = Guard(caps, self.config.paused_s)
            undo.pop_all()
        names = {name: one.allocation.model_dump() for name, one in self.groups.items()}
        self.audit.say("start", controller=self.config.controller, groups=names)

    def _end(self) -> None:
        """In order: the warden ends first, so that it does not cap what is put back."""
        if self._guard is not None:
            self._guard.end()
        stuck = [why for one in self.groups.values() for why in one.restore()]
        self.audit.say("end", stuck=stuck)
        if stuck:
            raise RunFault(
                f"not everything could be put back: {stuck[0]}",
                at="manage",
                fix="run `sojourn restore` as root",
            )

    def _rounds(
        self, ready: Rule, signals: Signals, rounds: Callable[[], Iterator[None]] | None
    ) -> None:
        looks: deque[Look] = deque(maxlen=LOOKS_MAX)
        memory: Mapping[str, Any] = {}
        self._check_alone(signals)
        for _ in rounds() if rounds else self._paced():
            look = self._look(signals)
            self._write(look)
            if trouble := self._trouble(look):
                self._fail_safe(trouble)
                looks.clear()
                memory = {}
                continue
            if self._capped:
                self.audit.say("resume", after=self._capped)
                self._capped = ""
            looks.append(look)
            decision = ready.decide(
                History(looks=tuple(looks), memory=memory, constants=ready.constants)
            )
            memory = decision.memory
            for change in decision.changes:
                self._change(change, look)

    def _paced(self) -> Iterator[None]:
        """One round each period; a round that came late is not made up for."""
        period_s = self.config.every_ms / 1000
        due = time.monotonic()
        while True:
            yield
            due = max(due + period_s, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))

    def _look(self, signals: Signals) -> Look:
        """What is seen now; a group that vanished is left out from now on."""
        now_s = time.monotonic()
        for name in [name for name, one in self.groups.items() if not one.is_there]:
            self.audit.say(GONE, group=name)
            del self.groups[name]
        for role, is_best_effort in (("best-effort", True), ("latency-critical", False)):
            if not any(one.is_best_effort == is_best_effort for one in self.groups.values()):
                raise RunFault(
                    f"no {role} group is left", at="manage", fix="start it, then the manager again"
                )
        if self._source is not None:
            self._source.read(now_s)
        groups = {name: self._group(one, signals, now_s) for name, one in self.groups.items()}
        return Look(
            t_s=round(now_s - self._began_s, 4),
            cpus=len(next(iter(self.groups.values())).cpus),
            groups=groups,
            signals=signals.of_host(now_s),
        )

    def _group(self, one: Managed, signals: Signals, now_s: float) -> Group:
        found = signals.of_group(one, now_s)
        windows = self._source.windows(one.name, now_s) if self._source else ()
        if windows and one.spec.peak_rps:
            rate = windows[0].n / windows[0].length_ms * 1000
            found["load"] = Signal(value=rate / one.spec.peak_rps, age_ms=windows[0].age_ms)
        return Group(
            role=one.spec.role,
            target_ns=one.spec.target_ns or None,
            windows=windows,
            signals=found,
            allocation=one.allocation,
            traits=one.spec.traits,
        )

    def _trouble(self, look: Look) -> str:
        """Why best-effort groups must have their safe caps now; "": nothing is wrong.

        The warden and the knobs are asked a few times a second, because each costs a reading.
        """
        is_due = look.t_s >= self._ask_s
        if is_due:
            self._ask_s = look.t_s + min(ASKED_S, self.config.paused_s / BEATS)
        if self._guard is not None and is_due:
            state = self._guard.beat()
            if state == GONE:
                raise RunFault(
                    "the manager's warden has ended", at="manage", fix="start the manager again"
                )
            if state:
                return f"the manager was paused for more than {self.config.paused_s:g} s"
        if self._source is not None:
            newest = self._source.newest_s
            age_s = time.monotonic() - (self._began_s if newest is None else newest)
            if age_s > self.config.silent_s:
                return f"no window came for {self.config.silent_s:g} s"
        if self.book is None or not is_due:
            return ""
        for name, one in self.groups.items():
            if why := one.lies() or self._exceeded(one, look):
                raise RunFault(
                    f"a knob of {name} is not in force: {why}",
                    at=f"groups.{name}",
                    fix="see who else sets it; the manager does not go on beside another one",
                )
        return ""

    def _exceeded(self, one: Managed, look: Look) -> str:
        """Why its quota does not bite; "": it does, or that is not sure yet."""
        quota, use = one.allocation.quota, look.groups[one.name].signal("cpu")
        if quota is None or use is None or use <= quota * BITES_OVER + BITES_MORE:
            self._over_s.pop(one.name, None)
            return ""
        since = self._over_s.setdefault(one.name, look.t_s)
        if look.t_s - since < BITES_S:
            return ""
        return f"it used {use:.2f} CPUs for {BITES_S:g} s where {quota:.2f} are allowed"

    def _fail_safe(self, why: str) -> None:
        """Safe caps for all best-effort groups; said once."""
        if self.book is not None:
            refused = {name: one.cap() for name, one in self.groups.items()}
        else:
            refused = {}
        if self._capped != why:
            self.audit.say(
                "capped", reason=why, refused={name: no for name, no in refused.items() if no}
            )
        self._capped = why

    def _change(self, change: Change, look: Look) -> None:
        group = self.groups.get(change.group)
        if group is None:
            raise RunFault(
                f"the controller wants to change {change.group}, which it was not given",
                at=f"controller {self.config.controller}",
                fix=f"it was given {', '.join(self.groups)}",
            )
        before = getattr(group.allocation, change.knob)
        service = next(iter(look.critical.values()))
        window = service.windows[0].model_dump() if service.windows else None
        why = "" if self.book is None else group.apply(change.knob, change.level)
        self.audit.say(
            "change" if self.book is not None else "recommend",
            group=change.group,
            knob=change.knob,
            before=before,
            after=change.level,
            reason=change.reason,
            window=window,
            in_force=None if self.book is None else not why,
        )
        if why:
            raise RunFault(
                f"{change.group} cannot be given {change.knob} {change.level}: {why}",
                at=f"groups.{change.group}",
                fix="see `sojourn doctor`, and docs/howto/manage.md",
            )

    def _check_alone(self, signals: Signals) -> None:
        """Whether each service meets its target while best-effort groups have their safe caps.

        Raises:
            HostFault: one does not, so no manager can make it.
        """
        if not self.config.check_s or self.book is None or self._source is None:
            return
        self._fail_safe("the services are measured without best-effort work first")
        until, look = time.monotonic() + self.config.check_s, None
        for _ in self._paced():
            look = self._look(signals)
            if self._guard is not None:
                self._guard.beat()
            if time.monotonic() >= until:
                break
        assert look is not None  # noqa: S101  # there was one round
        for name, group in look.of(CRITICAL).items():
            if why := _misses(group):
                raise HostFault(
                    f"{name} misses its target although best-effort groups are capped: {why}",
                    at=f"groups.{name}.target",
                    fix="raise the target, or give the service more",
                )

    def _write(self, look: Look) -> None:
        if self._record is not None:
            self._record.write(look.model_dump_json().encode() + b"\n")
            self._record.flush()


def _misses(group: Group) -> str:
    """Why a service certainly misses its target; "": it does not, or that is not known."""
    for window in group.windows:
        chance = probability(window, CONSTANTS["late"])
        if chance is not None and 1 - chance <= CONSTANTS["fine"]:
            return f"{window.above} of {window.n} requests were late"
        is_above = window.lo_ns is not None and window.lo_ns > (group.target_ns or 0)
        if window.above is None and is_above:
            return f"its p99 is above {(window.lo_ns or 0) / 1e6:.3g} ms"
    return ""


def explained(look: Look, decision: Decision) -> str:
    """A look and a decision as JSON, for people and programs."""
    changes = [asdict(change) for change in decision.changes]
    return json.dumps({"look": look.model_dump(), "changes": changes}, indent=2, ensure_ascii=False)
