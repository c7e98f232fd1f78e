"""A scheduler of sched_ext: a program that replaces the kernel's own as long as it runs.

    bvt                       sojourn-sched, everybody equal: plain fair
    bvt,warp=5ms,weight=4     this service goes first, and has four times the share of others (L26)
    scx_lavd, scx_layered …   public ones, as they are installed; they schedule the whole machine

There can be one on a machine. Services that want `bvt` share it: whoever comes or goes starts it
anew with a class for each, and for the milliseconds between the kernel's own is in force. When its
program ends, however it ends, the kernel takes all tasks back.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn import programs
from sojourn.errors import HostFault, RunFault
from sojourn.host import rights
from sojourn.host.tree import Tree
from sojourn.knobs.knob import Asked, Felt, Lack, Turned
from sojourn.places import proc, process, process_end
from sojourn.places.process import Process

FOLDER = "/sys/kernel/sched_ext"
BVT, PROGRAM, IN_FORCE = "bvt", "sojourn-sched", "sojourn_bvt"
TIME = r"\d+(\.\d+)?(us|ms|s)"
OPTION = rf"(warp|limit|allowance|credit)={TIME}|weight=\d+(\.\d+)?"
PATTERN = rf"{BVT}(,({OPTION}))*|scx_[a-z0-9_]+"
#: Of the whole scheduler, so that all services must say the same.
SHARED = ("allowance", "credit")
#: Of a class, as its job takes them.
OWN = ("warp", "limit")
WEIGHT_USUAL = 100
#: What a public scheduler must be given before it schedules.
WORDS: Mapping[str, Sequence[str]] = {"scx_layered": ("--run-example",)}
FORCE_S_MAX = 30.0  # all tasks of the machine are switched one by one
LOOK_S = 0.02


@dataclass(frozen=True, slots=True)
class State:
    """What sched_ext says of itself. `name`: of the scheduler in force; "" if none is."""

    state: str
    name: str

    @property
    def text(self) -> str:
        """What it says, in words, with where it says so."""
        return f"{FOLDER} says {self.state}" + (f", {self.name}" if self.name else "")


def state(tree: Tree) -> State | None:
    """What is in force; None where the kernel has no sched_ext."""
    report = tree.text(f"{FOLDER}/state")
    return None if report is None else State(report, tree.text(f"{FOLDER}/root/ops") or "")


def is_one(level: str) -> bool:
    """Whether a level of the policy names a scheduler.

    >>> is_one("bvt,warp=5ms"), is_one("scx_lavd"), is_one("fifo:1")
    (True, True, False)
    """
    return re.fullmatch(PATTERN, level) is not None


def program_of(level: str) -> str:
    """The program that is such a scheduler."""
    return PROGRAM if level.startswith(BVT) else level


def options(level: str) -> dict[str, str]:
    """What a level of `bvt` grants.

    >>> options("bvt,warp=5ms,weight=4")
    {'warp': '5ms', 'weight': '4'}
    """
    return dict(option.split("=") for option in level.split(",")[1:])


def is_in_force(level: str, tree: Tree) -> bool:
    """Whether the scheduler of a level is; public ones put a version behind their names."""
    now = state(tree)
    wanted = IN_FORCE if level.startswith(BVT) else level.removeprefix("scx_")
    return now is not None and now.state == "enabled" and wanted in now.name


@dataclass(slots=True)
class _Reign:
    """The one scheduler of this lab: its process, and who wants it, by label."""

    wanted: dict[str, tuple[Turned, str]] = field(default_factory=dict)
    process: Process | None = None

    def start(self, on: Turned) -> None:
        """Put it in force for all who want it; HostFault if it cannot be."""
        self.stop()
        argv = command([(label, its.leader, level) for label, (its, level) in self.wanted.items()])
        log, (_, level) = on.work / "scheduler.log", self.wanted[on.label]
        try:
            self.process = process.start(
                program_of(level), argv, cwd=on.work, ledger=on.book, log=log
            )
        except RunFault as fault:
            raise _refused(on, level, fault.what) from None
        end = time.monotonic() + FORCE_S_MAX
        while not is_in_force(level, on.tree):
            ended = self.process.poll(LOOK_S)
            if ended is not None or time.monotonic() > end:
                how = ended.text if ended else f"was not in force after {FORCE_S_MAX:.0f} s"
                self.stop()
                raise _refused(
                    on, level, f"it {how}, saying: {process_end.last_words(log) or 'nothing'}"
                )

    def again(self) -> None:
        """Put it in force for whoever still wants it."""
        for its, _ in self.wanted.values():
            self.start(its)
            break

    def stop(self) -> None:
        """Take it out of force, if it is."""
        if self.process is not None:
            self.process.stop()
            self.process = None
            for its, level in self.wanted.values():
                end = time.monotonic() + FORCE_S_MAX
                while is_in_force(level, its.tree) and time.monotonic() < end:
                    time.sleep(LOOK_S)


_REIGN = _Reign()


class Scheduler:
    """The scheduler under which one service runs, beside others that want the same."""

    def __init__(self, on: Turned) -> None:
        """`on`: the service; nothing is in force yet."""
        self._on = on

    @property
    def level(self) -> str:
        """The level that this service has; "": none."""
        return _REIGN.wanted.get(self._on.label, (None, ""))[1]

    @property
    def by(self) -> str:
        """The scheduler's program, which sched_ext has put in force."""
        return f"sched_ext ({program_of(self.level)})"

    def apply(self, level: str) -> None:
        """Put it in force.

        Raises:
            HostFault: another is in force, the kernel or its program refuses, or services differ.
        """
        before = dict(_REIGN.wanted)
        others = {label: its for label, (_, its) in before.items() if label != self._on.label}
        for label, its in others.items():
            if why := differ(level, its):
                raise _refused(self._on, level, f"{label} has {its}: {why}")
        now = state(self._on.tree)
        if not before and now is not None and now.state != "disabled":
            raise _refused(self._on, level, f"another is in force: {now.text}")
        _REIGN.wanted[self._on.label] = (self._on, level)
        try:
            _REIGN.start(self._on)
        except HostFault:
            _REIGN.wanted = before
            _REIGN.again()
            raise

    def verify(self) -> Felt:
        """Whether its program runs and the kernel says that it is in force."""
        now, level = state(self._on.tree), self.level
        ended = _REIGN.process.poll() if _REIGN.process else None
        text = now.text if now else "the kernel has no sched_ext"
        if ended is not None:
            return Felt(holds=False, why=f"{program_of(level)} {ended.text}; {text}")
        return Felt(holds=is_in_force(level, self._on.tree), why=text)

    def restore(self) -> None:
        """Leave it; with the last service it goes out of force."""
        if self._on.label not in _REIGN.wanted:
            return
        _REIGN.stop()
        del _REIGN.wanted[self._on.label]
        _REIGN.again()


def differ(own: str, other: str) -> str:
    """Why two services cannot have these levels at once; "" if they can.

    >>> differ("bvt,warp=5ms", "bvt"), differ("bvt", "scx_lavd")
    ('', 'there can be one scheduler on a machine')
    """
    if program_of(own) != program_of(other):
        return "there can be one scheduler on a machine"
    off = [key for key in SHARED if options(own).get(key) != options(other).get(key)]
    return f"both must have the same {off[0]}" if off else ""


def command(wanted: Sequence[tuple[str, int, str]]) -> tuple[str, ...]:
    """Program and arguments for services, each as its label, the leader of its session, its level.

    Raises:
        HostFault: the program is not installed.
    """
    level = wanted[0][2]
    name = program_of(level)
    path = str(programs.find(name, fix=fix_for(name)))
    if name != PROGRAM:
        return (path, *WORDS.get(name, ()))
    shared = {key: value for key, value in options(level).items() if key in SHARED}
    job = {"classes": [a_class(*one) for one in wanted], **shared}
    return (path, "--job", json.dumps(job))


def a_class(label: str, leader: int, level: str) -> dict[str, Any]:
    """A service as a class of `sojourn-sched`'s job: all processes of its session."""
    report = options(level)
    own = {key: value for key, value in report.items() if key in OWN}
    weight = float(report.get("weight", 1)) * WEIGHT_USUAL
    pids = [member.pid for member in proc.session(leader)]
    return {"name": label, "pids": pids, "weight": weight, **own}


def fix_for(name: str) -> str:
    """What installs the program of a scheduler."""
    if name == PROGRAM:
        return "install what `scripts/setup --bpf` names, and run `make build`"
    return f"install {name}: the package scx-scheds, or scx, where the distribution has it"


def lacks(asked: Asked) -> Lack | None:
    """A kernel with sched_ext where no one else's scheduler is in force, rights, its program."""
    now, name = state(asked.tree), program_of(asked.level)
    if now is None:
        fix = (
            "boot a kernel with CONFIG_SCHED_CLASS_EXT=y, 6.13 or later (Debian's cloud kernels "
            'have it from 6.18 on), or give a level that needs none, such as "slice:3ms"'
        )
        return Lack(missing=f"sched_ext in this kernel ({FOLDER})", fix=fix)
    if now.state != "disabled" and not _REIGN.wanted:
        who = now.name or "a scheduler"
        return Lack(missing=f"room for a scheduler ({who} is in force)", fix=f"end {who}")
    if lacking := rights.lacking_to_trace(asked.tree):
        fix = rights.fix(asked.tree)
        return Lack(missing=f"the right to load a scheduler ({lacking})", fix=fix)
    if programs.maybe(name) is None:
        return Lack(missing=f"the program {name}", fix=fix_for(name))
    return None


def _refused(on: Turned, level: str, why: str) -> HostFault:
    return HostFault(
        f"{on.label} cannot be scheduled by {level}: {why}",
        at=on.at("policy"),
        fix=f"look at {FOLDER}/state and dmesg; `{program_of(level)}` by hand says more",
    )
