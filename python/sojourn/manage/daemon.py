"""A manager's life: find groups, take them, look and decide, put everything back.

It fails safe. Where it is paused, loses its windows, meets a knob that does not do what it was set
to, or its controller fails, services have again what they had, and best-effort groups get their
safe caps. After a pause, or when windows come again, it goes on from there with an empty memory. A
fault ends it, the caps stay, and `sojourn restore` or the next start undoes them. A signal ends it
in order: all is put back.
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
from sojourn.controllers.look import CRITICAL, LOOKS_MAX, Change, Decision, History, Look
from sojourn.errors import BUG, Fault, HostFault, RunFault
from sojourn.host.tree import Tree, cpu_list
from sojourn.manage import alone, checks, reload
from sojourn.manage.audit import Audit
from sojourn.manage.bites import Bites
from sojourn.manage.config import Config
from sojourn.manage.groups import Managed
from sojourn.manage.guard import Guard
from sojourn.manage.metrics import Metrics
from sojourn.manage.parts import Parts, opened
from sojourn.manage.rounds import Rounds
from sojourn.manage.signals import Signals
from sojourn.manage.watch import GONE, Watch
from sojourn.places.ledger import Book

MACHINE = Tree()
ASKED_S, BEATS = 0.5, 10  # between two heartbeats: at most, and at least so many in `paused_s`


@dataclass(slots=True)
class Manager:
    """One manager; `run` is its life.

    Attributes:
        book: where changes are noted; None: nothing is changed (a dry run).
        audit: the log of its decisions.
        groups: that are there.
        metrics: what is shown to Prometheus; None: there is no listener.
        fresh: reads the configuration again; None: it cannot be reloaded.
    """

    config: Config
    audit: Audit
    book: Book | None
    tree: Tree = MACHINE
    groups: dict[str, Managed] = field(default_factory=dict)
    metrics: Metrics | None = None
    fresh: Callable[[], Config] | None = None
    _guard: Guard | None = None
    _parts: Parts | None = None
    _is_reload_asked: bool = False
    _record: IO[bytes] | None = None
    _capped: str = ""
    _ask_s: float = 0.0
    _rounds_seen: Rounds = field(default_factory=Rounds)
    _bites: Bites = field(default_factory=Bites)

    def run(self, rounds: Callable[[], Iterator[None]] | None = None) -> None:
        """Manage until a signal comes, `rounds` ends, or something fails.

        Raises:
            HostFault: a group, a window source or what the controller needs is not there.
            RunFault: something failed; best-effort groups have their safe caps.
        """
        with ExitStack() as stack:
            watch = self._prepare(stack)
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
            self._end()
            if refused is not None:
                raise refused

    def ask_reload(self) -> None:
        """Read the configuration again before the next look; for a signal's handler."""
        self._is_reload_asked = True

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
        cpus = cpu_list(self.config.cpus) or tuple(sorted(os.sched_getaffinity(0)))
        for name, spec in self.config.groups.items():
            self.groups[name] = Managed(name, spec, cpus, self.tree)
            self.groups[name].find()
        self._parts = opened(self.config, self.groups)
        stack.callback(self._close)
        if self.config.record:
            path = Path(self.config.record)
            try:
                self._record = stack.enter_context(disk.append(path))
            except OSError as error:
                raise disk.disk_fault(error, path) from None
        return Watch(self.groups, Signals(self.tree), self.audit)

    def _close(self) -> None:
        self._ready.stack.close()  # of the newest parts: a reload may have opened others

    def _take(self) -> None:
        """Take the groups, and start the warden; what was taken is given back if one is refused."""
        assert self.book is not None  # noqa: S101  # the caller asked
        with ExitStack() as undo:
            for group in self.groups.values():
                undo.callback(group.restore)
                group.take(self.book)
                group.note_cap()
            self._guard = self._warden()
            undo.pop_all()
        names = {name: one.allocation.model_dump() for name, one in self.groups.items()}
        self.audit.say("start", controller=self.config.controller, groups=names)

    def _end(self) -> None:
        """In order: the warden ends first, so that it does not cap what is put back."""
        if self._guard is not None:
            self._guard.end()
        self._note_round()
        stuck = [why for one in self.groups.values() for why in one.restore()]
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
        for _ in rounds() if rounds else self._paced():
            self._note_round()
            if self._is_reload_asked and self._reload():
                looks.clear()
                memory = {}
            look = watch.look(self._ready.source)
            self._write(look)
            trouble = self._trouble(look)
            self._show(look, is_capped=bool(trouble))
            if trouble:
                self._fail_safe(trouble)
                looks.clear()
                memory = {}
                continue
            if self._capped:
                self.audit.say("resume", after=self._capped)
                self._capped = ""
            looks.append(look)
            ready = self._ready.rule
            decision = ready.decide(
                History(looks=tuple(looks), memory=memory, constants=ready.constants)
            )
            memory = decision.memory
            for change in decision.changes:
                self._change(change, look)

    def _note_round(self) -> None:
        after_s = self._rounds_seen.late_s(time.monotonic(), self.config.every_ms / 1000)
        if after_s:
            self.audit.say("late", after_s=round(after_s, 3))

    def _show(self, look: Look, *, is_capped: bool) -> None:
        if self.metrics is not None:
            self.metrics.look, self.metrics.is_capped = look, is_capped
            self.metrics.looks += 1
            self.metrics.bad = self._ready.source.bad if self._ready.source else 0

    def _reload(self) -> bool:
        """Go on by the configuration as it is now; one that is wrong leaves the old in force."""
        self._is_reload_asked = False
        try:
            new = self.config if self.fresh is None else self.fresh()
            reload.check(self.config, new)
            parts = opened(new, self.groups)
        except Fault as fault:
            self.audit.say("reload refused", what=fault.what, at=fault.at, fix=fault.fix)
            return False
        self._ready.stack.close()
        self.config, self._parts = new, parts
        for name, one in self.groups.items():
            one.spec = new.groups[name]
            if self.book is not None:
                one.note_cap()
        if self._guard is not None:
            old, self._guard = self._guard, self._warden()
            old.end()
        self.audit.say("reloaded", controller=new.controller)
        return True

    def _warden(self) -> Guard:
        caps = [step for one in self.groups.values() for step in one.safe_cap()]
        return Guard(caps, self.config.paused_s)

    def _paced(self) -> Iterator[None]:
        """One round each period; a round that came late is not made up for."""
        due = time.monotonic()
        while True:
            yield
            due = max(due + self.config.every_ms / 1000, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))

    def _trouble(self, look: Look) -> str:
        """Why best-effort groups must have their safe caps now; "": nothing is wrong.

        The warden and the knobs are asked a few times a second, because each costs a reading.
        """
        is_due = look.t_s >= self._ask_s
        if is_due:
            self._ask_s = look.t_s + min(ASKED_S, self.config.paused_s / BEATS)
        if is_due and (paused := self._heard()):
            return paused
        if (source := self._ready.source) is not None:
            newest = source.newest_s
            age_s = time.monotonic() - (self._ready.since_s if newest is None else newest)
            if age_s > self.config.silent_s:
                return f"no window came for {self.config.silent_s:g} s"
        if self.book is None or not is_due:
            return ""
        for name, one in self.groups.items():
            if why := one.lies() or self._bites.exceeded(one, look):
                if paused := self._heard():  # since it was asked, and the caps are the warden's
                    return paused
                raise RunFault(
                    f"a knob of {name} is not in force: {why}",
                    at=f"groups.{name}",
                    fix="see who else sets it; the manager does not go on beside another one",
                )
        return ""

    def _heard(self) -> str:
        """Why the warden had to set the caps; "": it had not. RunFault if it has ended."""
        state = self._guard.beat() if self._guard is not None else ""
        if state == GONE:
            raise RunFault(
                "the manager's warden has ended", at="manage", fix="start the manager again"
            )
        return f"the manager was paused for more than {self.config.paused_s:g} s" if state else ""

    def _fail_safe(self, why: str) -> None:
        """Services have what they had, best-effort groups their safe caps; reported once."""
        refused: dict[str, str] = {}
        if self.book is not None:
            refused = {name: one.put_back() for name, one in self.groups.items()}
            refused |= {name: one.cap() for name, one in self.groups.items() if one.is_best_effort}
        if self._capped != why:
            self.audit.say(
                "capped", reason=why, refused={name: no for name, no in refused.items() if no}
            )
        self._capped = why

    def _change(self, change: Change, look: Look) -> None:
        group = checks.check(change, self.groups, self._ready.rule)
        before = getattr(group.allocation, change.knob)
        service = next(iter(look.critical.values()))
        window = service.windows[0].model_dump() if service.windows else None
        why = "" if self.book is None else group.apply(change.knob, change.level)
        if self.metrics is not None and self.book is not None:
            self.metrics.changes[change.group, change.knob] += 1
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
            raise checks.refused(change.group, f"{change.knob} {change.level}", why)

    def _check_alone(self, watch: Watch) -> HostFault | None:
        """Say whether each service meets its target while best-effort groups are capped.

        A fault, not raised, where one does not: no manager can make it.
        """
        if not self.config.check_s or self._ready.source is None:
            has = "check_s is 0" if self._ready.source else "there is no window source"
            self._say_alone(f"not measured, because {has}")
            return None
        quotas = {name: one.allocation.quota for name, one in self.groups.items()}
        self._fail_safe("the services are measured without best-effort work first")
        until, look = time.monotonic() + self.config.check_s, None
        for _ in self._paced():
            look = watch.look(self._ready.source)
            if self._guard is not None:
                self._guard.beat()
            if time.monotonic() >= until:
                break
        assert look is not None  # noqa: S101  # there was one round
        answers = {name: alone.answer(group) for name, group in look.of(CRITICAL).items()}
        self._say_alone("measured", {name: asdict(one) for name, one in answers.items()})
        for name, one in answers.items():
            if one.verdict == "no":
                return HostFault(
                    f"{name} misses its target although best-effort groups are capped: {one.why}",
                    at=f"groups.{name}.target",
                    fix="raise the target, or give the service more",
                )
        self._uncap(quotas)
        return None

    def _uncap(self, quotas: Mapping[str, float | None]) -> None:
        """Best-effort groups get the quotas back that they had before they were capped."""
        for name, one in self.groups.items():
            if one.is_best_effort and (why := one.apply("quota", quotas[name])):
                raise checks.refused(name, "its quota back", why)
        self._capped = ""

    def _say_alone(self, how: str, services: Mapping[str, Any] | None = None) -> None:
        """Whether the services alone are within their targets."""
        self.audit.say("alone", how=how, services=services or {})

    def _write(self, look: Look) -> None:
        if self._record is not None:
            self._record.write(look.model_dump_json().encode() + b"\n")
            self._record.flush()


def explained(look: Look, decision: Decision) -> str:
    """A look and a decision as JSON, for people and programs."""
    changes = [asdict(change) for change in decision.changes]
    return json.dumps({"look": look.model_dump(), "changes": changes}, indent=2, ensure_ascii=False)
