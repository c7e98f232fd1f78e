"""Stops suspects by turns while load runs, and keeps a log of it; before, lets the tracer look.

At points of the question `blame` only. The log (`blame.json`) says when each window began to count
and when it ended, on the clock of the result's `started_unix_ns`, who was stopped in it, and what
counters said at both ends. A thread of the lab does it: it sleeps but for the ends of windows, and
what it reads costs the same in every state.

    enter: who is suspected → warm-up is over: window after window → leave: all go on, the file
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sojourn import disk
from sojourn.actors.actor import Actor, Role, Stage
from sojourn.actors.kind import ProbeKind
from sojourn.actors.probes import trace
from sojourn.errors import Fault
from sojourn.host.tree import Tree
from sojourn.places import halt, proc, scripts
from sojourn.plan import Point
from sojourn.questions.blame import asks, counters, stops
from sojourn.questions.blame.counters import Counters, Reading, Threads, Use
from sojourn.questions.blame.plan import LOOK, PHASES, State, order, states
from sojourn.questions.blame.stops import Beside, Suspect
from sojourn.spec import ServiceSpec
from sojourn.spec.words import parted

FILE, FORM = "blame.json", "sojourn.blame/1"
TREE = Tree()
LEFT_S = 0.3  # of the load, after the last window
JOIN_S_MAX = 30.0
NICE = -15  # windows end in time where the lab shares its CPU


class Look(trace.Tracer):
    """The tracer where it can be had; where not, the point goes on and says why."""

    name = "blame_look"

    def __init__(self, asked: tuple[str, ...]) -> None:
        super().__init__(asked)
        self._why = ""

    def enter(self, stage: Stage) -> None:
        """Keep who is suspected, and let the tracer attach."""
        _keep(stage, {"suspects": [_suspect_json(one) for one in stops.suspects_at(stage, None)]})
        try:
            trace.check(stage.facts)
            super().enter(stage)
        except Fault as fault:
            self._why = fault.what

    def leave(self) -> None:
        """Let it detach; what it cannot tell is missing, and no reason to fail."""
        try:
            super().leave()
        except Fault as fault:
            self._why = self._why or fault.what

    def saw(self) -> Mapping[str, Any]:
        """Why it could not look; "" if it could."""
        return {"blame_look": {"why": self._why}}


class Blame(Actor):
    """The one who stops suspects."""

    role = Role.PROBE
    every_s = 1.0  # it begins when load runs, and stops before that ends
    name = "blame"

    def __init__(self, *, window_s: float, settle_s: float) -> None:
        """Nothing is stopped yet.

        Args:
            window_s: length of a window.
            settle_s: its first part, which does not count.
        """
        self._window_s, self._settle_s = window_s, settle_s
        self._stage: Stage | None = None
        self._suspects: tuple[Suspect, ...] = ()
        self._counters: Counters | None = None
        self._windows: list[dict[str, Any]] = []
        self._began, self._end = threading.Event(), threading.Event()
        self._left_s = 0.0
        self._thread: threading.Thread | None = None
        self._failed = ""

    def enter(self, stage: Stage) -> None:
        """Find everybody, and make ready to begin as soon as load runs."""
        self._stage = stage
        live = stage.services[stage.point.service]
        if live.process is None:
            return
        self._suspects = stops.suspects_at(stage, stage.book)
        self._counters = Counters(TREE, Threads(live, TREE), live.placement.server)
        self._counters.look()
        self._thread = threading.Thread(target=self._work, name="blame", daemon=True)
        self._thread.start()

    def second(self, line: Mapping[str, Any]) -> None:
        """Load runs: windows may begin after its warm-up, whose requests stand in no log."""
        assert self._stage is not None  # noqa: S101  # it has entered
        point, t_s = self._stage.point, float(line.get("t_s", 0.0))
        if self._began.is_set() or t_s < point.warmup_s:
            return
        self._left_s = point.warmup_s + point.measure_s - t_s - LEFT_S
        self._began.set()

    def _work(self) -> None:
        with contextlib.suppress(OSError):  # of this thread alone, as far as this user may
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        try:
            while not self._began.wait(0.05):
                if self._end.is_set():
                    return
            self._go_through(self._stage.point.seed if self._stage else 0)
        except Exception as error:  # noqa: BLE001  # whoever is stopped must be let go
            self._failed = f"{type(error).__name__}: {error}"
        finally:
            self._all_go()

    def _go_through(self, seed: int) -> None:
        """Window after window, in whole blocks as many as the load has room for."""
        end_s = time.monotonic() + self._left_s
        count = len(self._suspects)
        most = int(self._left_s / self._window_s) // len(states(count))
        for block, stopped in order(count, most, seed):
            if self._end.is_set() or time.monotonic() + self._window_s > end_s:
                return
            self._window(block, stopped)

    def _window(self, block: int, stopped: State) -> None:
        """One window; where the lab is kept from its CPU it begins later and is no shorter."""
        began_ns = time.time_ns()
        for number, one in enumerate(self._suspects):
            if number in stopped:
                one.stop()
            else:
                one.go()
        applied_ns = time.time_ns() - began_ns
        if self._end.wait(self._settle_s):
            return
        since_ticks = proc.now_ticks()
        used, served, from_ns = self._used(), self._served(), time.time_ns()
        if self._end.wait(self._window_s - self._settle_s):
            return
        to_ns, served_then, used_then = time.time_ns(), self._served(), self._used()
        self._windows.append(
            {
                "block": block,
                "stopped": sorted(stopped),
                "from_ns": from_ns,
                "to_ns": to_ns,
                "applied_ns": applied_ns,
                "service": asdict(counters.served(served, served_then)),
                "suspects": [
                    _use_json(one, counters.used(then, now, since_ticks))
                    for one, then, now in zip(self._suspects, used, used_then, strict=True)
                ],
            }
        )

    def _served(self) -> Reading:
        assert self._counters is not None  # noqa: S101  # it has entered
        return self._counters.of_service()

    def _used(self) -> list[tuple[Use, ...]]:
        """What the processes of each suspect have used, those included that are new."""
        assert self._counters is not None  # noqa: S101  # it has entered
        every = stops.everybody(self._suspects)
        return [self._counters.of(one.living(every)) for one in self._suspects]

    def _all_go(self) -> None:
        for one in self._suspects:
            with contextlib.suppress(OSError):  # one that is gone keeps no other stopped
                one.release()

    def leave(self) -> None:
        """Everybody goes on; the log is stored."""
        self._end.set()
        if self._thread is not None:
            self._thread.join(JOIN_S_MAX)
        self._all_go()
        if self._stage is None or self._counters is None:
            return
        table = {
            "suspects": [_suspect_json(one) for one in self._suspects],
            "failed": self._failed,
            "windows": self._windows,
        }
        _keep(self._stage, table)

    def saw(self) -> Mapping[str, Any]:
        """How many windows there were."""
        return {"blame": {"windows": len(self._windows), "failed": self._failed}}


def _use_json(one: Suspect, used: Mapping[str, int]) -> dict[str, int]:
    """What it used, and how many it was; the latter not of one that never has processes."""
    is_none = isinstance(one, Beside) and not one.has_processes
    return {name: value for name, value in used.items() if name != "members" or not is_none}


def _suspect_json(one: Suspect) -> dict[str, Any]:
    """Who it is: name, processes, threads and what these are called."""
    tasks = list(_threads(one.pids))
    return {
        "name": one.name,
        "pids": list(one.pids),
        "scripts": [scripts.of_process(pid) for pid in one.pids],
        "tids": [tid for tid, _ in tasks],
        "comms": sorted({comm for _, comm in tasks}),
    }


def _threads(pids: Sequence[int]) -> Iterator[tuple[int, str]]:
    for pid in pids:
        yield from proc.threads(pid)


def _keep(stage: Stage, table: Mapping[str, Any]) -> None:
    disk.keep_json(stage.folder / FILE, {"schema": FORM, **table})


def build(spec: ServiceSpec, point: Point) -> Look | Blame | None:
    """A probe for points of its question only."""
    asked = asks.of(spec)
    if point.phase not in PHASES or asked is None:
        return None
    if point.phase is LOOK:
        return Look(trace.price(point))
    return Blame(window_s=asked.window_ns / 1e9, settle_s=asked.settle_ns / 1e9)


def check_service(spec: ServiceSpec) -> None:
    """Refuse suspects that cannot be stopped.

    Raises:
        HostFault, SpecFault: who it is, and why.
    """
    if (asked := asks.of(spec)) is not None:
        halt.check(parted(asked.suspects), at=f"services.{spec.label}.blame.suspects")


KIND = ProbeKind(
    name="blame",
    place=50,
    about="stops suspects by turns while load runs, and keeps a log of it",
    source="M17, M22",
    build=build,
    check_service=check_service,
)
