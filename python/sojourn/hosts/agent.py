"""The lab's hand on a client's host: it starts the generator there.

It is asked how that goes. An agent is an actor of the cluster, but knows nothing of it: plain
methods with plain values. It runs `sojourn-load` by the same code as the lab does on its own host:
under a warden, without root's rights where it can do without, noted in the journal of that host.

Nothing outlives the driver. The driver asks (`look`) every second while load runs. An agent that
was not asked for `LEASE_S` ends its generator, because the driver or the way to it is gone. If the
agent itself is killed, the warden kills the generator at once. An agent that is a child of a node
ends with it. Ray's own check is not enough: a node that no one reaps seems to live on.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sojourn import disk
from sojourn.errors import Fault, RunFault
from sojourn.hosts import pack
from sojourn.hosts.about import about, ticks
from sojourn.hosts.answers import FILE_BYTES, plain
from sojourn.hosts.engine import Facts
from sojourn.hosts.network import RoundTrips
from sojourn.hosts.stage import ORDER_S, StageProgram
from sojourn.hosts.turns import TURNS, Turns
from sojourn.places.process import Process
from sojourn.run import generator, journal, turn, work
from sojourn.run.generator import Watcher
from sojourn.run.generator_job import PROGRAM, Files
from sojourn.run.restore import restore
from sojourn.run.watch import nothing

LEASE_S = 4.0  # with a second for the end, nothing runs five seconds after the driver is gone
PARTS = {"result": "load.json", "log": "load.log", "hlog": "load.hlog", "raw": "raw.parquet"}
EVERY_S = 1.0


class _Watch(Watcher):
    """Keeps the last line of progress, and ends the run when the agent says so."""

    def __init__(self) -> None:
        self.line: Mapping[str, Any] = {}
        self.why = ""
        self._process: Process | None = None
        self._own, self._wake = socket.socketpair()

    @property
    def every_s(self) -> float:
        return EVERY_S

    def sources(self) -> list[int]:
        return [self._own.fileno()]

    def started(self, nth: int, generator: Process) -> None:
        del nth
        self._process = generator

    def second(self, line: Mapping[str, Any]) -> None:
        self.line = line

    def look(self) -> None:
        if self.why:
            if self._process is not None:
                self._process.send(signal.SIGKILL)
            raise RunFault(self.why, at=socket.gethostname(), fix="run the study again: it resumes")

    def end(self, why: str) -> None:
        """End the run, for this reason; returns at once."""
        self.why = self.why or why
        with contextlib.suppress(OSError):
            self._wake.send(b".")

    def close(self) -> None:
        """Close what it woke by."""
        self._own.close()
        self._wake.close()


class _Run:
    """One run of the generator, in a thread of its own."""

    def __init__(self, job: Mapping[str, Any], turns: str, study: str) -> None:
        self.watch, self._machine = _Watch(), contextlib.ExitStack()
        self.fault: dict[str, str] | None = None
        self.journal = journal.Journal.create()
        self._turns: Turns | None = None
        try:
            if study:
                self._machine.enter_context(turn.taken(study, nothing))
            self._turns = Turns(turns, self.journal) if turns else None
            self.folder, self._entry = work.make(self.journal, None)
        except BaseException:
            self._end()
            raise
        self.files = Files.named(self.folder, "load")
        job = {**job, **({TURNS: self._turns.file} if self._turns else {})}
        own = {key: str(self.folder / PARTS[key]) for key in ("hlog", "raw") if job.get(key)}
        self._job = {**job, **own}
        self.trips = RoundTrips(str(job.get("target", "")), int(job.get("start_at") or 0))
        self.thread = threading.Thread(target=self._go, name="generator")
        self.thread.start()

    def _go(self) -> None:
        try:
            generator.run(self._job, self.files, self.journal, self.watch)
        except Fault as fault:
            self.fault = plain(fault)
        except Exception as error:  # noqa: BLE001  # a thread has no one else to report to
            text = f"{type(error).__name__}: {error}"
            self.fault = {"kind": "run", "what": text, "at": PROGRAM, "fix": "report this"}
        finally:
            self._machine.close()
            self.trips.end()

    @property
    def is_over(self) -> bool:
        """Whether it has ended, well or not."""
        return not self.thread.is_alive()

    def drop(self, why: str, within_s: float) -> bool:
        """End it and remove its files; whether that was possible in time."""
        self.watch.end(why)
        self.thread.join(within_s)
        if not self.is_over:
            return False
        work.remove(self.folder, self._entry, self.journal)
        self._end()
        return True

    def _end(self) -> None:
        self._machine.close()
        if self._turns is not None:
            self._turns.remove()
        self.journal.close()
        self.watch.close()


class Agent:
    """What the driver may ask of a host. Everything that it answers is plain."""

    def __init__(self, lease_s: float = LEASE_S, *, ends_with_parent: bool = False) -> None:
        """What dead labs left on this host is undone first."""
        self._lease_s, self._heard_s = lease_s, time.monotonic()
        self._parent = os.getppid() if ends_with_parent else None
        self._run: _Run | None = None
        self._stage: StageProgram | None = None
        self._lock = threading.Lock()
        self._undone = list(restore())
        threading.Thread(target=self._guard, name="lease", daemon=True).start()

    def hello(self) -> Facts:
        """Who it is, and what of this host it has in common with the driver."""
        return about()

    def undo(self) -> list[dict[str, Any]]:
        """Undo what dead labs left on this host; what that was, with what it began with."""
        undone, self._undone = [*self._undone, *restore()], []
        return [asdict(one) for one in undone]

    def stamp(self) -> int:
        """The time here, ns of `CLOCK_MONOTONIC`, which the start of a job is given in."""
        self._heard_s = time.monotonic()
        return time.monotonic_ns()

    def start(
        self, job: Mapping[str, Any], turns: str = "", study: str = ""
    ) -> dict[str, str] | None:
        """Start the generator; how it goes is to be asked for.

        Args:
            job: its keys, with the start by the clock of this host.
            turns: name of a folder for the file by which clients of this host take turns.
            study: that holds this host while load runs; "": it does so already, or none does.

        Returns:
            Why it could not be started, or None.
        """
        with self._lock:
            self._heard_s = time.monotonic()
            self._drop("another run begins")
            try:
                self._run = _Run(job, turns, study)
            except Fault as fault:
                return plain(fault)
            return None

    def look(self) -> Facts:
        """How the run goes: its last line of progress; at its end, why it failed; the time here."""
        self._heard_s = time.monotonic()
        run, result = self._run, {"is_over": True, "line": {}, "fault": None}
        if run is not None:
            line = dict(run.watch.line)
            result = {"is_over": run.is_over, "line": line, "fault": run.fault}
        return {**result, "stamp": time.monotonic_ns()}

    def take(self, name: str) -> bytes:
        """A file of the run that has ended; empty where there is none."""
        self._heard_s = time.monotonic()
        if self._run is None or name not in PARTS:
            return b""
        path = self._run.folder / PARTS[name]
        return disk.read_bytes(path, most=FILE_BYTES) if path.exists() else b""

    def pack(self) -> pack.Packed | None:
        """The result of the run that has ended, so that the driver only adds; None: no result.

        A result that is damaged is a table with its `fault` alone.
        """
        self._heard_s = time.monotonic()
        if self._run is None or not self._run.files.result.exists():
            return None
        hlog = self._run.folder / PARTS["hlog"]
        try:
            packed = pack.packed(self._run.files.result, hlog if hlog.exists() else None)
        except Fault as fault:
            return {"fault": plain(fault)}
        return {**packed, "network": self._run.trips.table}

    def ticks(self) -> dict[str, float]:
        """CPU time of this host so far, s: in all, used, and stolen."""
        self._heard_s = time.monotonic()
        return ticks()

    def stage_open(self, message: Mapping[str, Any]) -> dict[str, str] | None:
        """Start a stage; why it could not be started, or None."""
        with self._lock:
            self._heard_s = time.monotonic()
            self._end_stage()
            try:
                self._stage = StageProgram(message)
            except Fault as fault:
                return plain(fault)
            except OSError as error:
                what = f"the stage cannot be started: {error.strerror}"
                return {"kind": "run", "what": what, "at": "hosts", "fix": "see that host's limits"}
            return None

    def stage_tell(self, message: Mapping[str, Any]) -> None:
        """Hand a message of the driver to the stage; nothing without one."""
        self._heard_s = time.monotonic()
        if self._stage is not None:
            self._stage.tell(message)

    def stage_heard(self) -> list[dict[str, Any]]:
        """What it said since this was asked last."""
        self._heard_s = time.monotonic()
        return self._stage.heard() if self._stage is not None else [{"say": "ended", "code": 0}]

    def stage_files(self) -> list[dict[str, bytes]]:
        """The files of its last point."""
        self._heard_s = time.monotonic()
        return self._stage.files() if self._stage is not None else []

    def stage_close(self, within_s: float) -> None:
        """End it in order, with all that it started."""
        with self._lock:
            self._end_stage(within_s)

    def _end_stage(self, within_s: float = ORDER_S) -> None:
        stage, self._stage = self._stage, None
        if stage is not None:
            stage.end(within_s)

    def drop(self) -> None:
        """End the run, if one goes on, and remove its files."""
        with self._lock:
            self._drop("the driver ended it")

    def _drop(self, why: str) -> None:
        run, self._run = self._run, None
        if run is not None and not run.drop(why, self._lease_s):
            os._exit(1)  # its warden kills the generator, and the journal has the rest

    def _guard(self) -> None:
        """End the run when the driver has been silent for too long."""
        look_s = self._lease_s / 16
        while True:
            time.sleep(look_s)
            run, silent_s = self._run, time.monotonic() - self._heard_s
            if self._parent not in {None, os.getppid()}:
                os._exit(1)  # its warden kills the generator, and the stage ends with its input
            is_silent = silent_s >= self._lease_s - look_s  # the next look would be too late
            if self._stage is not None and is_silent:
                self._end_stage()
            if run is None or run.is_over or not is_silent:
                continue
            run.watch.end(f"the driver was silent for {silent_s:.1f} s")
            run.thread.join(1.0)
            if not run.is_over:
                os._exit(1)
