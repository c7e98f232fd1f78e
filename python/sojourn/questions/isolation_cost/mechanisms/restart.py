"""A container or VM that is ended and started anew, with a program in it that only sleeps.

It has a place of its own and leaves the service where it is: what is timed is what the runtime and
the kernel do, from the order to end the old one until the first process of the new one runs: of a
virtual machine, until its guest has booted and started the program.
"""

from __future__ import annotations

import signal
import time
from collections import ChainMap
from functools import partial

from sojourn import extras, places, programs
from sojourn.host.abilities import abilities
from sojourn.knobs import Lack
from sojourn.places import Launch, Place
from sojourn.places.guest.guest import Guest
from sojourn.places.process import Process
from sojourn.questions.isolation_cost.mechanisms.mechanism import (
    Mechanism,
    MechanismInputs,
    MechanismKind,
)

SLEEP = "sleep"
LOG = "restart.log"
POLL_S = 0.005  # how exactly it is seen that a guest has booted
ROUNDS, PROBES = 500, 9  # of a loop in a guest's agent, and how often it is run


class Restart(Mechanism):
    """A program in a place, ended and started anew."""

    levels = ("one", "the next")

    def __init__(self, name: str, inputs: MechanismInputs) -> None:
        self._name, self._inputs = name, inputs
        self._place: Place | None = None
        self._task: Process | None = None
        self._pids = (0, 0)
        self._starts = 0
        self._off = ""  # what was wrong with a start since it was last read back
        self.one = f"a {name} with a program that sleeps ended, and the next one started"

    def prepare(self) -> None:
        """Make the place, and start the first."""
        self._place = places.build(self._name)
        self._place.enter(self._inputs.on.book)
        self._start()

    def _start(self) -> None:
        assert self._place is not None  # noqa: S101  # it was entered
        self._task = self._place.start(
            Launch(
                f"restarted {self._name}",
                (programs.find(SLEEP, fix="apt install coreutils"), "infinity"),
                cwd=self._inputs.folder,
                ledger=self._inputs.on.book,
                log=self._inputs.folder / LOG,
                cpus=self._inputs.cpus,
            )
        )
        until = time.monotonic() + self._place.start_s_max
        while not self._task.is_up and time.monotonic() < until and not self._task.poll(POLL_S):
            pass  # a guest boots
        self._pids = self._pids[1], self._task.pid
        self._starts += 1
        if self._starts > 1:  # the first start saves the state
            booted = self._place.fell_back
            self._off = self._off or (f"it booted: {booted}" if booted else self._place.start_doubt)

    def act(self, which: int) -> None:
        """End it, and start it anew."""
        del which
        self._end()
        self._start()

    def _end(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.stop(first=signal.SIGKILL)  # the first process of a container heeds no other

    def amiss(self, which: int) -> str:
        """Whether it runs, and is another than before."""
        del which
        if self._task is None or self._task.poll() is not None or not self._task.is_up:
            return "it does not run"
        off, self._off = self._off, ""
        if off:
            return off
        return "" if self._pids[0] != self._pids[1] else "it is the same as before"

    def probed(self) -> tuple[int, ...]:
        """Of a guest: a loop in its agent. The first is left out, because nothing is warm yet."""
        if not isinstance(self._task, Guest) or self._starts < 2:  # the first one may have booted
            return ()
        results: list[int] = []
        while len(results) < PROBES and (ns := self._task.work(ROUNDS)) is not None:
            results.append(ns)  # one that does not answer is not asked again
        return tuple(results[1:])

    def put_back(self) -> None:
        """End it, and unmake its place."""
        try:
            self._end()
        finally:
            if self._place is not None:
                self._place.leave()
                self._place = None


def lacks(name: str, inputs: MechanismInputs) -> Lack | None:
    """The place, and what it needs of the machine."""
    if name.partition(":")[0] not in places.KINDS:
        return Lack(missing=f"the place {name} in this lab", fix=extras.UPDATE)
    kind = places.kind(name)
    for ability in abilities(inputs.facts):
        if ability.name in kind.abilities and not ability.can:
            return Lack(missing=ability.missing, fix=ability.fix)
    more = [option.programs for option in places.options(name)]
    for program, package in ChainMap(dict(kind.programs), *map(dict, more)).items():
        if programs.maybe(program) is None:
            return Lack(missing=f"program {program}", fix=f"apt install {package}")
    return None


def _kind(name: str, about: str) -> MechanismKind:
    return MechanismKind(
        name=f"restart_{name.replace(':', '_')}",
        about=about,
        is_restart=True,
        lacks=partial(lacks, name),
        build=partial(Restart, name),
    )


RUNC = _kind("runc", "an OCI container, ended and started anew")
NSPAWN = _kind("nspawn", "a systemd-nspawn container, ended and started anew")
LXC = _kind("lxc", "an LXC container, ended and started anew")
VM = _kind("vm", "a virtual machine, ended and started anew")
VM_RESTORED = _kind(
    "vm:restored", "a virtual machine, ended and restored from its state after boot"
)
