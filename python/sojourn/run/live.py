"""A server that runs: started, ready, filled, checked, pinned, warm; then measured; then ended.

place → free port → start → answers, and the port is its own → knobs → pin → shield → preload
→ check → warm
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn import knobs
from sojourn.errors import HostFault, RunFault
from sojourn.host import Placement
from sojourn.knobs import Knob, Turned
from sojourn.places import Address, Place, proc, process, theirs, users
from sojourn.places.local import Local
from sojourn.places.process import Process
from sojourn.run import fill, shield, shielded, signals, work
from sojourn.run.journal import Journal
from sojourn.run.moving import Moved
from sojourn.run.shield import Shield, Wish
from sojourn.run.watch import Deadline, Event, Show
from sojourn.services import Service

READY_S_MAX = 30.0
SETTLE_S_MAX = 60.0
ANSWER_S_MAX = 2.0
PORT_TRIES = 5
LOG = "service.log"


@dataclass(slots=True, kw_only=True)
class RunningService:
    """One life of a service, from start to end.

    Attributes:
        life: which points it serves (`Point.life`).
        place: where its programs run; made when it begins, unmade when it ends.
        address: where it listens and the client reaches it; port 0: not known yet.
        usable: all CPUs of the machine.
        wish: the shield it is to have; shield: the one in force, as last read back.
        has_company: it is measured beside other services, or alone to be compared with that. What
            they do on its CPUs is no fault of the instrument's, and clients share a CPU.
        moved: what left its CPUs, to be put back when it ends.
        levels: of the knobs that the study sets; knobs: all that can be turned while it runs.
        pins: thread or process to CPU, read back.
        took_s: how long each step took, s.
    """

    label: str
    life: str
    service: Service
    placement: Placement
    work: Path
    usable: tuple[int, ...] = ()
    wish: Wish = Wish(name=shield.NONE, refused="nobody asked for one")  # noqa: RUF009  # frozen
    shield: Shield = Shield()  # noqa: RUF009  # frozen
    moved: Moved | None = None
    has_company: bool = False
    place: Place = Local()  # noqa: RUF009  # frozen
    address: Address = Address(Local().host, 0)  # noqa: RUF009  # frozen
    process: Process | None = None
    levels: Mapping[str, str] = field(default_factory=dict)
    knobs: Mapping[str, Knob] = field(default_factory=dict)
    argv: tuple[str, ...] = ()
    pins: Mapping[int, int] = field(default_factory=dict)
    notes: tuple[tuple[str, str], ...] = ()
    took_s: dict[str, float] = field(default_factory=dict)

    @property
    def port(self) -> int:
        """The port it listens on; 0: none yet."""
        return self.address.port

    @property
    def log(self) -> Path:
        """Path of what the server writes to stdout and stderr."""
        return self.work / LOG

    @property
    def is_shielded(self) -> bool:
        """Whether its threads go before all others on their CPUs (M32)."""
        return bool(self.shield.given)

    def client(self) -> dict[str, Any]:
        """Keys of the generator's job that follow from service and placement."""
        server = ",".join(map(str, self.placement.server))
        is_instrument = self.service.is_instrument and not self.has_company
        return {
            "target": self.service.target(self.address),
            **self.service.job(),
            "cpus": ",".join(map(str, self.placement.client)),
            "threads": len(self.placement.client),
            "wait": self.placement.client_wait,
            "server_cpus": server,
            **({"instrument_cpus": server} if is_instrument else {}),
        }

    def watched(self) -> dict[str, Any]:
        """Keys of a measured point's job: whose threads the log of the server's CPUs follows (M29).

        Not for a synthetic service: its CPUs have a sentinel as part of the instrument.
        """
        if self.process is None or self.service.is_instrument or self.has_company:
            return {}
        return {"server_pid": self.process.pid}

    def cpu_ns(self) -> int:
        """CPU time its living processes have used, ns."""
        return proc.cpu_ns(self.process.pid) if self.process else 0

    def fault(self, doing: str) -> RunFault | None:
        """Why it cannot serve any more: it died. None: it lives."""
        ended = self.process.poll() if self.process else None
        if ended is None:
            return None
        words = process.last_words(self.log)
        return RunFault(
            f"{self.label} {ended.text} {doing}" + (f", saying: {words}" if words else ""),
            at=f"{' '.join(self.argv)}",
            fix="see service.log in the point's folder; the study goes on where it stopped when "
            "it is run again",
        )

    def answers(self) -> bool:
        """Whether it answers a request now."""
        return self.service.answers(self.address, ANSWER_S_MAX)

    def keep_log(self, folder: Path) -> None:
        """Copy its log into a point's folder, if it wrote anything."""
        with contextlib.suppress(OSError):
            theirs.keep(self.log, folder / LOG)

    def keep_reports(self, folder: Path) -> None:
        """Keep what it wrote when it ended, in the folder of the last point it served."""
        for name in self.service.reports:
            with contextlib.suppress(OSError):
                theirs.keep(self.work / name, folder / name)

    def stop(self) -> None:
        """End it; nothing of it or its place is left, and what was moved for its sake is back."""
        with contextlib.ExitStack() as undone:  # each is tried, whatever the others came to
            undone.callback(self.place.leave)
            undone.callback(self._put_back)
            for knob in self.knobs.values():  # after the end: what was set on it ended with it
                undone.callback(knob.restore)
            undone.callback(self.stop_process)

    def stop_process(self) -> None:
        """End the server, and stay where it was."""
        if self.process is not None:
            self.process.stop(term_s=self.service.patience_s)

    def _put_back(self) -> None:
        if self.moved is not None:
            self.moved.put_back()
            self.moved = None


def begin(
    live: RunningService, journal: Journal, folder: Path, show: Show, client: Mapping[str, Any]
) -> None:
    """Bring a service to the point where it can be measured.

    Args:
        live: what is to run, and where.
        journal: where it is noted.
        folder: for the files of preload and warming.
        show: told about every step.
        client: keys of the generator's job that the study gives.

    Raises:
        HostFault: the port is taken.
        RunFault: it does not start, does not answer, or does not hold what it should.
    """
    if live.service.program is None:
        return
    steps: tuple[tuple[str, str, Callable[[], None]], ...] = (
        ("place", "gets its place", lambda: _enter(live, journal)),
        ("start", "starts", lambda: _start(live, journal)),
        ("knobs", "is set", lambda: _turn(live, journal)),
        ("pin", "is pinned", lambda: _pin(live)),
        ("shield", "is shielded", lambda: shielded.begin(live, journal)),
        ("preload", "is filled", lambda: fill.preload(live, journal, folder, client)),
        ("check", "is checked", lambda: _check(live)),
        ("warm", "is warmed", lambda: fill.warm(live, journal, folder, client)),
    )
    for step, text, act in steps:
        show(Event(step=step, text=f"{live.label} {text}", service=live.label))
        started = time.monotonic()
        try:
            act()
        except RunFault:
            died = live.fault(f"while it {text}") if step not in {"place", "start"} else None
            if died is not None:
                raise died from None
            raise
        live.took_s[step] = round(time.monotonic() - started, 3)


def _enter(live: RunningService, journal: Journal) -> None:
    with signals.deaf():
        live.place.enter(journal)
    live.notes += live.place.notes


def _start(live: RunningService, journal: Journal) -> None:
    """Start it on its port; a port that is lost to another program is tried again elsewhere."""
    wanted = live.service.wanted_port
    check_port(live.label, wanted, live.place)
    for _ in range(PORT_TRIES):
        live.address = live.place.address(wanted)
        _launch(live, journal)
        if _is_ready(live):
            return
        live.stop_process()
    raise RunFault(
        f"{live.label} lost its port to another program {PORT_TRIES} times",
        at=f"{live.address}",
        fix="end the program that opens ports so fast, or give a port",
    )


def check_port(label: str, port: int, place: Place) -> None:
    """Refuse a port that another program has in that place; 0 is always free."""
    if port and not place.is_free(port):
        raise HostFault(
            f"port {port} is taken by {place.holder(port)}",
            at=f"service {label}, port = {port}",
            fix="leave port out, then a free one is taken; or end that program",
        )


def _launch(live: RunningService, journal: Journal) -> None:
    assert live.service.program is not None  # noqa: S101  # `begin` starts no other
    user = users.server_user()
    with work.readable_by_others():
        words = live.service.command(live.work, live.address)
        program = work.reachable(live.service.program, live.work, user)
    live.argv = (str(program), *words)
    with signals.deaf():
        live.process = live.place.start(
            live.label,
            live.argv,
            cwd=live.work,
            ledger=journal,
            log=live.log,
            user=user,
            cpus=live.placement.server,
            open_files=live.service.open_files,
        )


def _is_ready(live: RunningService) -> bool:
    """Wait until it answers and the port is its own.

    Returns:
        False if another program has the port.
    """
    assert live.process is not None  # noqa: S101  # just launched
    deadline = Deadline(READY_S_MAX)
    while not deadline.is_over:
        died = live.fault("before it answered")
        if died is not None:
            if not live.service.wanted_port and not live.place.is_free(live.port):
                return False
            raise died
        if live.service.answers(live.address, 0.5):
            pids = [member.pid for member in proc.session(live.process.pid)]
            return live.place.owner(live.port, pids) is not None
        time.sleep(0.005)
    raise RunFault(
        f"{live.label} did not answer within {READY_S_MAX:.0f} s of its start",
        at=f"{live.address}: {' '.join(live.argv)}",
        fix=f"its last words: {process.last_words(live.log) or 'none'}",
    )


def _check(live: RunningService) -> None:
    deadline = Deadline(SETTLE_S_MAX)
    while not live.service.is_settled(live.address):
        if deadline.is_over:
            raise RunFault(
                f"{live.label} is still busy with itself {SETTLE_S_MAX:.0f} s after it was filled",
                at=f"{live.address}",
                fix="give fewer items, or a machine that is less busy",
            )
        time.sleep(0.02)
    live.notes += live.service.check(live.address)


def _turn(live: RunningService, journal: Journal) -> None:
    """Set what the study sets, and feel it (M23); other knobs are there to be turned later.

    It is felt before anything is filled: a probe that wants what the service may have would else
    push out what it holds. What is found here stands in `service.json` of every point.
    """
    assert live.process is not None  # noqa: S101  # it answered
    on = Turned(
        label=live.label, leader=live.process.pid, book=journal, work=live.work,
        host=live.address.host, port=live.port, netns=live.place.netns,
    )  # fmt: skip
    live.knobs = {name: kind.build(on) for name, kind in knobs.KINDS.items()}
    with signals.deaf():
        for name, level in live.levels.items():
            live.knobs[name].apply(level)
    for name in live.levels:
        live.knobs[name].felt()


def _pin(live: RunningService) -> None:
    """Put the workers on the server's CPUs, one each, in turn where there are fewer (L23)."""
    assert live.process is not None  # noqa: S101  # it answered
    workers = live.service.pinned(proc.tasks(live.process.pid))
    cpus = live.placement.server
    if len(workers) < live.service.workers:
        text = f"{len(workers)} of {live.service.workers} workers can be told apart by name"
        live.notes += (("pinned", f"as a whole to the server's CPUs: {text}"),)
        return
    pins = {tid: cpus[n % len(cpus)] for n, tid in enumerate(workers)}
    for tid, cpu in pins.items():
        try:
            os.sched_setaffinity(tid, {cpu})
        except OSError as error:
            raise RunFault(
                f"worker {tid} of {live.label} cannot be pinned to CPU {cpu}: {error.strerror}",
                at=f"CPUs {cpus}",
                fix="see whether a cpuset forbids the CPU: cat /proc/self/status",
            ) from None
    live.pins = {tid: min(os.sched_getaffinity(tid)) for tid in pins}
    live.notes += (("pinned", f"{len(pins)} workers, one to a CPU in turn, read back (L23)"),)
