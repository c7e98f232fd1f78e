"""Programs that run beside a guest, and calls of tools with a time limit."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sojourn import programs
from sojourn.errors import HostFault
from sojourn.places import proc, process, process_end
from sojourn.places.process import Ledger, Process
from sojourn.visible import in_line

POLL_S = 0.02
TEXT_MAX = 200  # letters of what a tool reported
STOP_S = 3.0
OTHERS_MIN = 2  # a client that spins leaves little of a CPU


@contextlib.contextmanager
def files(what: str, at: Path) -> Iterator[None]:
    """What the system refuses in here is a file of this part: no matter of rights or of a kernel.

    Raises:
        HostFault: it refused one.
    """
    try:
        yield
    except OSError as error:
        raise HostFault(
            f"{what}: a file cannot be made or read: {error.strerror or error}",
            at=str(error.filename or at),
            fix="see whether its folder is there, may be written and has room",
        ) from None


@dataclass(slots=True)
class Daemons:
    """The programs of one part of the platform.

    Attributes:
        what: the part, for messages.
        folder: where they run and have their logs.
        ledger: where each is noted.
        netns: the network namespace that they are in; None: the lab's own.
        variables: of their environment, beside the usual.
    """

    what: str
    folder: Path
    ledger: Ledger
    netns: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    _running: list[tuple[Process, Path]] = field(default_factory=list)

    def start(self, name: str, argv: Sequence[str | Path]) -> None:
        """Start one; RunFault if it cannot be."""
        log = self.folder / f"{name}.out"
        one = process.start(
            f"{self.what} ({name})",
            argv,
            cwd=self.folder,
            ledger=self.ledger,
            log=log,
            netns=self.netns,
            variables=self.variables,
        )
        self._running.append((one, log))

    def wait(self, is_ready: Callable[[], bool], within_s: float) -> None:
        """Wait until they are ready; HostFault if one ends, or the time is over."""
        until = time.monotonic() + within_s
        while not is_ready():
            self.check()
            if time.monotonic() > until:
                raise self.fault(f"was not ready within {within_s:.0f} s", self._last())
            time.sleep(POLL_S)

    def check(self) -> None:
        """HostFault if one has ended."""
        for one, log in self._running:
            if (ended := one.poll()) is not None:
                raise self.fault(f"{one.what} {ended.text}", process_end.last_words(log))

    def call(self, argv: Sequence[str | Path], within_s: float) -> str:
        """What a tool answers; HostFault if it fails or takes too long.

        It ends with the lab: some tools wait for ever for a server that is gone.
        """
        until = programs.maybe("setpriv")
        with_lab = [str(until), "--pdeathsig", "KILL"] if until else []
        try:
            done = subprocess.run(
                [*with_lab, *(str(word) for word in argv)],
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=within_s,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
                env={**process.environment(), **self.variables},
            )
        except subprocess.TimeoutExpired:
            raise self.fault(
                f"{Path(argv[0]).name} took more than {within_s:.0f} s", self._last()
            ) from None
        if done.returncode != 0:
            text = " | ".join(done.stderr.strip().splitlines()[-2:])
            raise self.fault(f"{Path(argv[0]).name} failed (exit {done.returncode})", text)
        return done.stdout

    def fault(self, what: str, more: str) -> HostFault:
        """A failure of this part, with its last words."""
        return HostFault(
            f"{self.what}: {what}",
            at=in_line(more)[:TEXT_MAX] or str(self.folder),
            fix="try again on a machine with more free memory, or leave this option of the place",
        )

    def keep_off(self, cpus: Sequence[int]) -> None:
        """Keep them off the service's CPUs, where the client leaves them another one."""
        others = os.sched_getaffinity(0) - set(cpus)
        for one, _ in self._running if len(others) >= OTHERS_MIN else ():
            for task in proc.tasks(one.pid):
                with contextlib.suppress(OSError):  # it has just ended
                    os.sched_setaffinity(task.tid, others)

    def stop(self) -> None:
        """End them, the last first."""
        while self._running:
            one, _ = self._running.pop()
            one.stop(term_s=STOP_S)

    def _last(self) -> str:
        words = (process_end.last_words(log) for _, log in reversed(self._running))
        return next(filter(None, words), "")
