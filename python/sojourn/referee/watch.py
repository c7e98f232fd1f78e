"""Samples of the threads of a load tool and of a server, from /proc."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from sojourn.disk import tables
from sojourn.places import proc
from sojourn.referee.usage import Sample, thinned
from sojourn.text import schedstat

EACH_S = 0.5
SAMPLES_MAX = 241  # two minutes; of a longer look each has half as many, and so on
LISTEN, OPEN = "0A", "01"  # TCP_LISTEN, TCP_ESTABLISHED: include/net/tcp_states.h


def family(pid: int) -> tuple[int, ...]:
    """A process and all that came of it, by number."""
    return tuple(one.pid for one in proc.family(pid))


def sample(pids: Iterable[int], port: int = 0) -> Sample:
    """One look at all threads of some processes.

    Args:
        pids: of the processes; those that are gone have no threads.
        port: of the server: connections to it are counted; 0: none.
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
    table = _sockets(pids, port) if port else []
    return Sample(
        at_ns=at_ns,
        threads=threads,
        cpus=max(1, len(cpus)),
        accept_queue=_longest(table),
        connections=sum(words[3] == OPEN for words in table),
        overflows=overflows(pids) if port else 0,
    )


def _longest(sockets: list[list[str]]) -> int:
    """Connections that were not accepted yet."""
    queues = [words[4].rpartition(":")[2] for words in sockets if words[3] == LISTEN]
    return max((int(queue, 16) for queue in queues), default=0)


def _sockets(pids: Iterable[int], port: int) -> list[list[str]]:
    """The kernel's lines on sockets of a port, as words, in the namespace of the first process."""
    results, ending = [], f":{port:04X}"
    for table in ("net/tcp", "net/tcp6"):
        for line in tables.lines(_of_first(pids, table))[1:]:
            words = line.split()
            if len(words) > 4 and words[1].endswith(ending):
                results.append(words)
    return results


def overflows(pids: Iterable[int]) -> int:
    """Connections that found no room in an accept queue, since the namespace was made."""
    lines = tables.lines(_of_first(pids, "net/netstat"))
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        counts = dict(zip(names.split(), values.split(), strict=False))
        if "ListenOverflows" in counts:
            return int(counts["ListenOverflows"])
    return 0


def _of_first(pids: Iterable[int], name: str) -> str:
    first = next(iter(pids), 0)
    return _text(f"/proc/{first}/{name}") if first else ""


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

    def __init__(self, pids: Callable[[], Iterable[int]], port: int = 0) -> None:
        self.samples: list[Sample] = []
        self._pids, self._port, self._each_s = pids, port, EACH_S
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
        self.samples.append(sample(tuple(self._pids()), self._port))
        if len(self.samples) >= SAMPLES_MAX:
            self.samples = thinned(self.samples)
            self._each_s *= 2
