"""Pieces of work, one after the other, by programs that are started for it."""

from __future__ import annotations

import os
import random
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO

from sojourn.drive.job import FILE, PORT, Job
from sojourn.drive.progress_lines import READERS, fail, operations, output_lines
from sojourn.drive.texts import TEXTS

TRIES = 3  # of a port that somebody else may take first


@dataclass(slots=True)
class Children:
    """What was started, and the CPU time of all of it so far."""

    alive: list[subprocess.Popen[str]] = field(default_factory=list)

    def cpu_s(self) -> float:
        """CPU time of this program, of those that live and of those that ended, s."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        own = time.process_time() + ended.ru_utime + ended.ru_stime
        return own + sum(_clock_s(child.pid) for child in self.alive)

    def start(self, argv: Sequence[str], **more: object) -> subprocess.Popen[str]:
        """Start a program that goes on; text in and out."""
        child = subprocess.Popen(argv, text=True, **more)  # type: ignore[call-overload]
        self.alive.append(child)
        return child  # type: ignore[no-any-return]


def _clock_s(pid: int) -> float:
    """CPU time of a process, s: its clock by the rule of clock_getcpuclockid(3)."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def work(job: Job, children: Children) -> Iterator[float]:
    """Do a piece of work each time it is asked, and give the units that it made."""
    if job.how == "command":
        yield from _commands(job)
    names = {FILE: _file(job)}
    if job.how == "served":
        child = children.start(
            _filled(job.argv, names), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        report, into = output_lines(child), child.stdin
        while into is not None:
            into.write("\n")
            into.flush()
            next(report)
            yield 1.0
    if job.host:
        names[PORT] = _hosted(job, children)
    argv = _filled(job.argv, names)
    child = children.start(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    yield from READERS[job.reader](output_lines(child))


def _commands(job: Job) -> Iterator[float]:
    """Start a program again and again; it reads the input and what it makes is thrown away."""
    argv, path, is_heard = [*job.argv], _input(job), job.reader == "stress-ng"
    out = subprocess.PIPE if is_heard else subprocess.DEVNULL
    while True:
        with open(path or os.devnull, "rb") as stdin:  # noqa: PTH123  # a link of /proc
            done = subprocess.run(  # noqa: PLW1510  # its status is looked at
                argv, stdin=stdin, stdout=out, stderr=subprocess.STDOUT if is_heard else None
            )
        if done.returncode:
            fail(argv, done.returncode)
        yield operations(done.stdout.decode(errors="replace")) if is_heard else 1.0


def _filled(argv: Sequence[str], names: dict[str, str]) -> list[str]:
    filled = []
    for word in argv:
        for name, value in names.items():
            word = word.replace(name, value)  # noqa: PLW2901  # one after the other
        filled.append(word)
    return filled


def _input(job: Job) -> str:
    """A path to its input, which is in memory and has no name; "": it has none."""
    if not job.text:
        return ""
    handle = os.memfd_create("input", 0)
    os.write(handle, TEXTS[job.text](job.text_bytes, job.seed))
    return f"/proc/{os.getpid()}/fd/{handle}"


def _file(job: Job) -> str:
    """A path to a file of its own without a name; "": it needs none."""
    if not job.file_bytes:
        return ""
    file = tempfile.TemporaryFile(dir=job.folder)  # noqa: SIM115  # open until the end
    _OPEN.append(file)
    block = random.Random(job.seed).randbytes(1 << 20)  # noqa: S311  # not a secret
    for at in range(0, job.file_bytes, len(block)):  # written: what never was is not read from disk
        file.write(block[: job.file_bytes - at])
    os.fsync(file.fileno())
    return f"/proc/{os.getpid()}/fd/{file.fileno()}"


_OPEN: list[IO[bytes]] = []


def _hosted(job: Job, children: Children) -> str:
    """The port of the program beside it, once somebody listens there."""
    for _ in range(TRIES):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        child = children.start(
            _filled(job.host, {PORT: str(port)}), stdin=subprocess.DEVNULL, stdout=sys.stderr
        )
        while child.poll() is None:
            if _listens(port):
                return str(port)
            time.sleep(0.02)
        children.alive.remove(child)
    sys.exit(f"{job.host[0]} does not listen")


def _listens(port: int) -> bool:
    """By the kernel's table: a connection to see it would be taken for the client's."""
    with open("/proc/net/tcp", encoding="ascii") as table:  # noqa: PTH123
        return any(f":{port:04X} 00000000:0000 0A " in line for line in table)
