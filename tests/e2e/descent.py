"""What a test has started, to the last grandchild: what of it still runs, and how it is stopped."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sojourn.places import proc

GONE_S = 60.0  # within which what a run started has ended
RUN_S_MAX = 300.0


def adopt(*, is_so: bool) -> None:
    """Whether what loses its parent becomes a child of this process."""
    subreaper = 36  # PR_SET_CHILD_SUBREAPER, include/uapi/linux/prctl.h
    assert ctypes.CDLL(None).prctl(subreaper, int(is_so)) == 0


def below(pid: int) -> set[int]:
    """A process and all that descend from it."""
    seen = [one for one in map(proc.stat, proc.pids()) if one is not None]
    numbers = {pid}
    while more := {one.pid for one in seen if one.parent in numbers} - numbers:
        numbers |= more
    return numbers


def running(known: Collection[int]) -> list[str]:
    """What descends from this process, has not ended and is not among those that are known."""
    result = filter(None, map(proc.stat, below(os.getpid()) - {*known}))
    return sorted(one.name for one in result if one.state != "Z")


def ended(known: Collection[int]) -> list[str]:
    """The same after what ends had its time to end."""
    until = time.monotonic() + GONE_S
    while running(known) and time.monotonic() < until:
        time.sleep(0.02)
    return running(known)


@dataclass(slots=True, kw_only=True)
class Pause:
    """When all processes of a run are stopped, for how long, and what they were."""

    after_s: float
    length_s: float
    names: Sequence[str] = ()

    def wait(self, known: Collection[int]) -> None:
        """Stop what descends from this process, and let it go on."""
        stopped: set[int] = set()
        while fresh := below(os.getpid()) - {*known} - stopped:  # one may start another meanwhile
            send(fresh, signal.SIGSTOP)
            stopped |= fresh
        self.names = sorted({one.name for one in map(proc.stat, stopped) if one is not None})
        try:
            time.sleep(self.length_s)
        finally:
            send(stopped, signal.SIGCONT)


def send(pids: Collection[int], number: signal.Signals) -> None:
    """Send a signal to each that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def ran(
    words: Sequence[str], env: Mapping[str, str], pause: Pause | None, known: Collection[int]
) -> tuple[int, str]:
    """Exit code and messages of a program; those that are known are not stopped with it."""
    with subprocess.Popen(
        words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as made:
        try:
            if pause:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    made.wait(pause.after_s)
                if made.poll() is None:
                    pause.wait(known)
            _, message = made.communicate(timeout=RUN_S_MAX)
        except BaseException:
            made.kill()
            raise
    return made.returncode, message
