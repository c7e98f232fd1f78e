"""A manager: `sojourn manage` beside the load of one point, with one rule.

It is the same program that manages a machine: knobs are read back and journalled, and a warden
sets safe caps where it dies. Its windows are the generator's lines of progress, which this actor
hands on through a file. A second loop in the lab would have to do all that again, and would wake
the lab, so the lab only writes lines.

    generator's line → windows.jsonl → sojourn manage → manager.audit.jsonl → manager.json
"""

from __future__ import annotations

import contextlib
import json
import os
import posixpath
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, TypeAlias

import sojourn
from sojourn import disk, units
from sojourn.actors.actor import Actor, Role, Running, Stage, Window
from sojourn.actors.managers.audited import AUDIT, counted, events
from sojourn.actors.neighbours import Neighbour
from sojourn.errors import HostFault, RunFault
from sojourn.host.tree import Tree, cpu_text
from sojourn.knobs import groups
from sojourn.places import process_end
from sojourn.places.process import Process
from sojourn.places.task import Task
from sojourn.plan import Point

SCHEMA, FILE = "sojourn.manager/1", "manager.json"
CONFIG, LINES, LOG = "manage.toml", "windows.jsonl", "manage.log"
PROGRAM = "sojourn manage"
EVERY_S = 0.1
SILENT_S = 5.0  # a client that is stopped for a moment is no reason for safe caps
#: Runs the package that the lab itself is of, whichever is installed.
THIS = "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); runpy.run_module('sojourn', \
run_name='__main__', alter_sys=True)"
PACKAGES = Path(sojourn.__file__).parents[1]
BEGIN_S_MAX, END_S_MAX, LOOK_S = 30.0, 20.0, 0.02
CONTROLLER, CPUSET, CPUS = "cpu", "cpuset", "manager"
#: By actor; "client" has the generator's line, "LABEL.client" that of each of several services.
Windows: TypeAlias = Mapping[str, Window]
CLIENT = "client"


class Manager(Actor):
    """Runs `sojourn manage` while load runs, and hands it windows.

    Attributes:
        constants: of its rule, that differ from the published ones.
    """

    role = Role.MANAGER
    every_s = EVERY_S

    def __init__(self, name: str, constants: Mapping[str, float]) -> None:
        """Nothing is started yet.

        Args:
            name: of the rule.
            constants: of the rule, that differ from the published ones.
        """
        self.name = name
        self.constants = constants
        self._stage: Stage | None = None
        self._task: Process | None = None
        self._lines: IO[bytes] | None = None
        self._labels: tuple[str, ...] = ()
        self._begun_s: float | None = None  # of the load, by the clock of the audit log
        self._held: list[Callable[[], None]] = []
        self._did: dict[str, Any] = {}

    def enter(self, stage: Stage) -> None:
        """Start it, and wait until it has its groups.

        Raises:
            HostFault: service or neighbour is in no control group of its own.
            RunFault: it does not start.
        """
        self._stage = stage
        for member in stage.point.all:
            self._held += _with_cpus(stage.services[member.service])
        table = config(stage, self.name, self.constants)
        self._labels = tuple(member.service for member in stage.point.all)
        disk.keep_text(stage.folder / CONFIG, table)
        self._lines = disk.append(stage.folder / LINES)
        words = ("manage", "--config", str(stage.folder / CONFIG))
        argv = [sys.executable, "-I", "-c", THIS, str(PACKAGES), *words]
        # Before others on its CPUs, as in production: a client that spins would leave it nothing.
        cpus = stage.cpus[Role.MANAGER]
        self._task = stage.start(PROGRAM, argv, log=LOG, cpus=cpus, is_first=True)
        until_s = time.monotonic() + BEGIN_S_MAX
        while not any(event.get("event") == "start" for event in events(stage.folder)):
            ended = self._task.poll()
            if ended or time.monotonic() > until_s:
                how = ended.text if ended else f"has not begun after {BEGIN_S_MAX:.0f} s"
                log = process_end.last_words(stage.folder / LOG)
                raise RunFault(
                    f"{PROGRAM} with {self.name} {how}: {log or 'no word'}",
                    at=str(stage.folder / LOG),
                    fix=f"try it by hand: sojourn {' '.join(words)}",
                )
            time.sleep(LOOK_S)

    def period(self, windows: Windows) -> None:
        """Hand on what the clients of each service saw; a line without a window says nothing."""
        if self._lines is None or self._stage is None:
            return
        line = windows.get(CLIENT, {})
        begun_s = time.time() - float(line.get("t_s", 0.0))  # a line that is late says later
        self._begun_s = min(begun_s, self._begun_s or begun_s)
        for label in self._labels:
            seen = windows.get(f"{label}.{CLIENT}") or (line if len(self._labels) == 1 else {})
            if window := seen.get("window"):
                text = json.dumps({"service": label, **window})
                self._lines.write(text.encode() + b"\n")
        self._lines.flush()

    def leave(self) -> None:
        """End it, which puts everything back, and keep what it did."""
        with ExitStack() as stack:
            for give_back in self._held:
                stack.callback(give_back)
            if self._lines is not None:
                self._lines.close()
            if self._task is not None and self._stage is not None:
                self._end(self._stage, self._task)

    def _end(self, stage: Stage, task: Process) -> None:
        died, folder, point = task.poll(), stage.folder, stage.point
        ended = stage.end(task, within_s=END_S_MAX)
        why = _fault(process_end.last_words(folder / LOG)) or ended.text if died else ""
        from_s = None if self._begun_s is None else self._begun_s + point.warmup_s
        self._did = counted(events(folder), from_s, point.measure_s)
        table = {"schema": SCHEMA, "manager": self.name, **self._did, "ended": why}
        disk.keep_json(folder / FILE, table, indent=1)

    def saw(self) -> Mapping[str, Any]:
        """What it was, and how often it changed something while load was measured."""
        return {"manager": {"kind": self.name, **self._did}}


def config(stage: Stage, rule: str, constants: Mapping[str, float]) -> str:
    """The configuration of the manager of a point, as `sojourn manage` reads it.

    Raises:
        HostFault: service or neighbour is in no control group of its own.
    """
    folder = stage.folder
    lines = [f'controller = "{rule}"', f"audit = {_text(str(folder / AUDIT))}"]
    lines += [f"every_ms = {EVERY_S * 1000:.0f}", f"silent_s = {SILENT_S}", "check_s = 0.0"]
    lines += [f'cpus = "{cpu_text(stage.cpus[Role.SERVICE])}"']
    lines += ["[windows]", f"file = {_text(str(folder / LINES))}"]
    lines += ["[constants]", *(f"{name} = {value}" for name, value in constants.items())]
    for member in stage.point.all:
        lines += _service(member, stage.services[member.service])
    neighbours = [actor for actor in stage.entered if isinstance(actor, Neighbour)]
    for one in neighbours:
        path = _own_group(one.pids[:1], f"neighbour {one.text}")
        lines += [f'[groups."neighbour-{one.number}"]', 'role = "best-effort"']
        lines += [f"cgroup = {_text(path)}"]
    return "\n".join([*lines, ""])


def _service(member: Point, live: Running) -> list[str]:
    pids = tuple(one.pid for one in live.members())[:1]
    bound_ns = units.parse_ns(str(dict(member.overrides).get("qos_bound") or "0s"))
    peak = (member.offered_rps or 0.0) / member.fraction if member.fraction else 0.0
    return [
        f"[groups.{_text(live.label)}]",
        'role = "latency-critical"',
        f'target = "{bound_ns}ns"',
        f"peak_rps = {peak:.1f}",
        f"cgroup = {_text(_own_group(pids, live.label))}",
    ]


def _fault(words: str) -> str:
    """The fault at the end of a log that has audit lines as well."""
    return words[words.find("error: ") :] if "error: " in words else ""


def _with_cpus(live: Running) -> list[Callable[[], None]]:
    """Give a service a group of CPUs with the name of its other one; what gives that back.

    Where the machine has none, rules that need it are refused before the run.
    """
    on, hierarchy = live.turned, groups.find(Tree(), CONTROLLER)
    if on is None or hierarchy is None or not (tasks := live.tasks()):
        return []
    own = posixpath.basename(hierarchy.folder(on.tree, on.leader))
    if not own.startswith(groups.PREFIX):
        return []
    on.shared["tag"] = own.removeprefix(groups.PREFIX)
    try:
        with _affinities_of(tasks):
            group = groups.join(on, CPUSET, CPUS)
    except OSError:
        return []

    def give_back() -> None:
        with _affinities_of(live.tasks()):
            groups.leave(on, group, CPUS)

    return [give_back]


@contextlib.contextmanager
def _affinities_of(tasks: Sequence[Task]) -> Iterator[None]:
    """Afterwards each thread may use the CPUs that it could before: a cpuset may undo that."""
    before = {}
    for task in tasks:
        with contextlib.suppress(OSError):
            before[task.tid] = os.sched_getaffinity(task.tid)
    try:
        yield
    finally:
        for tid, cpus in before.items():
            with contextlib.suppress(OSError):
                if os.sched_getaffinity(tid) != cpus:
                    os.sched_setaffinity(tid, cpus)


def _own_group(pids: Sequence[int], who: str) -> str:
    """The control group of a process, below the mount; HostFault where it is the lab's own."""
    tree, fix = Tree(), 'give groups = "own", which needs root, and shield = "none"'
    hierarchy = groups.find(tree, CONTROLLER)
    if hierarchy is None or not pids:
        raise HostFault(f"{who} has no control group", at="manager", fix=fix)
    folder = hierarchy.folder(tree, pids[0])
    own = posixpath.basename(folder).startswith(groups.PREFIX)
    if not own:
        raise HostFault(
            f"{who} is in no control group of its own, so a manager cannot move it",
            at="manager",
            fix=fix,
        )
    return "/" + posixpath.relpath(folder, hierarchy.mount)


def _text(value: str) -> str:
    return json.dumps(value)
