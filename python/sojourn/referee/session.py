"""One look at a load: begin to trace, let the load run, end, judge."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sojourn.errors import RunFault, SpecFault
from sojourn.places import proc
from sojourn.referee import target, versions
from sojourn.referee.commands import recognised, together
from sojourn.referee.judge import judge
from sojourn.referee.judgement import Judgement, Threads
from sojourn.referee.kin import Kin
from sojourn.referee.load import Load
from sojourn.referee.tracer import Tracer
from sojourn.referee.watch import Watch

Line = tuple[Sequence[str], Path | None]  # words, and the folder in which they name files
STDERR = 2
STOP_S_MAX = 5.0
LOOK_S = 0.05
WORDS_BYTES = 131_072  # of a command line that is looked at
ENDED = "the server ended before the load: what it had not answered is in no number"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be judged.

    Attributes:
        port: of the server.
        server_pid: its process; 0: who listens on the port.
        command: the load to start; () with `pid`.
        pid: a load that runs; 0 with `command`.
        duration_s: how long to look at a load that runs.
        rate_rps, arrivals: what the user says of the load; None and "": as the command line says.
        ring: of the tracer, such as "64MiB".
        is_whole: each segment of each request is traced, and not its times alone.
    """

    port: int
    server_pid: int = 0
    command: tuple[str, ...] = ()
    pid: int = 0
    duration_s: float = 10.0
    rate_rps: float | None = None
    arrivals: str = ""
    ring: str = "64MiB"
    is_whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A judgement, and how the load ended.

    Attributes:
        code: exit code of the command; None: it was not ours to start.
    """

    judgement: Judgement
    code: int | None


def look(asked: Asked, say: Callable[[str], None]) -> Seen:
    """Trace a load and judge it.

    Args:
        asked: what is to be judged.
        say: takes a line of progress.

    Raises:
        Fault: nothing can be traced here, no server listens, the load cannot be started.
    """
    lines = _lines(asked)
    target.check_rights()
    server = target.server(asked.port, asked.server_pid)
    if asked.pid and asked.pid in Kin(server)():
        raise SpecFault(
            f"process {asked.pid} is the server itself", at="--pid", fix="give the load's process"
        )
    load = _load(asked, lines)
    before = proc.stat(server)
    with tempfile.TemporaryDirectory(prefix="sojourn-judge-") as name:
        tracer = Tracer(server, asked.port, Path(name), asked.ring, is_whole=asked.is_whole)
        tracer.begin()
        try:
            say(f"tracing process {server}, port {asked.port}; the load begins")
            code, threads = _watched(asked, server)
            is_alive = before is not None and proc.is_alive(before)
            say("the load has ended; reading the trace")
            requests, loss = tracer.end()
            loss = loss if is_alive else replace(loss, unknown=(*loss.unknown, ENDED))
        except BaseException:
            tracer.kill()
            raise
    return Seen(judgement=judge(requests, load, threads=threads, trace=loss), code=code)


def _lines(asked: Asked) -> Sequence[Line]:
    """The load's command lines: one, unless several loads came of a process.

    Raises:
        SpecFault: there is no such program or process.
    """
    if asked.command:
        if shutil.which(asked.command[0]) is None:
            raise SpecFault(
                f"there is no program '{asked.command[0][:200]}'",
                at="sojourn judge … -- COMMAND",
                fix="write the load's command behind `--`, as a shell would start it",
            )
        return [(asked.command, Path())]
    stat = proc.stat(asked.pid)
    if stat is None or stat.state == "Z":
        raise SpecFault(
            f"there is no process {asked.pid}", at="--pid", fix="give the id of a load that runs"
        )
    return _of_family(asked.pid)


def _of_family(pid: int) -> Sequence[Line]:
    """Command lines of loads in a process and what came of it; else its own.

    What a load started is part of it: a shell's command comes before the tool in it.
    """
    lines = {one: (_command_line(one), _folder(one)) for one in Kin(pid)()}
    loads = {one: line for one, line in lines.items() if _is_load(line)}
    firsts = [line for one, line in loads.items() if loads.keys().isdisjoint(_above(one, lines))]
    return firsts or [lines.get(pid, ([], None))]


def _is_load(line: Line) -> bool:
    load = recognised(*line)
    return bool(load.tool or load.notes)


def _folder(pid: int) -> Path | None:
    """The folder of a process; None where its files are not ours, as in a container."""
    own, other = Path("/proc/self"), Path(f"/proc/{pid}")
    try:
        is_same = (own / "ns/mnt").readlink() == (other / "ns/mnt").readlink()
        is_same &= (own / "root").samefile(other / "root")
        return (other / "cwd").readlink() if is_same else None
    except OSError:
        return None


def _above(pid: int, family: Container[int]) -> Iterator[int]:
    """The processes of a family from which a process came."""
    while (stat := proc.stat(pid)) is not None and stat.parent in family:
        pid = stat.parent
        yield pid


def _command_line(pid: int) -> list[str]:
    with contextlib.suppress(OSError), Path(f"/proc/{pid}/cmdline").open("rb") as file:
        raw = file.read(WORDS_BYTES).removesuffix(b"\0")
        return [word.decode("utf-8", "replace") for word in raw.split(b"\0")]
    return []


def _load(asked: Asked, lines: Sequence[Line]) -> Load:
    """What was asked of the tool; what the user says goes before what its words say."""
    load = together([recognised(*line) for line in lines])
    remark = versions.remark(load.tool, lines[0][0])
    load = replace(load, notes=(*load.notes, *([remark] if remark else [])))
    if asked.rate_rps is not None:
        arrivals = load.arrivals or "paced"
        load = replace(load, rate_rps=asked.rate_rps, is_users=True, arrivals=arrivals)
    if asked.arrivals:
        load = replace(load, arrivals=asked.arrivals)
    return load


def _watched(asked: Asked, server: int) -> tuple[int | None, Threads]:
    """How the load ended, and what the threads of both sides did meanwhile."""
    of_server = Watch(Kin(server), asked.port)
    with _started(asked) as process:
        pid = process.pid if process else asked.pid
        of_client = Watch(Kin(pid))
        of_server.start()
        of_client.start()
        try:
            if process is None:
                _await(asked)
            code = process.wait() if process else None
        finally:
            threads = Threads(client=of_client.end(), server=of_server.end())
    return code, threads


@contextlib.contextmanager
def _started(asked: Asked) -> Iterator[subprocess.Popen[bytes] | None]:
    """The load; it is ended with us. None: it was not ours to start."""
    if not asked.command:
        yield None
        return
    try:
        # What the tool prints is talk: stdout is the referee's.
        process = subprocess.Popen(asked.command, stdout=STDERR)
    except OSError as error:
        raise RunFault(
            f"the load cannot be started: {error.strerror}", at=asked.command[0], fix="try it alone"
        ) from None
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_S_MAX)
        if process.poll() is None:
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_S_MAX)


def _await(asked: Asked) -> None:
    """Until the time is over, or the load has ended."""
    end_s = time.monotonic() + asked.duration_s
    before = proc.stat(asked.pid)
    while (left_s := end_s - time.monotonic()) > 0 and before is not None:
        if not proc.is_alive(before):
            return
        time.sleep(min(LOOK_S, left_s))
