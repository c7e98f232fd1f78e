"""Samples of the threads of a load tool and of a server, from /proc."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sojourn.disk import tables
from sojourn.places import proc
from sojourn.referee.queues import Queues, overflows
from sojourn.referee.usage import Sample, thinned
from sojourn.text import schedstat

EACH_S = 0.5
SAMPLES_MAX = 241  # two minutes; of a longer look each has half as many, and so on


def sample(pids: Sequence[int], queues: Queues | None = None) -> Sample:
    """One look at all threads of some processes.

    Args:
        pids: of the processes; those that are gone have no threads.
        queues: of the server's port; None: connections are not counted.
    """
    threads: dict[int, tuple[str, int, int]] = {}
    cpus: set[int] = set()
    at_ns = time.monotonic_ns()
    for pid in pids:
        with contextlib.suppress(OSError):
            cpus |= os.sched_getaffinity(pid)
        for tid, name in proc.threads(pid):
            result = schedstat.parse(_text(schedstat.path(pid, tid)))
            if result is not None:
                threads[tid] = (name, result.ran_ns, result.waited_ns)
    waiting, n_open = queues.look(pids) if queues else (0, 0)
    return Sample(
        at_ns=at_ns,
        threads=threads,
        cpus=max(1, len(cpus)),
        accept_queue=waiting,
        connections=n_open,
        overflows=overflows(pids) if queues else 0,
    )


def _text(path: str) -> str:
    try:
        return tables.text(Path(path))
    except OSError:
        return ""


class Watch:
    """Looks at some processes again and again, in a thread, until it is ended.

    Their numbers are asked for anew at each look, because tools and servers start processes while
    they run. After many looks it looks half as often, and forgets each second sample.
    """

    def __init__(self, pids: Callable[[], Sequence[int]], port: int = 0) -> None:
        self.samples: list[Sample] = []
        self._pids, self._each_s = pids, EACH_S
        self._queues = Queues(port) if port else None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def start(self) -> None:
        """Begin to look, in a thread."""
        self._thread.start()

    def end(self) -> list[Sample]:
        """Look once more, and end; returns all samples."""
        self._end.set()
        if self._thread.ident is not None:
            self._thread.join()
            self._take()
        return self.samples

    def _look(self) -> None:
        while not self._end.is_set():
            self._take()
            self._end.wait(self._each_s)

    def _take(self) -> None:
        self.samples.append(sample(self._pids(), self._queues))
        if len(self.samples) >= SAMPLES_MAX:
            self.samples = thinned(self.samples)
            self._each_s *= 2
