"""Mechanisms that are a setting of each thread of the service: its CPUs, its policy."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from sojourn import knobs
from sojourn.host.tree import cpu_list, cpu_text
from sojourn.knobs import Asked, Lack, attr, policy_level, settings
from sojourn.knobs.settings import AFFINITY, POLICY, Setting
from sojourn.places import proc
from sojourn.places.task import Task
from sojourn.questions.isolation_cost.mechanisms.mechanism import (
    MechanismInputs,
    MechanismKind,
    taken,
)
from sojourn.questions.isolation_cost.mechanisms.settled import Settled

TWO_CPUS = Lack(missing="a second CPU", fix="a machine with two CPUs")
OTHER, BATCH = "other", "batch"  # neither takes a right nor orders anybody behind


class Threads(Settled):
    """One setting of each thread of the service: `kind` is AFFINITY or POLICY."""

    def __init__(self, inputs: MechanismInputs, levels: tuple[str, str], kind: str) -> None:
        super().__init__(inputs, levels)
        self._kind = kind
        self.knob = "cpuset" if kind == AFFINITY else "policy"

    def current(self, level: str) -> Sequence[Setting]:
        """Of every thread, in the order of their numbers."""
        return [s for task in proc.tasks(self._on.leader) if (s := self._of_task(task, level))]

    def _of_task(self, task: Task, level: str) -> Setting | None:
        ticks = settings.start_ticks(self._on.tree, task.pid, task.tid)
        new = (
            cpu_text(cpu_list(level)) if self._kind == AFFINITY else policy_level.meant(level).text
        )
        asked = Setting(
            kind=self._kind,
            what=f"{task.name} ({task.tid}) of {self._on.label}",
            pid=task.pid,
            tid=task.tid,
            start_ticks=ticks,
            old="",
            new=new,
        )
        now = settings.read(asked, self._on.tree)
        return None if now is None else Setting.from_json({**asked.as_json(), "old": now})

    def call(self, setting: Setting) -> Callable[[], None]:
        """`sched_setaffinity` or `sched_setattr` on one thread."""
        tid = setting.tid
        if self._kind == AFFINITY:
            cpus = frozenset(cpu_list(setting.new))
            return lambda: os.sched_setaffinity(tid, cpus)
        wanted = attr.Attr.of(setting.new)
        return lambda: attr.put(tid, wanted)

    def counted(self, count: int) -> str:
        """A call for each thread."""
        name = "sched_setaffinity" if self._kind == AFFINITY else "sched_setattr"
        return f"{name} on {count} thread{'s' * (count > 1)}"


def levels_of(inputs: MechanismInputs) -> tuple[str, str] | None:
    """The CPUs that the service has, and others; None: there is only one."""
    every = inputs.usable
    home = tuple(sorted(os.sched_getaffinity(inputs.on.leader)))
    if len(every) < 2:  # to change between
        return None
    return cpu_text(home), cpu_text(every if {*home} != {*every} else every[:1])


def _affinity_lacks(inputs: MechanismInputs) -> Lack | None:
    return taken(inputs, "cpuset") or (None if levels_of(inputs) else TWO_CPUS)


def _policy_lacks(inputs: MechanismInputs) -> Lack | None:
    asked = (Asked(level=level, tree=inputs.on.tree) for level in (OTHER, BATCH))
    return taken(inputs, "policy") or next(
        filter(None, map(knobs.kind("policy").lacks, asked)), None
    )


CPUSET = MechanismKind(
    name="cpuset",
    about="CPUs of every thread, by affinity",
    lacks=_affinity_lacks,
    build=lambda inputs: Threads(inputs, levels_of(inputs) or ("", ""), AFFINITY),
)
POLICIES = MechanismKind(
    name="policy",
    about="scheduling policy of every thread",
    lacks=_policy_lacks,
    build=lambda inputs: Threads(inputs, (OTHER, BATCH), POLICY),
)
