"""Brings a service to where it can be measured.

place → free port → start → answers, and the port is its own → knobs → pin → shield → preload
→ check → warm

One that runs already is found, filled if the study says so, and warmed; all else is left as it is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from sojourn import knobs
from sojourn.errors import HostFault, RunFault
from sojourn.knobs import Offered, Turned
from sojourn.places import Address, Launch, proc, process
from sojourn.places.pinning import Workers
from sojourn.run import attach, fill, grouping, reached, shielded, signals, work
from sojourn.run.journal import Journal
from sojourn.run.live import RunningService, check_port
from sojourn.run.watch import Deadline, Event, Show
from sojourn.services import Program, Start, capabilities
from sojourn.services.capabilities import Checks, Contained, Running, Settles, needs
from sojourn.spec import Pin

SETTLE_S_MAX = 60.0
ANSWER_S = 0.5  # for the first request of a server that starts; a slow one gets more
SILENT_S = 3.0  # without a reply: does it speak another protocol?
PORT_TRIES = 5
PORTS = 1 << 16
Step: TypeAlias = tuple[str, str, Callable[[], None]]


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
    service = live.service
    if isinstance(service, Program):
        first: tuple[Step, ...] = (
            ("place", "gets its place", lambda: _enter(live, journal)),
            ("start", "starts", lambda: _start(live, service, journal)),
            ("knobs", "is set", lambda: _turn(live, journal)),
            ("pin", "is pinned", lambda: _pin(live)),
            ("shield", "is shielded", lambda: shielded.begin(live, journal)),
        )
    elif isinstance(service, Running):
        first = (("find", "is looked for", lambda: attach.find(live, service)),)
    else:
        return
    answered = 0

    def preload() -> None:
        nonlocal answered
        answered = fill.preload(live, journal, folder, client)

    steps: tuple[Step, ...] = (
        *first,
        ("preload", "is filled", preload),
        ("check", "is checked", lambda: _check(live)),
        ("warm", "is warmed", lambda: fill.warm(live, journal, folder, client, done=answered)),
    )
    for step, text, act in steps:
        more = live.place.starting if step == "start" else ""
        show(Event(step=step, text=f"{live.label} {text}{more}", service=live.label))
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
    live.place.fit(needs(live.service).memory_bytes)
    with signals.deaf():
        live.place.enter(journal)
    live.notes += live.place.notes


def _start(live: RunningService, service: Program, journal: Journal) -> None:
    """Start it on its port; a port that is lost to another program is tried again elsewhere."""
    wanted = needs(service).port
    check_port(live.label, wanted, live.place)
    for _ in range(PORT_TRIES):
        live.address = _address(live, wanted)
        started = _launch(live, service, journal)
        if _is_ready(live, started):
            live.notes += live.place.start_notes
            return
        live.stop_process()
    raise RunFault(
        f"{live.label} lost its port to another program {PORT_TRIES} times",
        at=f"{live.address}",
        fix="end the program that opens ports so fast, or give a port",
    )


def _address(live: RunningService, wanted: int) -> Address:
    """Where it listens: the first of as many ports in a row as it wants, all free."""
    ports = needs(live.service).ports
    more = range(1, ports)
    for _ in range(PORT_TRIES):
        address = live.place.address(wanted)
        if address.port + ports <= PORTS and all(
            live.place.is_free(address.port + nth) for nth in more
        ):
            return address
    raise HostFault(
        f"{live.label} wants {ports} consecutive free ports, and there were none in "
        f"{PORT_TRIES} places",
        at=f"service {live.label}",
        fix="give the first port of a free range, or end programs with many open ports",
    )


def _launch(live: RunningService, service: Program, journal: Journal) -> Start:
    user = work.user_of(service)
    with work.readable_by_others():
        start = service.start(live.work, live.address)
        program = start.program
        image = service.image() if isinstance(service, Contained) else None
        if image is not None:
            live.place.furnish(image)
        else:
            program = work.reachable(program, live.work, user)
    live.argv, live.start = (str(program), *start.words), start
    launch = Launch(
        live.label,
        live.argv,
        cwd=live.work,
        ledger=journal,
        log=live.log,
        user=user,
        cpus=live.placement.server,
        open_files=start.open_files,
        variables=start.variables,
        carries=start.carries,
    )
    with signals.deaf():
        live.process = live.place.start(launch)
    return start


def _is_ready(live: RunningService, start: Start) -> bool:
    """Wait until it answers and the port is its own.

    Returns:
        False if another program has the port, and another may be taken.
    """
    assert live.process is not None  # noqa: S101  # just launched
    within_s = max(live.place.start_s_max, start.ready_s)
    deadline, wait_s, soon = Deadline(within_s), ANSWER_S, Deadline(SILENT_S)
    while not deadline.is_over:
        died = live.fault("before it answered")
        if died is not None:
            if not needs(live.service).port and not all(map(live.place.is_free, _ports(live))):
                return False
            raise _stayed(live, died)
        began = time.monotonic()
        if live.service.ready(live.address, wait_s):
            pids = [member.pid for member in proc.session(live.process.pid)]
            return reached.is_own(live, pids, _ports(live))
        if time.monotonic() - began >= wait_s:  # it takes connections, and more time to reply
            wait_s = max(ANSWER_S, min(2 * wait_s, deadline.left_s))
        if soon.is_over:
            soon = Deadline(math.inf)
            capabilities.not_ready(live.service, live.address, ANSWER_S)  # raises if it never can
        time.sleep(0.005)
    raise _silent(live, within_s)


def _stayed(live: RunningService, died: RunFault) -> RunFault:
    """How it ended before it answered; one that went to the background ended without an error."""
    ended = live.process.poll() if live.process else None
    if ended is not None and ended.status == 0:
        died.fix = f"keep it in the foreground, such as by --no-daemon; {died.fix}"
    return died


def _silent(live: RunningService, within_s: float) -> RunFault:
    """That it did not answer in time, with what it says, or where it listens instead."""
    words = live.last_words() or "none"
    at, fix = f"{live.address}: {' '.join(live.argv)}", f"its last words: {words}"
    time_s = f"within {within_s:.0f} s of its start"
    if why := capabilities.not_ready(live.service, live.address, ANSWER_S):
        return RunFault(f"{live.label} was not ready {time_s}: {why}", at=at, fix=fix)
    if other := reached.elsewhere(live, [member.pid for member in live.members()]):
        what = f"{live.label} takes no connection at {live.address}, because it listens at {other}"
        return RunFault(what, at=at, fix=f"let it listen at {live.address}; {fix}")
    return RunFault(f"{live.label} did not answer {time_s}", at=at, fix=fix)


def _ports(live: RunningService) -> range:
    return range(live.port, live.port + needs(live.service).ports)


def _check(live: RunningService) -> None:
    service, deadline = live.service, Deadline(SETTLE_S_MAX)
    while isinstance(service, Settles) and not service.is_settled(live.address):
        if deadline.is_over:
            raise RunFault(
                f"{live.label} is still busy {SETTLE_S_MAX:.0f} s after it was filled",
                at=f"{live.address}",
                fix="give fewer items, or a machine that is less busy",
            )
        time.sleep(0.02)
    if isinstance(service, Checks):
        live.notes += service.check(live.address)


def _turn(live: RunningService, journal: Journal) -> None:
    """Set the study's knobs and test each (M23); other knobs are created for later.

    The test comes before the service is filled, because a probe that uses all the memory that the
    service may have would evict its data. The results are in `service.json` of every point.
    """
    assert live.process is not None  # noqa: S101  # it answered
    live.turned = on = Turned(
        label=live.label,
        leader=live.process.pid,
        book=journal,
        work=live.work,
        host=live.address.host,
        port=live.port,
        netns=live.place.netns,
    )
    live.knobs = {name: kind.build(on) for name, kind in knobs.KINDS.items()}
    with signals.deaf():
        grouping.begin(live)  # before the knobs, whose limits are of the same group
        for name in (name for name in knobs.KINDS if name in live.levels):  # the budget of
            live.knobs[name].apply(live.levels[name])  # real-time threads before their policy
            let_know(live, name, live.offered)
    for name in live.levels:
        live.knobs[name].verify()


def let_know(live: RunningService, name: str, offered: Mapping[str, Offered]) -> None:
    """Tell a knob whose level follows from who else is there.

    Raises:
        RunFault: the kernel refuses the level beside what others have now: a fault of this point,
            for the service itself can be had.
    """
    try:
        live.knobs[name].among(live.label, offered)
    except HostFault as fault:
        raise RunFault(fault.what, at=fault.at, fix=fault.fix) from None


def _pin(live: RunningService) -> None:
    """Put the workers on the server's CPUs, one each, in turn where there are fewer (L23)."""
    assert isinstance(live.process, process.Process)  # noqa: S101  # it was started
    if live.pin is Pin.NONE:
        live.notes += (("pinned", "not: the scheduler puts workers on the server's CPUs (L15)"),)
        return
    workers = Workers(
        label=live.label,
        count=needs(live.service).workers,
        choose=partial(capabilities.pinned, live.service),
        crew=partial(capabilities.crew, live.service),
    )
    pinned = live.place.pin(live.process, workers, live.placement.server)
    live.pins = pinned.pins
    live.notes += (("pinned", pinned.text),)
