"""A program that the lab started and will end: `start` → `poll` … → `stop`.

Each has a warden between itself and the lab (see `warden`), its own session, its own log, and an
entry in the ledger, so that it is found again even if lab and warden were killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, Protocol

from sojourn.errors import RunFault
from sojourn.places import proc, server_files
from sojourn.places.process_end import Ended, ended_by
from sojourn.places.users import User

WARDEN = Path(__file__).with_name("warden.py")
START_S_MAX = 20.0  # for an interpreter and a fork on a machine that is very busy
KILL_S_MAX = 8.0
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "TMPDIR")
NO_MORE: Mapping[str, str] = MappingProxyType({})


class Ledger(Protocol):
    """Where it is written what must be undone; `run.journal` keeps it on disk."""

    def started(self, what: str, pid: int, start_ticks: int) -> int:
        """Note a process; returns the entry's number."""

    def undone(self, entry: int) -> None:
        """Note that nothing is left to be undone for an entry."""


class Process:
    """A program that runs under a warden, until it is stopped.

    Attributes:
        pid: its first process, which opened its session.
        grouped: its own /proc/PID/cgroup and /proc/PID/autogroup as it began.
    """

    def __init__(
        self, what: str, warden: subprocess.Popen[bytes], lab: socket.socket, ledger: Ledger
    ) -> None:
        self.what = what
        self.pid = 0
        self.grouped = ("", "")
        self._warden = warden
        self._socket = lab
        self._heard = b""
        self._ended: Ended | None = None
        self._ledger = ledger
        self._entry: int | None = None
        self._start_ticks = 0

    def await_start(self) -> None:
        """Wait until the warden says that the program runs, and note it in the ledger."""
        words = self._hear(START_S_MAX)
        if words is None or words["event"] != "started":
            self._reap()
            why = "no answer" if words is None else str(words.get("error", "its warden died"))
            raise RunFault(
                f"{self.what} cannot be started: {why}",
                at=f"after {START_S_MAX:.0f} s" if words is None else self.what,
                fix="try it by hand: the command is in service.json or beside job.json",
            )
        self.pid = int(str(words["pid"]))
        grouped = words.get("grouped")
        if isinstance(grouped, list) and len(grouped) == 2:
            self.grouped = (str(grouped[0]), str(grouped[1]))
        self._start_ticks = int(str(words["start_ticks"]))
        self._entry = self._ledger.started(self.what, self.pid, self._start_ticks)

    def fileno(self) -> int:
        """Becomes readable when it has ended; -1 after that was heard."""
        return self._socket.fileno()

    @property
    def stderr(self) -> IO[bytes] | None:
        """Its stderr, if it was started with a pipe."""
        return self._warden.stderr

    @property
    def is_up(self) -> bool:
        """Whether it runs by now, if it has not ended: a guest boots first."""
        return True

    def poll(self, within_s: float = 0.0) -> Ended | None:
        """How it ended; None if it has not within `within_s`."""
        if self._ended is None:
            words = self._hear(within_s)
            if words is not None:
                self._ended = ended_by(words)
                self._reap()
        return self._ended

    def send(self, number: signal.Signals) -> None:
        """Send a signal to its first process, if it is still there."""
        if self.poll() is None:
            try:
                self._socket.sendall(f"{int(number)} ".encode())
            except OSError:
                return  # the warden is gone, and the server with it

    def stop(self, *, term_s: float = 5.0, first: signal.Signals = signal.SIGTERM) -> Ended:
        """End it: ask, wait, kill. Afterwards nothing of it is left.

        Raises:
            RunFault: it cannot even be killed.
        """
        self.send(first)
        ended = self.poll(term_s)
        if ended is None:
            self.send(signal.SIGKILL)
            ended = self.poll(KILL_S_MAX)
        if ended is None:
            raise RunFault(
                f"{self.what} (process {self.pid}) cannot be killed",
                at=f"state {getattr(proc.stat(self.pid), 'state', 'gone')}",
                fix="it hangs in the kernel: look at dmesg; `sojourn restore` tries again",
            )
        return ended

    def _hear(self, within_s: float) -> Mapping[str, object] | None:
        """One line of the warden; None if there is none within the time.

        A warden that was killed says nothing; its end of the socket closes, and the parent-death
        signal has killed the server.
        """
        end = time.monotonic() + within_s
        while b"\n" not in self._heard:
            left = max(0.0, end - time.monotonic())
            if not select.select([self._socket], [], [], left)[0]:
                return None
            try:
                part = self._socket.recv(4096)
            except ConnectionError:  # it was killed before it had read what the lab said last
                part = b""
            if not part:
                return {"event": "exited", "status": -int(signal.SIGKILL), "is_clean": False}
            self._heard += part
        line, _, self._heard = self._heard.partition(b"\n")
        words: dict[str, object] = json.loads(line)
        return words

    def _reap(self) -> None:
        self._socket.close()  # a warden that still waits takes this as the lab's end
        try:
            self._warden.wait(KILL_S_MAX)
        except subprocess.TimeoutExpired:
            self._warden.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # a frozen one ends when thawed
                self._warden.wait(KILL_S_MAX)
        if self._entry is None:
            return
        is_clean = self._ended is not None and self._ended.is_clean
        # A warden that was killed could not clear up behind the server.
        left = () if is_clean else proc.members(self.pid, self._start_ticks)
        if is_clean or proc.end(left, within_s=KILL_S_MAX):
            self._ledger.undone(self._entry)


def start(
    what: str,
    argv: Sequence[str | Path],
    *,
    cwd: Path,
    ledger: Ledger,
    log: Path,
    user: User | None = None,
    keeps: Sequence[int] = (),
    cpus: Sequence[int] = (),
    open_files: int = 0,
    stdin: Path | None = None,
    has_stderr_pipe: bool = False,
    is_first: bool = False,
    netns: Path | None = None,
    groups: Sequence[Path] = (),
    variables: Mapping[str, str] = NO_MORE,
) -> Process:
    """Start a program under a warden.

    Args:
        what: its name, for messages.
        argv: program and arguments; the program by its full path.
        cwd: where it runs.
        ledger: where it is noted.
        log: file for stdout, and stderr unless that is a pipe.
        user: whom it becomes; None: it stays who the lab is.
        keeps: capabilities that it has as that user, where the lab has them.
        cpus: where it may run; none: where the lab may.
        open_files: how many it may have; 0: as the lab. Less where the lab may not give as many.
        stdin: file it reads; None: nothing.
        has_stderr_pipe: whether the lab reads its stderr.
        is_first: it goes before others on its CPUs, where the lab may say so: for the client, which
            shares a CPU with the lab on small machines. Never for a server: its wait for a CPU is
            part of what is measured.
        netns: network namespace that it is put into; None: the lab's own.
        groups: folders of control groups that it is put into.
        variables: beside those of `environment()`; other users of the machine cannot see them.

    Raises:
        RunFault: it could not be started, or its log is not a plain file.
    """
    spec = {
        "argv": [str(word) for word in argv],
        "cwd": str(cwd),
        "user": [user.uid, user.gid] if user else None,
        "keeps": list(keeps),
        "cpus": list(cpus),
        "open_files": open_files,
        "is_first": is_first,
        "netns": str(netns or ""),
        "groups": [str(group) for group in groups],
        "environment": {**environment(), **variables},
    }
    with _appended(log) as out, (stdin or Path(os.devnull)).open("rb") as into:
        own, its = socket.socketpair()
        with its:
            warden = subprocess.Popen(
                # By its folder the remains of a container are found; the rest is for no eyes.
                [sys.executable, "-I", "-S", WARDEN, str(its.fileno()), str(cwd)],
                stdin=into,
                stdout=out,
                stderr=subprocess.PIPE if has_stderr_pipe else out,
                env=environment(),
                pass_fds=[its.fileno()],
                start_new_session=True,  # ^C on the terminal is the lab's to answer
            )
    _hand_over(spec, own)
    process = Process(what, warden, own, ledger)
    process.await_start()
    return process


def _hand_over(spec: Mapping[str, object], to: socket.socket) -> None:
    """Tell the warden what to start; one that is gone or hangs is found by who waits for it.

    Not on its command line, which every user of this machine can read.
    """
    to.settimeout(START_S_MAX)
    with contextlib.suppress(OSError):
        to.sendall(json.dumps(spec).encode() + b"\n")
    to.settimeout(None)


def _appended(log: Path) -> IO[bytes]:
    """The log, to be written at its end; it may lie in a folder of the server's user."""
    try:
        return os.fdopen(server_files.opened(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab")
    except OSError as error:
        raise RunFault(
            f"the log cannot be opened: {error.strerror}",
            at=str(log),
            fix="look what is there and who owns it, then run again",
        ) from None


def environment() -> dict[str, str]:
    """What a program of the lab finds in its environment: the same few words every time.

    The size of the environment moves the stack and with it the speed of a program (Mytkowicz et
    al., Producing Wrong Data Without Doing Anything Obviously Wrong!, ASPLOS 2009). And what else
    is there is none of a server's business.
    """
    selected = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {"LANG": "C.UTF-8", "PATH": os.defpath, **selected}
