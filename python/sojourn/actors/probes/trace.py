"""The tracer: takes requests apart while load runs (M21).

It is attached before the load begins and told to end when the load has ended, so it sees the
warm-up too; both are offered the same load. It stays off the server's CPUs. Under load it names who
made the slowest requests slow: in random windows, for its own default cost, where enough requests
come in them, and else of every request. One request at a time is traced each time.
"""

from __future__ import annotations

import os
import select
import signal
import time
from typing import IO

from sojourn import programs
from sojourn.actors.actor import Actor, Role, Stage
from sojourn.actors.kind import ProbeKind
from sojourn.errors import HostFault, RunFault
from sojourn.host import Facts, Placement
from sojourn.places.process import Process
from sojourn.plan import Point, traced
from sojourn.plan.setting import EVERY, TRACER
from sojourn.spec import ServiceSpec

PROGRAM = "sojourn-trace"
TRACE, FOLDED = "trace.json", "tail.folded"
ALL = ("--all",)  # sums are made in the kernel: the tracer sleeps until the end
BLAME = "--blame=p99"  # the causes of the slowest 1 %
FLAME = "flame.svg"  # the tracer's own picture, for whoever opens the point's folder
ATTACH_S_MAX = 15.0
END_S_MAX = 20.0
LONGEST = "6h"  # it is ended by a signal long before


def check(facts: Facts) -> None:
    """Refuse where tracing cannot be had; nothing is started.

    Raises:
        HostFault: the program, the right or the kernel's types are missing.
    """
    programs.find(PROGRAM, fix="make build says what it misses; or leave out trace and breakdown")
    rights = facts.rights
    missing = []
    if lacking := rights.lacking_to_trace:
        missing.append(f"the right to load BPF programs ({lacking})")
    if not rights.has_btf:
        missing.append("a kernel that describes its types (BTF)")
    if missing:
        raise HostFault(
            f"requests cannot be traced here: missing {' and '.join(missing)}",
            at=PROGRAM,
            fix=f"{rights.fix}, or leave out trace and breakdown",
        )


def price(point: Point) -> tuple[str, ...]:
    """The tracer's words for which requests it traces, and for whom it names.

    Files are named relative to the point's folder, in which it runs.
    """
    if not traced.is_blamed(point.setting):
        return ALL
    if point.setting.get(TRACER) == EVERY:
        return (*ALL, BLAME)
    offered_rps = point.offered_rps or 0.0  # every traced point has a load
    which = () if traced.has_windows(offered_rps, point.measure_s) else ALL
    return (*which, BLAME, "--folded", FOLDED, "--flame", FLAME)


def place(where: Placement, *, is_shielded: bool) -> tuple[tuple[int, ...], bool]:
    """The tracer's CPUs, and whether it goes before others there if it has work meanwhile.

    A window ends when the tracer comes to run, and what it is told of culprits is lost if it does
    not. Beside a client that spins, and that goes before others, it gets a hundredth of a CPU: a
    window of 20 ms took 150. So it stays off both server and client if it can. If not, a shielded
    server is the better neighbour: its real-time threads do not wait for the tracer but for the few
    per cent that the kernel keeps for others, while what the client is kept from sending comes all
    at once in the beginning of the window.

    Args:
        where: who runs where.
        is_shielded: the server's threads have real-time priority on their CPUs.
    """
    free = tuple(c for c in where.housekeeping if c not in {*where.server, *where.client})
    if free:
        return free, False
    if is_shielded:
        return where.server, True  # before others there; no priority of this kind is real-time
    return tuple(c for c in where.housekeeping if c not in where.server) or where.housekeeping, True


class Tracer(Actor):
    """`sojourn-trace` beside the service under load."""

    role = Role.PROBE
    name = "trace"

    def __init__(self, asked: tuple[str, ...]) -> None:
        """`asked`: its words for which requests it traces, as of `price`."""
        self._asked = asked
        self._stage: Stage | None = None
        self._task: Process | None = None
        self._is_tracing = False
        self._argv: tuple[str, ...] = ()

    def enter(self, stage: Stage) -> None:
        """Attach; the load begins when it says that it traces."""
        live = stage.services[stage.point.service]
        if live.process is None:
            raise RunFault(
                f"requests of {live.label} cannot be traced: its processes are not to be seen",
                at=f"services.{live.label}",
                fix="leave out trace, breakdown and blame, or measure on its own machine",
            )
        pid, result = str(live.process.pid), str(stage.folder / TRACE)
        words = ("--pid", pid, "--duration", LONGEST, "--json", result, *self._asked)
        self._stage, self._argv = stage, (str(programs.find(PROGRAM)), *words)
        cpus, is_first = place(live.placement, is_shielded=live.is_shielded)
        self._task = stage.start(
            PROGRAM,
            self._argv,
            log="trace.log",
            cpus=cpus,
            has_stderr_pipe=True,
            is_first=is_first and self._asked != ALL,
        )
        assert self._task.stderr is not None  # noqa: S101  # it was asked for
        text = await_begin(self._task.stderr)
        if not has_begun(text):
            raise _fault(text, self._argv)
        self._is_tracing = True

    def leave(self) -> None:
        """Detach; it writes its result.

        Raises:
            RunFault: it wrote none.
        """
        if self._task is None or self._stage is None:
            return
        try:
            self._stage.end(self._task, within_s=END_S_MAX, first=signal.SIGINT)
        finally:
            text = _rest(self._task)
        if self._is_tracing and not (self._stage.folder / TRACE).is_file():
            raise _fault(text, self._argv)


def await_begin(pipe: IO[bytes]) -> str:
    """What it says until it traces, or until it ends: notes on its price, and why it cannot."""
    text, end_s = "", time.monotonic() + ATTACH_S_MAX
    while not has_begun(text) and (left_s := end_s - time.monotonic()) > 0:
        if select.select([pipe], [], [], left_s)[0]:
            part = os.read(pipe.fileno(), 4096)
            if not part:
                break
            text += part.decode("utf-8", "replace")
    return text


def has_begun(text: str) -> bool:
    """Whether one of these lines, a whole one, is that it traces."""
    return any(line.startswith("tracing ") for line in text.split("\n")[:-1])


def _rest(tracer: Process) -> str:
    if tracer.stderr is None:
        return ""
    with tracer.stderr as pipe:
        return pipe.read().decode("utf-8", "replace")


def _fault(text: str, argv: tuple[str, ...]) -> RunFault:
    return RunFault(
        f"{PROGRAM} does not trace: {text.strip() or 'it says nothing'}",
        at=" ".join(argv),
        fix="run it by hand against the server; it says what it misses",
    )


def build(spec: ServiceSpec, point: Point) -> Tracer | None:
    """For points whose setting says so, and not for their twins."""
    del spec
    return Tracer(price(point)) if traced.has_tracer(point) else None


KIND = ProbeKind(
    name="trace",
    place=10,
    about="splits requests into stages by eBPF, with the causes of the slowest",
    needs=("sojourn-trace", "CAP_BPF", "a kernel with BTF"),
    source="M21, L12, C8, C9",
    check=check,
    build=build,
)
