"""A manager's life: find groups, take them, look and decide, put everything back.

It fails safe. Where it is paused, loses the windows of a service, meets a knob that does not do
what it was set to, or its controller fails, services have again what they had, and best-effort
groups get their safe caps. After a pause, or when windows come again, those have the quotas again
that they had before, and it goes on with an empty memory. A fault ends it, the caps stay, and
`sojourn restore` or the next start undoes them. A signal ends it in order: all is put back.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

from sojourn.controllers.look import LOOKS_MAX, Change, Decision, History, Level, Look
from sojourn.errors import BUG, Fault, HostFault, RunFault
from sojourn.host.tree import Tree, cpu_list
from sojourn.manage import abreast, basis, checks, ending, reload
from sojourn.manage.absent import Absent
from sojourn.manage.alone import Alone
from sojourn.manage.audit import Audit
from sojourn.manage.config import Config
from sojourn.manage.groups import Managed
from sojourn.manage.metrics import Metrics
from sojourn.manage.pair import Pair
from sojourn.manage.parts import Parts, opened
from sojourn.manage.record import Record
from sojourn.manage.rounds import Rounds
from sojourn.manage.signals import Signals
from sojourn.manage.trouble import Trouble, unless_paused
from sojourn.manage.watch import Watch
from sojourn.places.ledger import Book
from sojourn.run.signals import deaf

MACHINE = Tree()


@dataclass(slots=True)
class Manager:
    """One manager; `run` is its life.

    Attributes:
        book: where changes are noted; None: nothing is changed (a dry run).
        audit: the log of its decisions.
        groups: that are there.
        metrics: what is shown to Prometheus; None: there is no listener.
        fresh: reads the configuration again; None: it cannot be reloaded.
        asked: whether it is to be read again.
    """

    config: Config
    audit: Audit
    book: Book | None
    tree: Tree = MACHINE
    groups: dict[str, Managed] = field(default_factory=dict)
    metrics: Metrics | None = None
    fresh: Callable[[], Config] | None = None
    asked: reload.Asked = field(default_factory=reload.Asked)
    _guard: Pair | None = None
    _parts: Parts | None = None
    _record: Record | None = None
    _capped: str = ""
    _rounds_seen: Rounds = field(default_factory=Rounds)
    _absent: Absent = field(default_factory=Absent)
    _recommended: dict[tuple[str, str], Level] = field(default_factory=dict)

    def run(self, rounds: Callable[[], Iterator[None]] | None = None) -> None:
        """Manage until a signal comes, `rounds` ends, or something fails.

        Raises:
            HostFault: a group, a window source or what the controller needs is not there.
            RunFault: something failed; best-effort groups have their safe caps.
        """
        with ExitStack() as stack:
            watch = self._prepare(stack)
            if self.config.record:
                self._record = Record(self.config.record, stack)
            if self.book is None:
                self._say_alone("not measured, because a dry run caps nothing")
                self._rounds(watch, rounds)
                return
            self._take()
            try:
                refused = self._check_alone(watch)
                if refused is None:
                    self._rounds(watch, rounds)
            except Exception as error:  # an error of this program leaves no service without help
                try:
                    self._fail_safe(getattr(error, "what", f"{BUG}: {error!r}"))
                finally:
                    if self._guard is not None:
                        self._guard.leave()
                raise
            except KeyboardInterrupt:
                self._end()
                raise
            with deaf():  # the first signal would leave half of it
                self._end()
            if refused is not None:
                raise refused

    def once(self) -> tuple[Look, Decision]:
        """One look, after two readings, and what would be decided; nothing is changed."""
        with ExitStack() as stack:
            watch, ready = self._prepare(stack), self._ready.rule
            watch.look(self._ready.source)
            time.sleep(max(0.2, self.config.every_ms / 1000))
            look = watch.look(self._ready.source)
            return look, ready.decide(History(looks=(look,), constants=ready.constants))

    @property
    def _ready(self) -> Parts:
        assert self._parts is not None  # noqa: S101  # every life begins with `_prepare`
        return self._parts

    def _prepare(self, stack: ExitStack) -> Watch:
        """Find everything, and refuse what is missing, before anything is changed."""
        checks.cpus(cpu_list(self.config.cpus), self.tree)
        cpus = cpu_list(self.config.cpus) or tuple(sorted(os.sched_getaffinity(0)))
        for name, spec in self.config.groups.items():
            self.groups[name] = Managed(name, spec, cpus, self.tree)
            self.groups[name].find()
        self._parts = opened(self.config, self.groups)
        stack.callback(self._close)
        return Watch(self.groups, Signals(self.tree, cpus), self.audit, self._absent)

    def _close(self) -> None:
        self._ready.stack.close()  # of the newest parts: a reload may have opened others

    def _take(self) -> None:
        """Take the groups, and start the warden; what was taken is given back if one is refused."""
        assert self.book is not None  # noqa: S101  # the caller asked
        with ExitStack() as undo:
            for group in self.groups.values():
                checks.not_itself(group)
                undo.callback(group.restore)
                group.take(self.book)
                group.note_cap()
            self._guard = self._warden()
            undo.callback(self._guard.end)  # first, so that it does not cap what is put back
            names = {name: one.allocation.model_dump() for name, one in self.groups.items()}
            self.audit.say("start", controller=self.config.controller, groups=names)
            undo.pop_all()

    def _end(self) -> None:
        """In order: the warden ends first, so that it does not cap what is put back."""
        late_s = self._late_s()
        if self._guard is not None:
            self._guard.end()
        stuck = ending.restored(self.groups.values())
        stuck += ending.abandoned(self._absent.groups.values())
        self._say_late(late_s)  # all is back by now, where the log cannot be written
        self.audit.say("end", stuck=stuck)
        if stuck:
            raise RunFault(
                f"not everything could be put back: {stuck[0]}",
                at="manage",
                fix="run `sojourn restore` as root",
            )

    def _rounds(self, watch: Watch, rounds: Callable[[], Iterator[None]] | None) -> None:
        looks: deque[Look] = deque(maxlen=LOOKS_MAX)
        memory: Mapping[str, Any] = {}
        troubles = Trouble(self.groups)
        for _ in rounds() if rounds else self._paced():
            self._say_late(self._late_s())
            if self.asked.taken() and self._reload():
                looks.clear()
                memory = {}
            watch.serve(self._ready.rule, is_recorded=self._record is not None)
            look = watch.look(self._ready.source)
            if self._record is not None:
                self._record.write(look)
            trouble = troubles.of(look, self.config, self._ready, self._guard)
            self._show(look, is_capped=bool(trouble))
            if not trouble and not self._capped and not watch.has_returned:
                looks.append(look)
                trouble, memory = self._decide(looks, memory)
            elif not trouble:
                trouble = unless_paused(self._resume, self._guard, self.config)
                looks.clear()  # it decides on a look at the levels that are in force from now on
            if trouble:
                self._cap(trouble)
                looks.clear()
            if not looks:
                memory = {}

    def _decide(
        self, looks: deque[Look], memory: Mapping[str, Any]
    ) -> tuple[str, Mapping[str, Any]]:
        """Decide on the newest look: why the caps are in force instead, and the rule's memory."""
        ready = self._ready.rule
        decision = ready.decide(
            History(looks=tuple(looks), memory=memory, constants=ready.constants)
        )

        def act() -> None:
            for change in decision.changes:
                self._change(change, looks[-1])
            abreast.put(self.groups)

        return unless_paused(act, self._guard, self.config), decision.memory

    def _late_s(self) -> float:
        """How long ago the round before this one was, if that is too long."""
        return self._rounds_seen.late_s(time.monotonic(), self.config.every_ms / 1000)

    def _say_late(self, after_s: float) -> None:
        if after_s:
            self.audit.say("late", after_s=round(after_s, 3))

    def _show(self, look: Look, *, is_capped: bool) -> None:
        if self.metrics is not None:
            self.metrics.look = look
            self.metrics.is_capped = is_capped and self.book is not None
            self.metrics.looks += 1
            self.metrics.bad = self._ready.source.bad if self._ready.source else 0

    def _reload(self) -> bool:
        """Go on by the configuration as it is now; one that is wrong leaves the old in force."""
        try:
            new = self.config if self.fresh is None else self.fresh()
            reload.check(self.config, new)
            every = {**self._absent.groups, **self.groups}
            parts = opened(new, every)
        except Fault as fault:
            self.audit.say("reload refused", what=fault.what, at=fault.at, fix=fault.fix)
            return False
        with deaf():  # a warden that is left by mistake would cap what is put back
            self._ready.stack.close()
            self.config, self._parts = new, parts
            for name, one in every.items():
                one.spec = new.groups[name]
                if self.book is not None:
                    one.note_cap()
            if self._guard is not None:
                old, self._guard = self._guard, self._warden()
                old.end()
        if self.metrics is not None:
            self.metrics.controller = new.controller
        self.audit.say("reloaded", controller=new.controller)
        return True

    def _warden(self) -> Pair:
        assert self.book is not None  # noqa: S101  # a dry run has no warden
        every = (*self.groups.values(), *self._absent.groups.values())
        caps = [step for one in every for step in one.safe_cap()]
        return Pair(caps, self.config.paused_s, self.book)

    def _paced(self) -> Iterator[None]:
        """One round each period; a round that came late is not made up for."""
        due = time.monotonic()
        while True:
            yield
            due = max(due + self.config.every_ms / 1000, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))

    def _cap(self, why: str) -> None:
        """As `_fail_safe`; RunFault where a best-effort group has no safe cap then."""
        for name, no in self._fail_safe(why).items():
            if self.groups[name].is_best_effort and self.groups[name].is_there:
                raise RunFault(
                    f"the safe cap of {name} cannot be set: {no}",
                    at=f"groups.{name}.safe_quota",
                    fix="see who else sets it, and whether a group below it has a larger quota",
                )

    def _fail_safe(self, why: str) -> dict[str, str]:
        """Services have what they had, best-effort groups their safe caps; what was refused.

        A reason is reported once.
        """
        every = {} if self.book is None else self.groups
        refused = {name: one.put_back() for name, one in every.items()}
        refused |= {name: one.cap() for name, one in every.items() if one.is_best_effort}
        refused = {name: no for name, no in refused.items() if no}
        if self._capped != why:
            source = self._ready.source.why if self._ready.source else ""
            self.audit.say("capped", reason=why, refused=refused, source=source)
        self._capped = why
        return refused

    def _resume(self) -> None:
        """Best-effort groups have the quotas again that they had before the caps, if there were."""
        for name, one in self.groups.items():
            if (why := one.uncap()) and one.is_there:
                raise checks.refused(name, "its quota back", why)
        if self._capped:
            self.audit.say("resume", after=self._capped)
        self._capped = ""

    def _change(self, change: Change, look: Look) -> None:
        group = checks.check(change, self.groups, self._ready.rule)
        before, after = getattr(group.allocation, change.knob), change.level
        if self.book is None and not self._is_new(change):
            return
        why = "" if self.book is None else group.apply(change.knob, after)
        if self.book is not None and not why:
            after = getattr(group.allocation, change.knob)
        if self.metrics is not None and self.book is not None:
            self.metrics.changes[change.group, change.knob] += 1
        self.audit.say(
            "change" if self.book is not None else "recommend",
            group=change.group,
            knob=change.knob,
            before=before,
            after=after,
            reason=change.reason,
            **basis.of(look, change.group),
            in_force=None if self.book is None else not why,
        )
        if why and group.is_there:  # else the next look takes it out
            raise checks.refused(change.group, f"{change.knob} {change.level}", why)

    def _is_new(self, change: Change) -> bool:
        """Whether a dry run has not recommended it last: nothing changes, so rules repeat it."""
        key = change.group, change.knob
        is_new = key not in self._recommended or self._recommended[key] != change.level
        self._recommended[key] = change.level
        return is_new

    def _check_alone(self, watch: Watch) -> HostFault | None:
        """Say whether each service meets its target while best-effort groups are capped.

        A fault, not raised, where one does not: no manager can make it.
        """
        if not self.config.check_s or self._ready.source is None:
            has = "check_s is 0" if self._ready.source else "there is no window source"
            self._say_alone(f"not measured, because {has}")
            return None
        why = "the services are measured without best-effort work first"
        self._cap(why)
        until, alone = time.monotonic() + self.config.check_s, Alone()
        for _ in self._paced():
            alone.add(watch.look(self._ready.source))
            if watch.has_returned:  # a group that was made anew has no cap yet
                self._cap(why)
            if self._guard is not None:
                self._guard.beat()
            if time.monotonic() >= until:
                break
        answers = alone.answers()
        self._say_alone("measured", {name: asdict(one) for name, one in answers.items()})
        for name, one in answers.items():
            if one.verdict == "no":
                return checks.MissedFault(
                    f"{name} misses its target although best-effort groups are capped: {one.why}",
                    at=f"groups.{name}.target",
                    fix="raise the target, or give the service more",
                )
        self._capped = ""  # it has not begun, so it does not resume
        if paused := unless_paused(self._resume, self._guard, self.config):
            self._cap(paused)
        return None

    def _say_alone(self, how: str, services: Mapping[str, Any] | None = None) -> None:
        """Whether the services alone are within their targets."""
        self.audit.say("alone", how=how, services=services or {})


def explained(look: Look, decision: Decision) -> str:
    """A look and a decision as JSON, for people and programs."""
    changes = [asdict(change) for change in decision.changes]
    return json.dumps({"look": look.model_dump(), "changes": changes}, indent=2, ensure_ascii=False)
