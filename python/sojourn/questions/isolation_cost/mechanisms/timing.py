"""Applies mechanisms and takes their time, one application at a time, on the monotonic clock.

On a host without load: blocks of each mechanism in an order drawn by lot, each prepared, applied,
read back and put back by itself, so that no mechanism is measured on top of another. Under load:
each has a turn, in which single changes alternate with bursts; requests around the single ones show
what one change does to them, the bursts give the number of applications.

    |← WINDOW →|change|← WINDOW →|      |burst ≤ BURST|      |← WINDOW →|change| …

CPU time is that of the lab's own process, by getrusage, and that of its children apart.
"""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sojourn import knobs
from sojourn.errors import Fault
from sojourn.questions.isolation_cost.mechanisms.mechanism import (
    Mechanism,
    MechanismInputs,
    MechanismKind,
)

BLOCKS = 4
SETTLE_S = 0.1  # after a mechanism was prepared, under load
CYCLE_S = 0.25  # from one single change to the next
BURST_AT_S, BURST_S_MAX = 0.1, 0.05  # after the change
SLOW_S = 0.05  # an application that takes longer has no bursts
LAB_S_MAX = 1.0  # for the lab's own knob
LAB_SHARE = 0.05  # of the applications are made by it
LAB_LEAST = 4
JITTER = 0.2  # of a cycle, so that changes fall in with nothing periodic

Stop = Callable[[], bool]


@dataclass(slots=True)
class Timed:
    """What was taken of one mechanism.

    Attributes:
        ns: time of each application, ns, in order.
        runs: (applications, CPU time of the lab, of its children) of each row without a break, ns.
        changes: (begin, end) of each single change under load, ns of the Unix clock.
        lab_ns: the same change by the lab's knob, journal and all, ns.
        amiss: what read-backs after blocks found wrong.
        probed: times of a fixed piece of work after each block without load, ns.
    """

    kind: MechanismKind
    one: str = ""
    levels: tuple[str, str] = ("", "")
    missing: str = ""
    fix: str = ""
    failed: str = ""
    ns: list[int] = field(default_factory=list)
    runs: list[tuple[int, int, int]] = field(default_factory=list)
    changes: list[tuple[int, int]] = field(default_factory=list)
    lab_ns: list[int] = field(default_factory=list)
    amiss: list[str] = field(default_factory=list)
    checks: int = 0
    probed: list[list[int]] = field(default_factory=list)

    def as_json(self) -> Mapping[str, Any]:
        """As it is written in `isolation_cost.json`."""
        # fmt: off
        return {
            "name": self.kind.name, "about": self.kind.about, "is_restart": self.kind.is_restart,
            "one": self.one, "levels": list(self.levels),
            "missing": self.missing, "fix": self.fix, "failed": self.failed,
            "ns": self.ns, "runs": [list(run) for run in self.runs],
            "changes": [list(change) for change in self.changes], "lab_ns": self.lab_ns,
            "amiss": self.amiss, "checks": self.checks, "probed": self.probed,
        }
        # fmt: on


def apply(mechanism: Mechanism, into: Timed, first: int, count: int, stop: Stop) -> int:
    """Apply it `count` times in a row, levels in turn, unless told to stop.

    Args:
        mechanism: prepared.
        into: where times go.
        first: level that is applied first.
        count: applications at most.
        stop: asked before each.

    Returns:
        The level that is to be applied next.
    """
    act, taken, which = mechanism.act, into.ns, first
    before, own, children = len(taken), *_used_ns()
    for _ in range(count):
        if stop():
            break
        began = time.monotonic_ns()
        act(which)
        taken.append(time.monotonic_ns() - began)
        which = 1 - which
    own_now, children_now = _used_ns()
    into.runs.append((len(taken) - before, own_now - own, children_now - children))
    return which


def checked(mechanism: Mechanism, into: Timed, which: int) -> None:
    """Read back whether the level that was applied last is in force."""
    into.checks += 1
    if why := mechanism.amiss(which):
        into.amiss.append(why)


def looked(kinds: Mapping[str, MechanismKind], inputs: MechanismInputs) -> list[Timed]:
    """All of them in order, with what this machine lacks for each; nothing is applied."""
    timings = []
    for kind in kinds.values():
        lack = kind.lacks(inputs)
        missing, fix = (lack.missing, lack.fix) if lack else ("", "")
        timings.append(Timed(kind, missing=missing, fix=fix))
    return timings


def without_load(
    every: Sequence[Timed],
    inputs: MechanismInputs,
    count_of: Mapping[bool, int],
    seed: int,
    stop: Stop,
) -> None:
    """Blocks of each mechanism that is there, in an order drawn by lot.

    Args:
        every: as `looked` gave them; times go there.
        inputs: the service and the machine.
        count_of: applications by whether they are restarts.
        seed: of the order.
        stop: asked before each application.
    """
    lot = random.Random(seed)  # noqa: S311  # not a secret
    for block in range(BLOCKS):
        left = [one for one in every if not one.missing and not one.failed]
        lot.shuffle(left)
        for one in left:
            whole = count_of[one.kind.is_restart]
            count = whole * (block + 1) // BLOCKS - whole * block // BLOCKS
            if count and not stop():
                _block(one, inputs, count, stop)
    for one in every:
        if not one.missing and not one.failed and not stop():
            _by_lab(one, inputs, max(LAB_LEAST, round(LAB_SHARE * count_of[False])), stop)


def _block(into: Timed, inputs: MechanismInputs, count: int, stop: Stop) -> None:
    def act(mechanism: Mechanism) -> None:
        which = _warmed(mechanism, into)
        which = apply(mechanism, into, which, count, stop)
        seen = len(into.amiss)
        checked(mechanism, into, 1 - which)
        # Under load it would disturb the requests before the next change.
        if len(into.amiss) == seen and (times := mechanism.probed()):
            into.probed.append(list(times))

    _with(into, inputs, act)


def under_load(
    every: Sequence[Timed],
    inputs: MechanismInputs,
    count_of: Mapping[bool, int],
    *,
    length_s: float,
    seed: int,
    stop: Stop,
) -> None:
    """A turn for each mechanism that is there, in an order drawn by lot, restarts last.

    Args:
        every: as `looked` gave them; times go there.
        inputs: the service and the machine.
        count_of: applications by whether they are restarts.
        length_s: of the load that is left, s.
        seed: of the order.
        stop: asked before each application.
    """
    lot = random.Random(seed)  # noqa: S311  # not a secret
    left = [one for one in every if not one.missing]
    lot.shuffle(left)
    left.sort(key=lambda one: one.kind.is_restart)  # a single one may take all that is left
    began = time.monotonic()
    for turn, one in enumerate(left):
        share_s = (began + length_s - time.monotonic()) / (len(left) - turn)
        count = count_of[one.kind.is_restart]
        if share_s > 0 and not stop():
            _with(one, inputs, _Turn(one, count, share_s, lot, stop).act)
        if not one.ns and not one.failed:
            one.failed = "the load ended before it was applied"


@dataclass(slots=True)
class _Turn:
    """One mechanism's turn under load."""

    into: Timed
    count: int
    length_s: float
    lot: random.Random
    stop: Stop
    until: float = 0.0

    def act(self, mechanism: Mechanism) -> None:
        """Single changes, and bursts between them, until the time is over."""
        which = _warmed(mechanism, self.into)
        time.sleep(SETTLE_S)
        self.until = time.monotonic() + self.length_s
        while (left_s := self.until - time.monotonic()) > 0 and not self.stop():
            if self.into.kind.is_restart and len(self.into.ns) >= self.count:
                break
            cycles = max(1, int(left_s / CYCLE_S))
            which = self._cycle(mechanism, which, cycles)
            checked(mechanism, self.into, 1 - which)

    def _cycle(self, mechanism: Mechanism, which: int, cycles: int) -> int:
        began, began_unix_ns = time.monotonic(), time.time_ns()
        which = apply(mechanism, self.into, which, 1, self.stop)
        self.into.changes.append((began_unix_ns, time.time_ns()))
        wanted = -(-(self.count - len(self.into.ns)) // cycles)
        is_burst = wanted > 0 and time.monotonic() - began < SLOW_S
        if is_burst:
            time.sleep(max(0.0, began + BURST_AT_S - time.monotonic()))
            end = time.monotonic() + BURST_S_MAX
            over: Stop = lambda: time.monotonic() > end or self.stop()  # noqa: E731
            which = apply(mechanism, self.into, which, wanted, over)
        rest = CYCLE_S * (1 + JITTER * (self.lot.random() - 0.5))
        # After a change that takes long too the windows around it and the next one are apart.
        gap = max(began + rest, time.monotonic() + (0.0 if is_burst else CYCLE_S / 2))
        time.sleep(max(0.0, min(gap, self.until) - time.monotonic()))
        return which


def _warmed(mechanism: Mechanism, into: Timed) -> int:
    """Both levels once, not timed: the first call of all pays for what it loads."""
    into.one, into.levels = mechanism.one, mechanism.levels
    if not into.kind.is_restart:
        mechanism.act(1)
        mechanism.act(0)
    return 1


def _with(into: Timed, inputs: MechanismInputs, act: Callable[[Mechanism], None]) -> None:
    """Prepare it, do something with it, and put it back whatever happens."""
    try:
        mechanism = into.kind.build(inputs)
        try:
            mechanism.prepare()
            act(mechanism)
        finally:
            mechanism.put_back()
    except Exception as error:  # noqa: BLE001  # one that fails keeps no other from its turn
        into.failed = _why(error)


def _by_lab(into: Timed, inputs: MechanismInputs, count: int, stop: Stop) -> None:
    """The same change by the lab's knob: what a manager that turns it at run time waits for."""
    name = into.kind.build(inputs).knob
    if not name:
        return
    knob = knobs.kind(name).build(inputs.on)
    try:
        knob.apply(into.levels[0])
        end = time.monotonic() + LAB_S_MAX
        for number in range(count):
            if stop() or (time.monotonic() > end and number >= LAB_LEAST):
                break
            began = time.monotonic_ns()
            knob.apply(into.levels[(number + 1) % 2])
            into.lab_ns.append(time.monotonic_ns() - began)
    except (Fault, OSError):
        into.lab_ns.clear()  # it is reported beside, never instead
    finally:
        with suppress(Fault, OSError):
            knob.restore()


def _why(error: Exception) -> str:
    what = error.what if isinstance(error, Fault) else getattr(error, "strerror", "") or str(error)
    return what or type(error).__name__


def _used_ns() -> tuple[int, int]:
    """CPU time of this process, and of its children that have ended, ns."""
    both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    results = (resource.getrusage(who) for who in both)
    own, children = (round(1e9 * (used.ru_utime + used.ru_stime)) for used in results)
    return own, children
