"""A batch program as a neighbour: the same piece of work again and again, counted (L27, M22).

A program of its own, run by its path and with the standard library alone: `drive.py JOB`, a job in
JSON (`Job`). It makes the input from a seed, does a first piece of work that does not count,
measures the pace while the service is not loaded, says so, and works on until it is ended:

    command     starts the program for each piece of work
    served      one program that does a piece for each line it reads, and says a line
    followed    one program that goes on by itself and says how far it is (`READERS`)

Input lies in memory without a name and files have none, so nothing is left however it ends. What
it starts has its session, and ends with it.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO

SAY_S = 0.2  # of progress that a line tells, at least: pieces of work are shorter
STEPS_MIN = 3  # pieces of work by which the pace alone is told
ALONE_TIMES_MAX = 10  # as long may it take, on a busy machine
BEHIND_S_MAX = 0.25  # what is further behind is given up, as by `sojourn-noise`
PORT, FILE = "{port}", "{file}"  # in a job's words
TRIES = 3  # of a port that somebody else may take first


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be done.

    Attributes:
        unit: what is counted.
        how: "command", "served" or "followed".
        argv: the program; `{file}` and `{port}` stand for what is made for it.
        host: a program that runs beside it, such as the server of iperf3.
        reader: of `READERS`: how far what it says it is; "": a piece of work is a unit.
        text, text_bytes: "prose" or "source": what its input is like, and how long.
        file_bytes, folder: size of a file without a name, and where it lies.
        seed: of the input.
        is_cpu: it needs a CPU and nothing else: its pace alone is that per second of CPU time.
        share: of its pace alone, that it is asked for.
        per_s: units/s that it is asked for, and holds by itself; 0: none.
        alone_s: how long its pace alone is measured, s.
    """

    unit: str
    how: str
    argv: Sequence[str]
    host: Sequence[str] = ()
    reader: str = ""
    text: str = ""
    text_bytes: int = 0
    file_bytes: int = 0
    folder: str = ""
    seed: int = 1
    is_cpu: bool = True
    share: float = 1.0
    per_s: float = 0.0
    alone_s: float = 1.0


@dataclass(slots=True)
class Children:
    """What was started, and the CPU time of all of it so far."""

    alive: list[subprocess.Popen[str]] = field(default_factory=list)

    def cpu_s(self) -> float:
        """CPU time of this program, of those that live and of those that ended, s."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        mine = time.process_time() + ended.ru_utime + ended.ru_stime
        return mine + sum(_clock_s(child.pid) for child in self.alive)

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


def prose(size: int, seed: int) -> bytes:
    """Words as in a language: few of them often, most seldom (Zipf), so that it compresses.

    >>> len(prose(1000, 1)), prose(1000, 1) == prose(1000, 1), prose(1000, 1) == prose(1000, 2)
    (1000, True, False)
    """
    lot = random.Random(seed)  # noqa: S311  # not a secret
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(lot.choices(letters, k=lot.randint(1, 9))) for _ in range(4000)]
    odds = [1 / rank for rank in range(1, len(words) + 1)]
    text = " ".join(lot.choices(words, odds, k=size // 2 + 1))
    return text.encode()[:size]


def source(size: int, seed: int) -> bytes:
    """C++ that asks nothing of headers: functions of loops and branches, at least `size` long."""
    lot = random.Random(seed)  # noqa: S311  # not a secret
    parts: list[str] = ["template <int N> struct Fold { static long of(long x) {"]
    parts.append("return Fold<N - 1>::of(x * N + 1); } };")
    parts.append("template <> struct Fold<0> { static long of(long x) { return x; } };")
    count = 0
    while sum(map(len, parts)) < size:
        a, b, c = (lot.randint(2, 97) for _ in range(3))
        calls = f"f{lot.randrange(count)}(a + i)" if count else "a"
        parts.append(
            f"long f{count}(long a) {{ long s = {a}; for (long i = 0; i < {b}; i++) {{"
            f" switch (i % 4) {{ case 0: s += a * i; break; case 1: s ^= i << {c % 7}; break;"
            f" default: s -= Fold<{a % 9}>::of(s) % {c}; }} if (s > {a * b}) s -= {calls}; }}"
            " return s; }"
        )
        count += 1
    return "\n".join(parts).encode()


TEXTS: dict[str, Callable[[int, int], bytes]] = {"prose": prose, "source": source}


def _lines(child: subprocess.Popen[str]) -> Iterator[str]:
    """What a program says, until it ends, which it must not."""
    stream: IO[str] = child.stdout or sys.exit("it has no output")
    yield from stream
    _fail(child.args, child.wait())


def _fail(argv: object, status: int) -> None:
    words = argv if isinstance(argv, list | tuple) else [argv]
    how = f"with exit status {status}" if status >= 0 else f"by signal {-status}"
    sys.exit(f"{words[0]} ended {how}: {' '.join(map(str, words))[:300]}")


def frames(lines: Iterator[str]) -> Iterator[float]:
    r"""Frames by the progress of ffmpeg, which counts from its start.

    >>> list(frames(iter(["frame=25\n", "fps=0\n", "frame=75\n"])))
    [25.0, 50.0]
    """
    before = 0.0
    for line in lines:
        name, _, value = line.partition("=")
        if name == "frame":
            yield float(value) - before
            before = float(value)


def megabytes(lines: Iterator[str]) -> Iterator[float]:
    r"""MB by the status reports of fio, each a whole JSON object that counts from its start.

    >>> said = '{"jobs": [{"read": {"io_bytes": 0}, "write": {"io_bytes": %d}}]\n'
    >>> list(megabytes(iter([said % 3_000_000, "}\n", said % 5_000_000, "}\n"])))
    [3.0, 2.0]
    """
    before, text = 0.0, ""
    for line in lines:
        text = line if line.startswith("{") else text + line
        if line.rstrip() != "}" or not text.startswith("{"):
            continue
        sides = [job[side] for job in json.loads(text)["jobs"] for side in ("read", "write")]
        total = sum(side["io_bytes"] for side in sides) / 1e6
        yield total - before
        before = total


INTERVAL = re.compile(r"\]\s+[\d.]+-[\d.]+\s+sec\s+([\d.]+) (B|K|M|G)Bytes")
BYTES = {"B": 1.0, "K": 1024.0, "M": 1024.0**2, "G": 1024.0**3}


def transferred(lines: Iterator[str]) -> Iterator[float]:
    """MB by the intervals of iperf3.

    >>> said = "[  5]   0.00-0.50   sec  10.0 MBytes   168 Mbits/sec    0   639 KBytes"
    >>> list(transferred(iter(["Connecting to host", said])))
    [10.48576]
    """
    for line in lines:
        if found := INTERVAL.search(line):
            yield float(found[1]) * BYTES[found[2]] / 1e6


READERS: dict[str, Callable[[Iterator[str]], Iterator[float]]] = {
    "frames": frames,
    "fio": megabytes,
    "iperf3": transferred,
}

OPERATIONS = re.compile(r"\]\s+[\w-]+\s+(\d+)\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+[\d.]+")


def operations(said: str) -> float:
    """Bogo operations by the metrics of stress-ng; none said: 0.

    >>> operations("stress-ng: metrc: [70] cpu  1894  1.00  0.99  0.01  1893.7  1890")
    1894.0
    """
    found = OPERATIONS.search(said)
    return float(found[1]) if found else 0.0


def work(job: Job, children: Children) -> Iterator[float]:
    """Do a piece of work each time it is asked, and give the units that it made."""
    if job.how == "command":
        yield from _commands(job)
    names = {FILE: _file(job)}
    if job.how == "served":
        child = children.start(
            _filled(job.argv, names), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        said, into = _lines(child), child.stdin
        while into is not None:
            into.write("\n")
            into.flush()
            next(said)
            yield 1.0
    if job.host:
        names[PORT] = _hosted(job, children)
    argv = _filled(job.argv, names)
    child = children.start(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    yield from READERS[job.reader](_lines(child))


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
            _fail(argv, done.returncode)
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


@dataclass(slots=True, kw_only=True)
class Meter:
    """Units, wall time and CPU time since it was begun."""

    children: Children
    units: float = 0.0
    at_s: float = field(init=False)
    cpu_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.at_s = time.monotonic()
        self.cpu_s = self.children.cpu_s()

    def passed(self) -> tuple[float, float]:
        """(wall s, CPU s) since."""
        return time.monotonic() - self.at_s, self.children.cpu_s() - self.cpu_s


def alone(job: Job, pieces: Iterator[float], children: Children) -> tuple[float, float]:
    """(units/s, its standard error) while nothing else is to be done.

    What needs a CPU and nothing else is measured per second of CPU time, so that a busy machine is
    not taken for a slow program.
    """
    each: list[tuple[float, float]] = []
    begun = time.monotonic()
    while (spent := time.monotonic() - begun) < job.alone_s * ALONE_TIMES_MAX:
        if spent >= job.alone_s and len(each) >= STEPS_MIN:
            break
        meter = Meter(children=children)
        units = next(pieces)
        wall_s, cpu_s = meter.passed()
        each.append((units, cpu_s if job.is_cpu else wall_s))
    return rate(each)


def rate(each: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Units over seconds of pieces of work, and its standard error (that of a ratio).

    >>> rate([(1.0, 0.5), (1.0, 0.5), (2.0, 1.0)])
    (2.0, 0.0)
    """
    units, seconds = (math.fsum(column) for column in zip(*each, strict=True))
    if not units or not seconds:
        return 0.0, 0.0
    per_s, count = units / seconds, len(each)
    if count < 2:  # one says nothing of the spread
        return per_s, 0.0
    square = math.fsum((one - per_s * length) ** 2 for one, length in each) / (count - 1)
    return per_s, math.sqrt(square * count) / seconds


def say(**line: object) -> None:
    """A line for whoever reads the log."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def drive(job: Job) -> None:
    """Work and say so, without end."""
    children = Children()
    pieces = work(job, children)
    next(pieces)  # the first is slower: nothing is in memory yet
    per_s, error = alone(job, pieces, children)
    if not per_s:
        sys.exit(f"{job.argv[0]} did nothing in {job.alone_s * ALONE_TIMES_MAX:.0f} s")
    asked = job.per_s or per_s * job.share
    flat_out = not job.per_s and job.share >= 1
    say(
        unit=job.unit, alone_per_s=per_s, alone_error_per_s=error, asked_per_s=asked,
        per_wait_s=per_s if job.is_cpu else 0.0, is_flat_out=flat_out,
    )  # fmt: skip
    is_paced = not flat_out and job.how != "followed"
    _go_on(job, pieces, children, asked, pace_s=1 / asked if is_paced else 0.0)


def _go_on(
    job: Job, pieces: Iterator[float], children: Children, asked: float, *, pace_s: float
) -> None:
    """A line for each fifth of a second of work; a piece is due every `pace_s`, if not 0."""
    due_s, meter, waited_s = time.monotonic(), Meter(children=children), 0.0
    while True:
        if pace_s:
            due_s = max(due_s, time.monotonic() - BEHIND_S_MAX - pace_s)
            time.sleep(max(0.0, due_s - time.monotonic()))
            due_s += pace_s
        piece = Meter(children=children)
        meter.units += next(pieces)
        took_s, used_s = piece.passed()
        waited_s += max(0.0, took_s - used_s)
        length_s, cpu_s = meter.passed()
        if length_s < SAY_S:
            continue
        say(
            unit=job.unit, at_ns=time.monotonic_ns(), length_s=length_s, asked_per_s=asked,
            achieved_per_s=meter.units / length_s, cpu_s=cpu_s,
            runq_wait_s=min(waited_s, length_s) if job.is_cpu else None,
        )  # fmt: skip
        meter, waited_s = Meter(children=children), 0.0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    drive(Job(**json.loads(sys.argv[1])))
