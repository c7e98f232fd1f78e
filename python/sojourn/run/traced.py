"""What runs beside the load of a traced point: the tracer, and the task that disturbs.

The tracer is attached before the load begins and told to end when the load has ended, so it sees
the warm-up too; both are offered the same load. It stays off the server's CPUs. It traces in random
windows for its own default cost; where the stages themselves are what is asked for (the goal
"breakdown": one request at a time, in one column), it traces every request.
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
from sojourn.host import Facts
from sojourn.plan import Phase, Point, traced
from sojourn.run import signals
from sojourn.run.live import Live
from sojourn.run.watch import Deadline
from sojourn.services import process
from sojourn.services.process import Ledger, Process
from sojourn.spec import Goal, ServiceSpec, Study

PROGRAM = "sojourn-trace"
TRACE = "trace.json"
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
    live: Live, spec: ServiceSpec, point: Point, folder: Path, ledger: Ledger
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
            stack.enter_context(_tracer(live, price(spec), folder, ledger))
        yield


def price(spec: ServiceSpec) -> tuple[str, ...]:
    """The tracer's words for which requests it traces; none are its default.

    >>> price(ServiceSpec(kind="memcached", measure=(Goal.BREAKDOWN,)))
    ('--all',)
    >>> price(ServiceSpec(kind="memcached", measure=(Goal.SWEEP,)))
    ()
    """
    return ("--all",) if Goal.BREAKDOWN in spec.measure else ()


def _disturbers(name: str, live: Live) -> Iterator[tuple[tuple[str, ...], int]]:
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
def _tracer(live: Live, asked: tuple[str, ...], folder: Path, ledger: Ledger) -> Iterator[None]:
    assert live.process is not None  # noqa: S101  # a traced point has a real service
    words = ("--pid", str(live.process.pid), "--duration", LONGEST, "--json", str(folder / TRACE))
    argv = (str(programs.find(PROGRAM)), *words, *asked)
    with signals.deaf():
        tracer = process.start(
            PROGRAM,
            argv,
            cwd=folder,
            ledger=ledger,
            log=folder / "trace.log",
            cpus=[c for c in live.placement.housekeeping if c not in live.placement.server]
            or live.placement.housekeeping,
            has_stderr_pipe=True,
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
