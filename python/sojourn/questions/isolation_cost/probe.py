"""Applies every isolation mechanism to the service, and keeps how long that took (C19, M24).

At points of the question `isolation_cost` only. On the idle and on the busy host all of it happens
while it enters, before the load; under load by a thread of the lab, which stays off the server's
CPUs like all of it. What is changed is noted in the lab's journal before, and put back.
"""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from sojourn import disk
from sojourn.actors.actor import Actor, Role, Stage
from sojourn.actors.kind import ProbeKind
from sojourn.actors.neighbours.spin import LOOP
from sojourn.host.activity import STEAL, TICKS_PER_S, cpu_ticks
from sojourn.host.tree import Tree
from sojourn.places.process import Process
from sojourn.plan import Point
from sojourn.questions.isolation_cost.plan import APPLICATIONS, BUSY, HOST, LOADED, PHASE, RESTARTS
from sojourn.spec import ServiceSpec

if TYPE_CHECKING:
    from sojourn.questions.isolation_cost.mechanisms import MechanismInputs
    from sojourn.questions.isolation_cost.mechanisms.timing import Timed

FILE, FORM = "isolation_cost.json", "sojourn.isolation_cost/1"
TREE = Tree()
BUSY_FIELDS = (0, 1, 2, 5, 6)  # user, nice, system, irq, softirq (proc(5))
LEFT_S = 1.0  # of the load, for the last to be put back
JOIN_S_MAX = 120.0


class IsolationCost(Actor):
    """The one who applies mechanisms and takes their time."""

    role = Role.PROBE
    every_s = 1.0  # it begins when load runs, and stops before that ends
    name = "isolation_cost"

    def __init__(self, host: str, counts: Mapping[bool, int]) -> None:
        """Nothing is applied yet.

        Args:
            host: condition of the point, of `plan.questions.isolation_cost.HOSTS`.
            counts: applications by whether they are restarts.
        """
        self._host, self._counts = host, counts
        self._every: list[Timed] = []
        self._burners: list[Process] = []
        self._stage: Stage | None = None
        self._thread: threading.Thread | None = None
        self._began, self._end = threading.Event(), threading.Event()
        self._left_s = 0.0
        self._table: dict[str, Any] = {}

    def enter(self, stage: Stage) -> None:
        """Apply everything, or make ready to as soon as the load runs."""
        from sojourn.questions.isolation_cost.mechanisms import (  # noqa: PLC0415 - few points need
            KINDS,
            MechanismInputs,
            timing,
        )

        self._stage = stage
        live = stage.services[stage.point.service]
        if live.turned is None:
            return
        inputs = MechanismInputs(
            on=live.turned,
            facts=stage.facts,
            place=stage.spec.place,
            folder=stage.folder,
            set_already={name: str(level) for name, level in stage.spec.knobs.items()},
            cpus=stage.cpus[Role.PROBE],
        )
        self._every = timing.looked(KINDS, inputs)
        if self._host == LOADED:
            work = partial(self._under_load, inputs, stage.point.seed)
            self._thread = threading.Thread(target=work, name="isolation cost")
            self._thread.start()
            return
        if self._host == BUSY:
            self._burn(stage)
        before, own, began = cpu_ticks(TREE), self._own_s(), time.monotonic()
        timing.without_load(self._every, inputs, self._counts, stage.point.seed, self._end.is_set)
        self._table = shares(before, cpu_ticks(TREE), self._own_s() - own, time.monotonic() - began)
        self._calm()

    def second(self, line: Mapping[str, Any]) -> None:
        """The load runs: whoever waits for it may begin."""
        assert self._stage is not None  # noqa: S101  # it has entered
        point = self._stage.point
        if not self._began.is_set():
            self._left_s = point.measure_s - float(line.get("t_s", 0.0)) - LEFT_S
        self._began.set()

    def _under_load(self, inputs: MechanismInputs, seed: int) -> None:
        from sojourn.questions.isolation_cost.mechanisms import timing  # noqa: PLC0415 - the same

        while not self._began.wait(0.05):
            if self._end.is_set():
                return
        timing.under_load(
            self._every,
            inputs,
            self._counts,
            length_s=max(0.0, self._left_s),
            seed=seed,
            stop=self._end.is_set,
        )

    def _burn(self, stage: Stage) -> None:
        """A task that wants all of each CPU, at the usual priority."""
        for cpu in stage.facts.topology.usable:
            what = f"busy host {cpu.id}"
            self._burners.append(stage.start(what, LOOP, log="busy.log", cpus=(cpu.id,)))

    def _calm(self) -> None:
        while self._burners:
            task = self._burners.pop()
            assert self._stage is not None  # noqa: S101  # it has entered
            self._stage.end(task)

    def _own_s(self) -> float:
        """CPU time of the lab, of what it started, and of the service, s."""
        both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        used = (resource.getrusage(who) for who in both)
        assert self._stage is not None  # noqa: S101  # it has entered
        service = self._stage.services[self._stage.point.service].cpu_ns() / 1e9
        return service + sum(one.ru_utime + one.ru_stime for one in used)

    def leave(self) -> None:
        """End what still goes on, and keep what was found."""
        self._end.set()
        if self._thread is not None:
            self._thread.join(JOIN_S_MAX)
            self._thread = None
        self._calm()
        if self._stage is None or not self._every:
            return
        table = {
            "schema": FORM,
            "host": self._host,
            "counts": {"applications": self._counts[False], "restarts": self._counts[True]},
            **self._table,
            "mechanisms": [one.as_json() for one in self._every],
        }
        disk.keep_json(self._stage.folder / FILE, table)

    def saw(self) -> Mapping[str, Any]:
        """Which were applied, and how often."""
        return {"isolation_cost": {one.kind.name: len(one.ns) for one in self._every}}


def shares(
    before: tuple[int, ...], after: tuple[int, ...], own_s: float, length_s: float
) -> dict[str, float]:
    """What others did meanwhile, of all CPUs' time, 0 to 1.

    Args:
        before: ticks of all CPUs by field, as `cpu_ticks` reads them.
        after: the same later.
        own_s: CPU time of the lab, of what it started and of the service, s.
        length_s: how long it took.
    """
    delta = [b - a for a, b in zip(before, after, strict=True)]
    whole = sum(delta) / TICKS_PER_S
    if whole <= 0:
        return {"length_s": length_s}
    used = sum(delta[field] for field in BUSY_FIELDS) / TICKS_PER_S
    return {
        "length_s": round(length_s, 3),
        "busy_share": used / whole,
        "others_share": max(0.0, used - own_s) / whole,
        "steal_share": delta[STEAL] / TICKS_PER_S / whole,
    }


def build(spec: ServiceSpec, point: Point) -> IsolationCost | None:
    """A probe for points of its question only."""
    del spec
    if point.phase is not PHASE:
        return None
    setting = point.setting
    counts = {False: int(setting[APPLICATIONS]), True: int(setting[RESTARTS])}
    return IsolationCost(str(setting[HOST]), counts)


KIND = ProbeKind(
    name="isolation_cost",
    place=30,
    about="how long one application of each isolation mechanism takes",
    source="C19, M24",
    build=build,
)
