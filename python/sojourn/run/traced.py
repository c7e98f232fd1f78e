"""What runs beside the load of a traced point: the tracer, and the task that disturbs.

The tracer is attached before the load begins and told to end when the load has ended, so it sees
the warm-up too; both are offered the same load. It stays off the server's CPUs. It traces in random
windows for its own default cost; where the stages themselves are what is asked for (the goal
"breakdown": one request at a time, in one column), it traces every request, and under load it also
names who made the slowest ones slow.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from sojourn import programs
from sojourn.errors import HostFault, RunFault
from sojourn.host import Facts, Placement
from sojourn.places import process
from sojourn.places.process import Ledger, Process
from sojourn.plan import Phase, Point, traced
from sojourn.plan.traced import Condition
from sojourn.run import signals
from sojourn.run.live import RunningService
from sojourn.run.watch import Deadline
from sojourn.spec import ServiceSpec, Study

PROGRAM = "sojourn-trace"
TRACE, FOLDED = "trace.json", "tail.folded"
ALL = ("--all",)  # sums are made in the kernel: the tracer sleeps until the end
FLAME = "flame.svg"  # the tracer's own picture, for whoever opens the point's folder
ATTACH_S_MAX = 15.0
END_S_MAX = 20.0
LONGEST = "6h"  # it is ended by a signal long before
SPIN = ("/bin/sh", "-c", "while :; do :; done")
STREAM = "a = memoryview(bytearray(1 << 26)); b = memoryview(bytearray(1 << 26))\nwhile 1: a[:] = b"


def check(study: Study, spec: ServiceSpec, facts: Facts) -> None:
    """Refuse a traced study where tracing cannot be had; nothing is started.

    Raises:
        HostFault: the program, the right or the kernel's types are missing.
    """
    if not traced.conditions(study, spec):
        return
    programs.find(PROGRAM, fix="make build says what it misses; or leave out trace and breakdown")
    rights = facts.rights
    missing = []
    if not (rights.may("bpf") or rights.may("sys_admin")):
        missing.append("the right to load BPF programs (CAP_BPF)")
    if not rights.has_btf:
        missing.append("a kernel that describes its types (BTF)")
    if missing:
        raise HostFault(
            f"requests cannot be traced here: missing {' and '.join(missing)}",
            at=f"study {study.name}, service {spec.label}",
            fix="run as root, or leave out trace and breakdown",
        )


@contextlib.contextmanager
def beside(
    live: RunningService, spec: ServiceSpec, point: Point, folder: Path, ledger: Ledger
) -> Iterator[None]:
    """While load runs: the point's disturbing task, and the tracer if it is a traced point."""
    if point.phase is not Phase.TRACE:
        yield
        return
    condition, is_traced = traced.of(point)
    with contextlib.ExitStack() as stack:
        for number, (argv, cpu) in enumerate(_disturbers(condition.name, live)):
            task = _start(f"disturber {number}", argv, folder, ledger, (cpu,))
            stack.callback(_end, task)
        if is_traced:
            stack.enter_context(_tracer(live, price(spec, condition), folder, ledger))
        yield


def price(spec: ServiceSpec, condition: Condition) -> tuple[str, ...]:
    """The tracer's words for which requests it traces, and for whom it names; none: its default.

    Files are named relative to the point's folder, in which it runs.

    >>> asked = ServiceSpec(kind="memcached", measure=("breakdown",))
    >>> price(asked, Condition(traced.UNLOADED, 0.01))
    ('--all',)
    >>> price(asked, Condition(traced.LOADED, 0.9))
    ('--blame=p99', '--folded', 'tail.folded', '--flame', 'flame.svg')
    >>> price(ServiceSpec(kind="memcached", measure=("sweep",)), Condition(traced.LOADED, 0.9))
    ()
    """
    if traced.is_blamed(spec, condition):  # of every request, too
        return ("--blame=p99", "--folded", FOLDED, "--flame", FLAME)
    return ALL if "breakdown" in spec.measure else ()


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


def _disturbers(name: str, live: RunningService) -> Iterator[tuple[tuple[str, ...], int]]:
    """(command, CPU) of each task that disturbs; they give way to everybody (L17: nice)."""
    nice = (str(programs.find("nice", fix="apt install coreutils")), "-n", "19")
    where = live.placement
    if name == traced.CONTEXT_SWITCH:
        yield from (((*nice, *SPIN), cpu) for cpu in where.server)
    elif name == traced.INTERFERENCE:
        used = {*where.server, *where.client}
        free = [cpu for cpu in sorted(os.sched_getaffinity(0)) if cpu not in used]
        stream = (*nice, sys.executable, "-I", "-S", "-c", STREAM)
        yield from ((stream, cpu) for cpu in free or where.server)


@contextlib.contextmanager
def _tracer(
    live: RunningService, asked: tuple[str, ...], folder: Path, ledger: Ledger
) -> Iterator[None]:
    assert live.process is not None  # noqa: S101  # a traced point has a real service
    words = ("--pid", str(live.process.pid), "--duration", LONGEST, "--json", str(folder / TRACE))
    argv = (str(programs.find(PROGRAM)), *words, *asked)
    cpus, is_first = place(live.placement, is_shielded=bool(live.shield.given))
    with signals.deaf():
        tracer = process.start(
            PROGRAM,
            argv,
            cwd=folder,
            ledger=ledger,
            log=folder / "trace.log",
            cpus=cpus,
            has_stderr_pipe=True,
            is_first=is_first and asked != ALL,
        )
    try:
        said = _await(tracer)
        if not said.startswith("tracing "):
            raise _fault(said, argv)
        yield
    finally:
        _end(tracer, first=signal.SIGINT)
        said = _rest(tracer)
    if not (folder / TRACE).is_file():
        raise _fault(said, argv)


def _await(tracer: Process) -> str:
    """Its first words: that it traces, or why it cannot."""
    assert tracer.stderr is not None  # noqa: S101  # it was asked for
    pipe, text, deadline = tracer.stderr.fileno(), b"", Deadline(ATTACH_S_MAX)
    while b"\n" not in text and not deadline.is_over:
        if select.select([pipe], [], [], deadline.left_s)[0]:
            part = os.read(pipe, 4096)
            if not part:
                break
            text += part
    return text.decode("utf-8", "replace")


def _rest(tracer: Process) -> str:
    if tracer.stderr is None:
        return ""
    with tracer.stderr as pipe:
        return pipe.read().decode("utf-8", "replace")


def _start(
    what: str, argv: tuple[str, ...], folder: Path, ledger: Ledger, cpus: tuple[int, ...]
) -> Process:
    with signals.deaf():
        return process.start(
            what, argv, cwd=folder, ledger=ledger, log=folder / "disturber.log", cpus=cpus
        )


def _end(task: Process, *, first: signal.Signals = signal.SIGTERM) -> None:
    with signals.deaf():
        task.stop(term_s=END_S_MAX, first=first)


def _fault(said: str, argv: tuple[str, ...]) -> RunFault:
    return RunFault(
        f"{PROGRAM} does not trace: {said.strip() or 'it says nothing'}",
        at=" ".join(argv),
        fix="run it by hand against the server; it says what it misses",
    )
